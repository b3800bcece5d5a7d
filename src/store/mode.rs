/// What opening may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    OpenExisting,
    /// Makes the store when there is none; its folder must exist.
    Create,
    ReadOnly,
}

/// Whether a store may be on a file system whose locks are not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFiles {
    Refused,
    Allowed,
}
