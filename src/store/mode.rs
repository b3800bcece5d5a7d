use std::time::Duration;

use crate::model::name::Name;

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

/// What the settings say of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// On a network file system because somebody who knows its locks allows it.
    pub network_files: NetworkFiles,
    /// A role of the server that may read everything.
    pub reader_role: Option<Name>,
    /// How long a host may be silent before its jobs are others'.
    pub lease: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { network_files: NetworkFiles::Refused, reader_role: None, lease: Duration::from_secs(90) }
    }
}
