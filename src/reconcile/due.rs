use crate::model::page::Page;

/// What a walk knows of the page it asks for next: a page that does not fit is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The page number the source would repeat.
    pub page_echo: u64,
    pub rows: RowsDue,
    /// The total so far, if any page told one.
    pub total: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsDue {
    /// Nothing is known yet.
    Any,
    /// Exactly so many, while the total stays what it was.
    Exactly(u64),
    /// At least one and at most so many: a read of a source whose pages are of uneven size.
    AtMost(u64),
}

/// Why a page is not the one that is due.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("asked for page {asked}, the answer says it is page {echo}")]
    WrongPage { asked: u64, echo: u64 },
    #[error("contradiction: {rows} rows came with a total of 0")]
    RowsWithoutTotal { rows: u64 },
    #[error("contradiction: no rows came with a total of {total}")]
    TotalWithoutRows { total: u64 },
    #[error("hole: page {page} has no rows where {due} are due")]
    Empty { page: u64, due: u64 },
    /// Some rows are missing: all pages of the source may be of uneven size.
    #[error("hole: page {page} has {rows} rows where {due} are due")]
    FewRows { page: u64, rows: u64, due: u64 },
    #[error("surplus: page {page} has {rows} rows where {due} are due")]
    ManyRows { page: u64, rows: u64, due: u64 },
}

impl Due {
    /// Why the page is not the one that is due; `None` when it may be. A moved total is for the walk to judge.
    pub fn misfit(&self, page: &Page) -> Option<Misfit> {
        let (number, rows) = (self.page_echo, page.rows());
        if let Some(echo) = page.page_echo
            && echo != number
        {
            return Some(Misfit::WrongPage { asked: number, echo });
        }
        match page.total {
            Some(0) if rows > 0 => return Some(Misfit::RowsWithoutTotal { rows }),
            Some(total) if total > 0 && rows == 0 && self.rows == RowsDue::Any => {
                return Some(Misfit::TotalWithoutRows { total });
            }
            Some(_) | None => {}
        }
        let total_moved = page.total.is_some() && self.total.is_some() && page.total != self.total;
        match self.rows {
            RowsDue::Any => None,
            RowsDue::Exactly(_) | RowsDue::AtMost(_) if total_moved => None,
            RowsDue::Exactly(due) | RowsDue::AtMost(due) if rows == 0 && due > 0 => Some(Misfit::Empty { page: number, due }),
            RowsDue::Exactly(due) | RowsDue::AtMost(due) if rows > due => Some(Misfit::ManyRows { page: number, rows, due }),
            RowsDue::Exactly(due) if rows < due => Some(Misfit::FewRows { page: number, rows, due }),
            RowsDue::Exactly(_) | RowsDue::AtMost(_) => None,
        }
    }
}
