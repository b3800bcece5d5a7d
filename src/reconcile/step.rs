use crate::model::job::{PageNumber, ReadNumber};

use super::due::Due;
use super::ending::Ending;
use super::verification::RowSet;

/// What the definition says of the pages of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRules {
    /// Rows to ask for.
    pub size: u32,
    /// The most rows one page was seen to hold.
    pub most: u32,
    /// Number of the first page at the source.
    pub first: u32,
    pub short_page_ends: bool,
    /// A walk that would need more pages is not begun.
    pub max_pages: u32,
}

/// Why a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its rows become the snapshot.
    Snapshot,
    /// Its rows are only compared with the snapshot.
    Verification,
}

/// The page a walk wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub read: ReadNumber,
    pub page: PageNumber,
    /// Rows to ask for.
    pub size: u32,
    pub due: Due,
    pub purpose: Purpose,
}

/// What follows a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The page belongs to the snapshot; ask for the next.
    Keep,
    /// The page was only compared; ask for the next.
    Compared,
    /// The page is dropped with all of its read; ask for page 1 of the next read.
    NewRead { why: String },
    /// The page belongs to the snapshot, which is whole but has rows on two pages. Call [`published_agrees`] or
    /// [`verify`].
    ///
    /// [`published_agrees`]: super::walk::Walk::published_agrees
    /// [`verify`]: super::walk::Walk::verify
    KeepAndVerify(RowSet),
    /// The page belongs to the snapshot; the walk is over.
    KeepAndEnd(Ending),
    /// The page is dropped; the walk is over.
    End(Ending),
}
