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

impl Due {
    /// Why the page is not the one that is due; `None` when it may be. A moved total is for the walk to judge.
    pub fn misfit(&self, page: &Page) -> Option<String> {
        let rows = page.rows();
        if let Some(echo) = page.page_echo
            && echo != self.page_echo
        {
            return Some(format!("asked for page {}, the answer says it is page {echo}", self.page_echo));
        }
        match page.total {
            Some(0) if rows > 0 => return Some(format!("contradiction: {rows} rows came with a total of 0")),
            Some(total) if total > 0 && rows == 0 && self.rows == RowsDue::Any => {
                return Some(format!("contradiction: no rows came with a total of {total}"));
            }
            Some(_) | None => {}
        }
        let total_moved = page.total.is_some() && self.total.is_some() && page.total != self.total;
        match self.rows {
            RowsDue::Exactly(due) if rows != due && !total_moved => {
                let what = if rows < due { "hole" } else { "surplus" };
                Some(format!("{what}: page {} has {rows} rows where {due} are due", self.page_echo))
            }
            RowsDue::AtMost(due) if rows == 0 && !total_moved => {
                Some(format!("hole: page {} is empty while {due} rows are still due", self.page_echo))
            }
            RowsDue::AtMost(due) if rows > due && !total_moved => {
                Some(format!("surplus: page {} has {rows} rows where at most {due} are due", self.page_echo))
            }
            RowsDue::Any | RowsDue::Exactly(_) | RowsDue::AtMost(_) => None,
        }
    }
}
