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
    /// Waiting before it: for a permit, for a slot, for the provider's pause.
    pub waited: Duration,
}
