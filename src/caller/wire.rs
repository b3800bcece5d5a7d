use std::pin::Pin;

use super::announced::Announced;
use super::request::SecretUrl;
use super::retry::Connection;
use crate::decode::RawAnswer;
use crate::model::outcome::Trouble;

/// One HTTP request a call, no more: the border to the HTTP client.
pub(super) trait Wire: Send + Sync {
    fn get<'w>(&'w self, url: &'w SecretUrl) -> Exchange<'w>;
}

pub(super) type Exchange<'w> = Pin<Box<dyn Future<Output = Result<Received, Fault>> + Send + 'w>>;

/// A whole answer, and what it says of the calls that are let in.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) raw: RawAnswer,
    pub(super) announced: Announced,
}

/// No whole answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) trouble: Trouble,
    /// Whether any byte can have left.
    pub(super) sent: bool,
    pub(super) connection: Connection,
    pub(super) http_status: Option<u16>,
}
