use std::num::NonZeroU64;

use serde::Deserialize;

use crate::model::month::Month;

/// What is wrong with a page that looks well.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// The total is said to be so many more or fewer; the rows are the true ones.
    TotalOff {
        by: i64,
    },
    /// The total is this text; JSON makes it a number where it is one.
    TotalIs {
        text: String,
    },
    TotalMissing {},
    /// The page of a partition with so many more or fewer rows, total included.
    SizeOff {
        by: i64,
    },
    /// One row of the page is left out, counted from 0.
    RowMissing {
        #[serde(default)]
        at: usize,
    },
    /// No rows, the total stays.
    NoRows {},
    /// Page 1, whatever number was asked.
    SamePage {},
    /// Every row of the partition, whatever page and size were asked.
    AllRows {},
    /// The first pages over and over: A, B, A, B.
    Cycle {
        #[serde(default = "two")]
        pages: NonZeroU64,
    },
    /// A page past the end is the last page once more.
    LastPageAgain {},
    /// The page begins so many rows early: it repeats rows of the page before, and as many at its end are lost.
    Slide {
        #[serde(default = "one")]
        by: u64,
    },
    /// The first `rows` rows, or all, are of another region or month.
    Foreign {
        region: Option<String>,
        month: Option<Month>,
        rows: Option<usize>,
    },
    /// `pageNo` tells another number.
    PageEcho {
        number: u64,
    },
    /// The text of the page is damaged.
    Broken {
        how: Breakage,
    },
}

/// How the text of a page is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakage {
    /// The last closing mark is missing.
    UnclosedRoot,
    /// The second half is missing; the content length is that of the rest.
    Half,
    /// Text after the end.
    TrailingText,
    /// A document type with an entity in it.
    Doctype,
    /// The total stands there twice, the second time as 0.
    DuplicateField,
    /// A byte that no UTF-8 has.
    InvalidUtf8,
}

fn one() -> u64 {
    1
}

fn two() -> NonZeroU64 {
    NonZeroU64::new(2).expect("two is not zero")
}

impl Content {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::TotalOff { .. } => "total_off",
            Self::TotalIs { .. } => "total_is",
            Self::TotalMissing {} => "total_missing",
            Self::SizeOff { .. } => "size_off",
            Self::RowMissing { .. } => "row_missing",
            Self::NoRows {} => "no_rows",
            Self::SamePage {} => "same_page",
            Self::AllRows {} => "all_rows",
            Self::Cycle { .. } => "cycle",
            Self::LastPageAgain {} => "last_page_again",
            Self::Slide { .. } => "slide",
            Self::Foreign { .. } => "foreign",
            Self::PageEcho { .. } => "page_echo",
            Self::Broken { .. } => "broken",
        }
    }
}
