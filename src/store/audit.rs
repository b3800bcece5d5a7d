use std::fmt;

use crate::model::job::{JobId, PageNumber, ReadNumber};

/// Something in the store that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub dataset: String,
    /// `region=11110,month=2024-01`; `None` when the ledger no longer says whose it was.
    pub partition: Option<String>,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A page holds another number of rows than its line in the ledger says.
    RowsMiscounted {
        job: JobId,
        page: PageNumber,
        ledger: u64,
        stored: u64,
    },
    /// The rows of a page, or their order, are not those that were read.
    RowsChanged {
        job: JobId,
        page: PageNumber,
    },
    /// Rows of a page that the ledger does not know, or of a snapshot that was dropped.
    RowsOfNoPage {
        job: JobId,
        page: PageNumber,
        stored: u64,
    },
    /// Rows that are filed under another partition than their job's.
    RowsElsewhere {
        job: JobId,
        page: PageNumber,
        stored: u64,
    },
    /// A whole job says it received another number of rows than its pages hold.
    JobMiscounted {
        job: JobId,
        received: u64,
        pages: u64,
    },
    BodyDamaged {
        job: JobId,
        page: PageNumber,
    },
    /// Rows of a page have other values than its kept answer.
    ValuesChanged {
        job: JobId,
        page: PageNumber,
        rows: u64,
    },
    /// The kept answer is whole, and is no page of its dataset.
    BodyOfNoRows {
        job: JobId,
        page: PageNumber,
    },
    /// A body of a page that the ledger does not know, or of a snapshot that was dropped.
    BodyOfNoPage {
        job: JobId,
        page: PageNumber,
    },
    /// What should be a whole snapshot of the partition is none.
    Dangling {
        pointer: Pointer,
        job: JobId,
    },
    /// More than one job of the partition is live.
    TwoLiveJobs {
        jobs: u64,
    },
    /// A page of a read that the job has not opened, or has left.
    PageOfOtherRead {
        job: JobId,
        read: ReadNumber,
        page: PageNumber,
        open: ReadNumber,
    },
    /// A retired code is visible beside a district that took its place.
    SeenTwice {
        beside: String,
    },
}

/// What a partition says of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    Published,
    Waiting,
    Replaced,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partition {
            Some(partition) => write!(f, "partition `{partition}` of `{}`: {}", self.dataset, self.fault),
            None => write!(f, "`{}`: {}", self.dataset, self.fault),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowsMiscounted { job, page, ledger, stored } => {
                write!(f, "page {page} of job {job} has {stored} rows, the ledger says {ledger}")
            }
            Self::RowsChanged { job, page } => write!(f, "the rows of page {page} of job {job} are not those that were read"),
            Self::RowsOfNoPage { job, page, stored } => {
                write!(f, "{stored} rows are of page {page} of job {job}, which the ledger does not keep")
            }
            Self::RowsElsewhere { job, page, stored } => {
                write!(f, "{stored} rows of page {page} of job {job} are filed under another partition")
            }
            Self::JobMiscounted { job, received, pages } => {
                write!(f, "job {job} received {received} rows, its pages hold {pages}")
            }
            Self::BodyDamaged { job, page } => write!(f, "the kept body of page {page} of job {job} is damaged"),
            Self::ValuesChanged { job, page, rows } => {
                write!(f, "{rows} rows of page {page} of job {job} have other values than its kept answer")
            }
            Self::BodyOfNoRows { job, page } => {
                write!(f, "the kept answer of page {page} of job {job} cannot be read as a page of its dataset")
            }
            Self::BodyOfNoPage { job, page } => {
                write!(f, "a body is kept of page {page} of job {job}, which the ledger does not keep")
            }
            Self::Dangling { pointer, job } => write!(f, "its {pointer} job {job} is no whole snapshot of it"),
            Self::TwoLiveJobs { jobs } => write!(f, "{jobs} jobs are live at once"),
            Self::PageOfOtherRead { job, read, page, open } => {
                write!(f, "page {page} of job {job} is of read {read}, while read {open} is open")
            }
            Self::SeenTwice { beside } => write!(f, "it is visible beside `{beside}`, which took its place"),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Published => "published",
            Self::Waiting => "waiting",
            Self::Replaced => "replaced",
        })
    }
}
