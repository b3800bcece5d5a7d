//! Beyond one page after the other: pages side by side, and reads taken up where another left them.

use super::{Pages, Walk};
use crate::model::job::{PageNumber, ReadNumber};
use crate::model::page::{Page, PageDigest};
use crate::reconcile::due::RowsDue;
use crate::reconcile::ending::Cause;
use crate::reconcile::step::{Ask, Purpose, Step};

/// Stored pages that do not fit together: the walk begins at page 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

impl Walk {
    /// The pages that may be asked for side by side with [`Walk::ask`], at most `most`, in order.
    ///
    /// None until the total is known; then every page but the last holds exactly the size in force.
    pub fn asks_ahead(&self, most: u32) -> Vec<Ask> {
        let (Some(total), Pages::Even, true) = (self.total_last, self.pages_are, self.next > PageNumber::FIRST) else {
            return Vec::new();
        };
        let size = u64::from(self.size);
        let pages = (self.next.0 + 1..).take(most as usize).map(|page| (PageNumber(page), u64::from(page - 1) * size));
        pages
            .take_while(|(_, offset)| *offset < total)
            .map(|(page, offset)| self.ask_for(page, RowsDue::Exactly(size.min(total - offset))))
            .collect()
    }

    /// Takes up a read of which these pages are stored, in order from page 1; the last of them is asked for again, to see
    /// whether the source still shows the same.
    ///
    /// Returns the digest the last page had. Errors: the pages do not fit together, and the walk begins at page 1.
    pub fn resume(&mut self, read: ReadNumber, pages: &[Page]) -> Result<PageDigest, Unfit> {
        let Some((last, before)) = pages.split_last() else { return Err(Unfit) };
        self.read = read;
        for page in before {
            let fits = self.ask().due.misfit(page).is_none();
            if !fits || self.take(page) != Step::Keep {
                self.begin_read(self.rules.size);
                return Err(Unfit);
            }
        }
        Ok(last.digest())
    }

    /// A page of the wrong size stays: the source's pages may be of uneven size, which a new read one by one can bear.
    ///
    /// `None` when that was tried already, or would not help.
    pub fn read_unevenly(&mut self, why: &str) -> Option<Step> {
        let may_help = self.pages_are == Pages::Even && self.next > PageNumber::FIRST && self.purpose == Purpose::Snapshot;
        if !may_help || self.new_reads_left == 0 {
            return None;
        }
        self.pages_are = Pages::Uneven;
        Some(self.new_read(why.to_owned(), Cause::RestartDemanded { why: why.to_owned() }))
    }
}
