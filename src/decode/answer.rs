use std::time::Duration;

use bytes::Bytes;

/// What came back over the wire, before anybody has looked into it.
///
/// The key is taken out of the body already.
#[derive(Clone, Debug)]
pub struct RawAnswer {
    pub status: u16,
    /// The `Content-Type` header as sent. Only its charset is ever used, and only when the body is no UTF-8.
    pub content_type: Option<String>,
    /// `Retry-After`, as a duration from now.
    pub retry_after: Option<Duration>,
    /// Decompressed; below 2 GiB.
    pub body: Bytes,
}

/// What a dataset adds to the dialect when its answers are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Where the records stand instead of where the dialect says; written like [`RecordsPlace`].
    ///
    /// [`RecordsPlace`]: crate::definition::path::RecordsPlace
    pub records: &'a [String],
    /// Fields left out when rows are compared.
    pub volatile: &'a [String],
}
