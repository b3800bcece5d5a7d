use jiff::Timestamp;

use crate::model::job::{JobId, PageNumber, ReadNumber, RunId};
use crate::model::verdict::Verdict;

/// What the ledger tells of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    pub published_job: Option<JobId>,
    pub published_at: Option<Timestamp>,
    pub checked_at: Option<Timestamp>,
    pub changed_at: Option<Timestamp>,
    /// Latest first.
    pub jobs: Vec<JobLine>,
    /// Pages of the latest job, in order.
    pub pages: Vec<PageLine>,
    /// Attempts of the latest job, in order.
    pub attempts: Vec<AttemptLine>,
}

/// One job of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    pub id: JobId,
    pub run: RunId,
    /// `None` while it is running.
    pub verdict: Option<Verdict>,
    pub why: Option<String>,
    pub claims: u32,
    pub promised_first: Option<u64>,
    pub promised_last: Option<u64>,
    pub received: Option<u64>,
    pub distinct_rows: Option<u64>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub time: JobTime,
}

/// Where the time of a job went, in milliseconds. Pages that were asked for side by side add up to more than the job took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobTime {
    /// From requests leaving to answers judged.
    pub network_ms: u64,
    /// Until the pacer's next slot.
    pub slot_ms: u64,
    /// Until a request in flight landed.
    pub permit_ms: u64,
    /// Until API and provider were to be asked again.
    pub pause_ms: u64,
    /// Between tries.
    pub retry_ms: u64,
    /// Until the store had taken what was handed in, but for the end of the job.
    pub store_ms: u64,
}

/// One page that is or was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    pub read: ReadNumber,
    pub number: PageNumber,
    pub rows: u64,
    pub total: Option<u64>,
    /// Hash of its rows, lower-case hexadecimal.
    pub rows_hash: String,
    pub stored_at: Timestamp,
}

/// One HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLine {
    pub read: ReadNumber,
    pub page: PageNumber,
    pub number: u32,
    pub sent: bool,
    pub sent_at: Timestamp,
    pub took_ms: u64,
    pub waited_ms: u64,
    pub outcome: String,
    pub http_status: Option<u16>,
    pub code: Option<String>,
    pub why: Option<String>,
    pub body_bytes: u64,
}
