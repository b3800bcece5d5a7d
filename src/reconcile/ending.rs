use std::fmt;

use crate::model::job::PageNumber;
use crate::model::verdict::Verdict;

/// How the walk of a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub verdict: Verdict,
    /// Why it is not simply complete.
    pub cause: Option<Cause>,
    /// Rows the source promised at the first page of the last read.
    pub promised_first: Option<u64>,
    /// Rows it promised at the last page.
    pub promised_last: Option<u64>,
    pub received: u64,
    /// Different rows among them.
    pub distinct: u64,
}

/// Why a walk did not end complete, or is called so all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The total changed under way, in every read.
    TotalMoved {
        first: u64,
        last: u64,
    },
    /// The page holds rows that an earlier page of the same read held, all of them.
    PageRepeated {
        page: PageNumber,
        as_page: PageNumber,
    },
    TooManyRows {
        received: u64,
        promised: u64,
    },
    TooManyPages {
        promised: u64,
        limit: u32,
    },
    /// Rows stood on two pages, and a second reading with other page edges brought other rows.
    RowsSlid {
        repeated: u64,
    },
    /// Rows stood on two pages, and no second reading with other page edges could be had.
    Unverifiable {
        repeated: u64,
    },
    /// The source asked for a new beginning more often than is granted.
    RestartDemanded {
        why: String,
    },
    /// The source promises no total.
    NoTotal,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TotalMoved { first, last } => {
                write!(f, "the total still moves after two new reads: {first} rows promised first, {last} last")
            }
            Self::PageRepeated { page, as_page } => write!(f, "page {page} repeats the rows of page {as_page}"),
            Self::TooManyRows { received, promised } => write!(f, "{received} rows received, {promised} promised"),
            Self::TooManyPages { promised, limit } => {
                write!(f, "{promised} rows promised, more than {limit} pages hold")
            }
            Self::RowsSlid { repeated } => {
                write!(f, "{repeated} rows stood on two pages, and a second reading brought other rows: rows slid between pages")
            }
            Self::Unverifiable { repeated } => {
                write!(f, "{repeated} rows stood on two pages, and the source gives no other page size to read them again with")
            }
            Self::RestartDemanded { why } => write!(f, "the source asked to begin again more than twice: {why}"),
            Self::NoTotal => f.write_str("the source promises no total"),
        }
    }
}
