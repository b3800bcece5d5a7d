use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::model::breaker::BreakerState;
use crate::model::job::{JobId, PartitionId};
use crate::model::name::Name;
use crate::model::verdict::Verdict;

/// What the ledger knows of one partition: what the plan is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    pub id: PartitionId,
    /// `region=11110,month=2024-01`
    pub key: String,
    /// The whole snapshot it has: one that waits before one that is visible.
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

/// A whole snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub job: JobId,
    pub verdict: Verdict,
    pub standing: Standing,
    /// `None` while it waits.
    pub published_at: Option<Timestamp>,
    pub rows: u64,
    pub pages: u64,
    pub definition_hash: String,
}

/// Whether the view of the dataset shows a whole snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Visible,
    /// It becomes visible together with the other successors of its district reform.
    Waiting,
    /// It was visible until the successors of its district took its place.
    Replaced,
}

/// How far a district reform has got in one dataset that has snapshots of its retired codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReformProgress {
    pub dataset: String,
    pub retired: Vec<String>,
    pub successors: Vec<String>,
    /// Partitions of retired codes that have left the view.
    pub replaced: u64,
    /// Partitions of retired codes that are still visible.
    pub visible: u64,
    /// Keys of the partitions that must be read since the day of the reform for them to leave.
    pub awaited: Vec<String>,
}

/// How the last job of a partition ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastJob {
    pub job: JobId,
    pub verdict: Verdict,
    pub why: Option<String>,
    pub ended_at: Timestamp,
}

/// What one region has in all its partitions that were ever whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionYield {
    pub dataset: Name,
    pub region: String,
    pub partitions: u64,
    /// Rows that are published.
    pub rows: u64,
}

/// No day of a provider ends later than this from now, whatever its zone and ours.
const FARTHEST: SignedDuration = SignedDuration::from_hours(48);

/// An instant of the ledger that is waited for at `now`.
///
/// One that is further off was written while the clock was wrong: it would keep a dataset from being asked for years.
pub fn to_come(instant: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    instant.filter(|instant| *instant > now && instant.duration_since(now) <= FARTHEST)
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
    /// Over when it is past; see [`to_come`].
    pub blocked_until: Option<Timestamp>,
    pub why: Option<String>,
}

/// A change of the breaker of one dataset asked with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerChange {
    pub dataset: Name,
    /// A salted digest, never the key.
    pub key_id: String,
    pub changed_at: Timestamp,
    pub state: BreakerState,
    /// Of one that opened: when the first calls are let through again.
    pub open_until: Option<Timestamp>,
    /// How often in a row it opened.
    pub openings: u32,
    pub why: String,
}

impl Standing {
    pub const ALL: [Self; 3] = [Self::Visible, Self::Waiting, Self::Replaced];

    /// The spelling used in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Waiting => "waiting",
            Self::Replaced => "replaced",
        }
    }

    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standing| standing.as_str() == text)
    }
}
