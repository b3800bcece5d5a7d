use std::time::Duration;

use jiff::Timestamp;

use super::job::{JobId, PageNumber, ReadNumber};
use super::name::Name;
use super::outcome::{Outcome, Scope};
use super::partition::Partition;

/// Which page of which job a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLabel {
    pub dataset: Name,
    pub partition: Partition,
    pub job: JobId,
    pub read: ReadNumber,
    pub page: PageNumber,
}

/// One HTTP request, or the try to make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub label: CallLabel,
    /// Which try of its call this was, from 1. A canary and a repeat after throttling have the number of the try they
    /// stand for.
    pub number: u32,
    /// Whether any byte can have left.
    pub sent: bool,
    pub sent_at: Timestamp,
    pub took: Duration,
    pub outcome: Outcome,
    pub scope: Scope,
    pub http_status: Option<u16>,
    /// The provider's own code, as sent.
    pub code: Option<String>,
    /// One line without the key; `None` for a page.
    pub why: Option<String>,
    /// Bytes of the body, decompressed.
    pub body_bytes: u64,
    pub waits: Waits,
}

/// What an attempt waited for before it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// After the try before it: the rest and the wait to retry.
    pub retry: Duration,
    /// For its API and its provider, which were not to be asked: a breaker, a doubt, a pause.
    pub pause: Duration,
    /// For one of the requests in flight to land.
    pub permit: Duration,
    /// For its turn at the rate.
    pub slot: Duration,
}

impl Waits {
    /// All of it but the wait to retry.
    pub fn at_the_gates(&self) -> Duration {
        self.pause + self.permit + self.slot
    }
}
