use jiff::Timestamp;
use jiff::civil::Date;

use crate::model::job::{JobId, PartitionId};
use crate::model::name::Name;
use crate::model::verdict::Verdict;

/// What the ledger knows of one partition: what the plan is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    pub id: PartitionId,
    /// `region=11110,month=2024-01`
    pub key: String,
    pub published: Option<Snapshot>,
    /// The last job that ended, whatever it came to.
    pub last: Option<LastJob>,
    /// When it was last read as a whole.
    pub checked_at: Option<Timestamp>,
    /// When its content last changed.
    pub changed_at: Option<Timestamp>,
    /// Days on which it failed in a run that read another partition of its dataset whole, since it was last whole itself.
    pub strikes: u32,
}

/// The snapshot that is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub job: JobId,
    pub verdict: Verdict,
    pub published_at: Timestamp,
    pub rows: u64,
    pub pages: u64,
    pub definition_hash: String,
}

/// How the last job of a partition ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastJob {
    pub job: JobId,
    pub verdict: Verdict,
    pub why: Option<String>,
    pub ended_at: Timestamp,
}

/// A line of the view `coverage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageLine {
    pub dataset: String,
    pub partition: String,
    pub region: Option<String>,
    pub month: Option<String>,
    /// Of the latest job; `None` while its first job is running.
    pub verdict: Option<Verdict>,
    /// Rows that are published.
    pub rows: u64,
    pub promised: Option<u64>,
    pub distinct_rows: Option<u64>,
    pub checked_at: Option<Timestamp>,
    pub changed_at: Option<Timestamp>,
    pub why: Option<String>,
    /// Rows of a snapshot that waits for a decision, if there is one.
    pub held_rows: Option<u64>,
}

/// What is remembered of one dataset asked with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiState {
    pub dataset: Name,
    /// A salted digest, never the key.
    pub key_id: String,
    /// The provider's day that `calls` counts; `None` until calls are reserved.
    pub day: Option<Date>,
    /// Calls of that day that were sent or are reserved.
    pub calls: u64,
    /// Over when it is past.
    pub blocked_until: Option<Timestamp>,
    pub why: Option<String>,
}
