use std::time::Duration;

use bytes::Bytes;

/// An HTTP answer, whole and unjudged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAnswer {
    pub status: u16,
    /// As sent; a hint at most.
    pub content_type: Option<String>,
    /// What `Retry-After` asks for, from now on.
    pub retry_after: Option<Duration>,
    /// Decompressed; without the key when a judge sees it.
    pub body: Bytes,
}
