use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::dataset::Declared;
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, PartitionId, ReadNumber, RunId};
use crate::model::page::{Page, PageDigest};
use crate::model::partition::Partition;
use crate::model::record::RowHash;
use crate::model::verdict::Verdict;
use crate::reconcile::guard::Suspicion;

/// A claim on a job: what its pages and its end are stored under. Cheap to clone.
///
/// It holds until the job ends or another run claims it.
#[derive(Clone, Debug)]
pub struct Job(Arc<Inner>);

/// A job that was claimed, new or left behind by a dead run.
#[derive(Clone, Debug)]
pub struct Started {
    pub job: Job,
    /// The read that is open: its pages go on from `stored`, and a walk that begins again opens the next.
    pub read: ReadNumber,
    /// What is stored of that read, in the order of the page numbers; there may be holes where pages came side by side.
    pub stored: Vec<StoredPageFacts>,
}

/// A page that is stored already: what a walk must know of it, so as not to ask for it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPageFacts {
    pub number: PageNumber,
    pub rows: u64,
    /// The total the source told with it.
    pub total: Option<u64>,
    pub digest: PageDigest,
    /// In the order of the rows.
    pub row_hashes: Vec<RowHash>,
}

/// What came of asking for the job of a partition.
#[derive(Clone, Debug)]
pub enum Claim {
    Started(Started),
    /// Another run has it, on this host or another.
    Elsewhere(Elsewhere),
}

/// How far another run has got with a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is alive and at work: asked again after a while, it has ended or is dead.
    InWork { run: RunId },
    /// A job of it has ended since the work of this run was planned.
    Done { verdict: Verdict, why: Option<String>, promised: Option<u64>, received: u64 },
}

impl Elsewhere {
    /// Whether it is as free as before: a host that was stopped, or had no time left, puts off what another may take up.
    pub fn was_put_off(&self) -> bool {
        matches!(self, Self::Done { verdict: Verdict::Deferred, .. })
    }
}

/// What the plan of a run knew of the jobs of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// It is to be read whatever became of it since.
    Anyhow,
    /// This was its last job that had ended.
    After(Option<JobId>),
}

#[derive(Debug)]
struct Inner {
    id: JobId,
    /// Drawn anew at every claim; each write shows it.
    token: Box<str>,
    partition_id: PartitionId,
    partition: Partition,
    declared: Declared,
}

/// One of several changes that are one transaction.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    Start(JobStart<'a>),
    Page(StoredPage<'a>),
    /// Attempts of calls that brought no page.
    Attempts(&'a [Attempt]),
    OpenRead {
        job: &'a Job,
        read: ReadNumber,
    },
    End(JobEnd<'a>),
}

/// What came of a [`Change`].
#[derive(Clone, Debug)]
pub enum Changed {
    Claimed(Claim),
    /// A page, attempts or the opening of a read.
    Stored,
    Ended(Ended),
}

/// The claim on the job of a partition.
#[derive(Clone, Debug)]
pub struct JobStart<'a> {
    pub run: RunId,
    pub declared: &'a Declared,
    pub partition: &'a Partition,
    pub planned: Planned,
    /// How old the oldest page of what a dead run left may be, to be gone on with.
    pub max_age: SignedDuration,
    pub now: Timestamp,
}

/// A page to store, with what its call left behind.
#[derive(Clone, Debug)]
pub struct StoredPage<'a> {
    pub job: &'a Job,
    pub read: ReadNumber,
    pub number: PageNumber,
    pub page: &'a Page,
    /// The body it was read from, unless bodies are not kept.
    pub body: Option<&'a KeptBody>,
    /// Every request of the call, the one that brought the page among them.
    pub attempts: &'a [Attempt],
    pub now: Timestamp,
}

/// The end of a job.
#[derive(Clone, Debug)]
pub struct JobEnd<'a> {
    pub job: &'a Job,
    /// What the walk came to; the guards may hold it all the same.
    pub verdict: Verdict,
    pub why: Option<&'a str>,
    /// Total of the first and of the last page, where the source told one.
    pub promised_first: Option<u64>,
    pub promised_last: Option<u64>,
    pub received: u64,
    pub distinct: u64,
    /// The read that counts; what other reads left is dropped.
    pub read: ReadNumber,
    pub superseded: Superseded,
    /// What the worker waited for the store.
    pub store_wait: Duration,
    /// The provider's day: it says whether a month is closed to the guards, and a held snapshot counts the days on which
    /// its rows were read again.
    pub day: Date,
    pub now: Timestamp,
}

/// A job that was ended: what became of it after the guards had looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub verdict: Verdict,
    pub why: Option<String>,
    pub settled: Settled,
    /// Why it is held, where it is the guards that hold it.
    pub suspicion: Option<Suspicion>,
}

/// What a person says to a snapshot that is held.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'a> {
    /// It becomes the visible one.
    Accept { who: &'a str, why: &'a str, superseded: Superseded, now: Timestamp },
}

/// What becomes of the rows and bodies of a snapshot when another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superseded {
    Removed,
    Kept,
}

/// What the end of a job did to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Its snapshot is the visible one now.
    Published { superseded_rows: u64 },
    /// It brought what is published already: only the time of the check moved, and its own rows are gone.
    Unchanged,
    /// It was held, and the same rows were read on enough days: it is published as what it came to without that.
    Accepted { verdict: Verdict, superseded_rows: u64 },
    /// It is whole, and becomes visible together with the other successors of its district reform.
    Waiting,
    /// Nothing visible changed. Its rows stay until they are decided on, or until the next job of the partition ends.
    Kept,
}

impl Claim {
    /// The job, unless another run has it.
    pub fn started(self) -> Option<Started> {
        match self {
            Self::Started(started) => Some(started),
            Self::Elsewhere(_) => None,
        }
    }
}

impl Job {
    pub(super) fn new(id: JobId, token: String, partition_id: PartitionId, partition: Partition, declared: Declared) -> Self {
        Self(Arc::new(Inner { id, token: token.into(), partition_id, partition, declared }))
    }

    pub fn id(&self) -> JobId {
        self.0.id
    }

    pub fn partition(&self) -> &Partition {
        &self.0.partition
    }

    pub fn declared(&self) -> &Declared {
        &self.0.declared
    }

    pub(super) fn token(&self) -> &str {
        &self.0.token
    }

    pub(super) fn partition_id(&self) -> PartitionId {
        self.0.partition_id
    }
}
