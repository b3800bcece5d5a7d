use std::pin::Pin;

use super::request::SecretUrl;
use super::retry::Connection;
use crate::decode::RawAnswer;
use crate::model::outcome::Trouble;

/// One HTTP request a call, no more: the border to the HTTP client.
pub(super) trait Wire: Send + Sync {
    fn get<'w>(&'w self, url: &'w SecretUrl) -> Exchange<'w>;
}

pub(super) type Exchange<'w> = Pin<Box<dyn Future<Output = Result<RawAnswer, Fault>> + Send + 'w>>;

/// No whole answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) trouble: Trouble,
    /// Whether any byte can have left.
    pub(super) sent: bool,
    pub(super) connection: Connection,
    pub(super) http_status: Option<u16>,
}
