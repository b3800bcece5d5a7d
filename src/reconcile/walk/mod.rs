pub mod ahead;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::model::job::{PageNumber, ReadNumber};
use crate::model::page::{Page, PageDigest};
use crate::model::record::RowHash;
use crate::model::verdict::Verdict;

use crate::reconcile::due::{Due, RowsDue};
use crate::reconcile::ending::{Cause, Ending};
use crate::reconcile::step::{Ask, PageRules, Purpose, Step};
use crate::reconcile::verification::{RowSet, other_size, smaller_size};

/// The walk of one job over its pages: says which page to ask for next and when it is over.
///
/// It knows nothing of requests or stores. Every page that came is handed to [`Walk::take`]; the answer says whether the
/// page belongs to the snapshot and what follows.
#[derive(Debug)]
pub struct Walk {
    rules: PageRules,
    read: ReadNumber,
    new_reads_left: u32,
    purpose: Purpose,
    pages_are: Pages,
    /// Rows to ask for in this read: the size of page 1 once it is known to be capped.
    size: u32,
    next: PageNumber,
    total_first: Option<u64>,
    total_last: Option<u64>,
    rows: Vec<RowHash>,
    seen_on: HashMap<RowHash, PageNumber>,
    repeated: u64,
    pages: HashMap<PageDigest, PageNumber>,
    /// The read to be verified, while a verification read is under way.
    collected: Option<Collected>,
}

/// Whether every page but the last holds the same number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    Even,
    Uneven,
}

#[derive(Debug)]
struct Collected {
    set: RowSet,
    ending: Ending,
    repeated: u64,
    /// Rows a page held in the read to be verified.
    size: u32,
    /// Whether a smaller size was asked for already, after the source capped a larger one.
    smaller_tried: bool,
}

impl Walk {
    /// How often a walk begins again at page 1 before it gives up.
    pub const NEW_READS: u32 = 2;

    pub fn new(rules: PageRules) -> Self {
        Self {
            rules,
            read: ReadNumber::FIRST,
            new_reads_left: Self::NEW_READS,
            purpose: Purpose::Snapshot,
            pages_are: Pages::Even,
            size: rules.size,
            next: PageNumber::FIRST,
            total_first: None,
            total_last: None,
            rows: Vec::new(),
            seen_on: HashMap::new(),
            repeated: 0,
            pages: HashMap::new(),
            collected: None,
        }
    }

    /// The page to ask for now.
    pub fn ask(&self) -> Ask {
        let rows = match (self.next, self.total_last, self.pages_are) {
            (PageNumber::FIRST, _, _) | (_, None, _) => RowsDue::Any,
            (_, Some(total), Pages::Even) => RowsDue::Exactly(u64::from(self.size).min(total.saturating_sub(self.received()))),
            (_, Some(total), Pages::Uneven) => RowsDue::AtMost(total.saturating_sub(self.received())),
        };
        self.ask_for(self.next, rows)
    }

    fn ask_for(&self, page: PageNumber, rows: RowsDue) -> Ask {
        let page_echo = u64::from(page.0 - 1) + u64::from(self.rules.first);
        let due = Due { page_echo, rows, total: self.total_last };
        Ask { read: self.read, page, size: self.size, due, purpose: self.purpose }
    }

    /// Takes a recognised page that fits what was due.
    pub fn take(&mut self, page: &Page) -> Step {
        if let Some(step) = self.objection(page) {
            return step;
        }
        self.remember(page);
        if self.is_over(page) { self.finish() } else { self.go_on() }
    }

    /// The source asks for the walk to begin again.
    pub fn restart(&mut self, why: String) -> Step {
        let cause = Cause::RestartDemanded { why: why.clone() };
        self.new_read(why, cause)
    }

    /// The published snapshot holds the very same rows: that reading is verification enough.
    pub fn published_agrees(&mut self) -> Ending {
        let ending = self.collected.take().expect("asked for after KeepAndVerify alone").ending;
        Ending { verdict: Verdict::Complete, cause: None, ..ending }
    }

    /// Begins the verification read, or ends the walk when no page size with other edges is left.
    pub fn verify(&mut self) -> Option<Ending> {
        let collected = self.collected.as_ref().expect("asked for after KeepAndVerify alone");
        let total = collected.ending.received;
        match other_size(collected.size, total, self.rules.most) {
            Some(size) => self.begin_verification(size),
            None => return Some(self.not_verified()),
        }
        None
    }

    /// What is known so far, for a job whose walk is broken off.
    pub fn broken_off(&self, verdict: Verdict) -> Ending {
        Ending { verdict, cause: None, ..self.so_far() }
    }

    fn objection(&mut self, page: &Page) -> Option<Step> {
        if let (Some(before), Some(now)) = (self.total_last, page.total)
            && before != now
        {
            let why = format!("the total moved from {before} to {now} at page {}", self.next);
            return Some(self.new_read(why, Cause::TotalMoved { first: self.total_first.unwrap_or(before), last: now }));
        }
        if page.rows() == 0 {
            return None;
        }
        if let Some(&as_page) = self.pages.get(&page.digest()) {
            return Some(self.fault(Cause::PageRepeated { page: self.next, as_page }));
        }
        if let Some(promised) = page.total.or(self.total_last) {
            let received = self.received() + page.rows();
            if received > promised {
                return Some(self.fault(Cause::TooManyRows { received, promised }));
            }
            let pages = promised.div_ceil(page.rows());
            if self.next == PageNumber::FIRST && pages > u64::from(self.rules.max_pages) {
                return Some(self.fault(Cause::TooManyPages { promised, limit: self.rules.max_pages }));
            }
        }
        None
    }

    fn remember(&mut self, page: &Page) {
        if let Some(total) = page.total {
            self.total_first.get_or_insert(total);
            self.total_last = Some(total);
        }
        if page.rows() == 0 {
            return;
        }
        self.pages.insert(page.digest(), self.next);
        for hash in page.row_hashes.iter() {
            if *self.seen_on.entry(*hash).or_insert(self.next) != self.next {
                self.repeated += 1;
            }
        }
        self.rows.extend_from_slice(&page.row_hashes);
        // A silent cap, or a size the source does not ask us about: page 1 shows the size in force.
        let is_even = self.pages_are == Pages::Even;
        if is_even && self.next == PageNumber::FIRST && self.total_last.is_some_and(|total| page.rows() < total) {
            self.size = page.rows() as u32;
        }
    }

    fn is_over(&self, page: &Page) -> bool {
        match (self.total_last, page.has_more) {
            (Some(total), _) => self.received() == total,
            (None, Some(has_more)) => !has_more,
            (None, None) => page.rows() == 0 || (self.rules.short_page_ends && page.rows() < u64::from(self.size)),
        }
    }

    fn go_on(&mut self) -> Step {
        if self.next.0 >= self.rules.max_pages {
            let cause = Cause::TooManyPages { promised: self.total_last.unwrap_or(self.received()), limit: self.rules.max_pages };
            return self.fault(cause);
        }
        self.next = self.next.next();
        match self.purpose {
            Purpose::Snapshot => Step::Keep,
            Purpose::Verification => Step::Compared,
        }
    }

    fn finish(&mut self) -> Step {
        if self.purpose == Purpose::Verification {
            return self.compare();
        }
        let whole = self.so_far();
        let (verdict, cause) = match whole.promised_last {
            Some(0) => (Verdict::Empty, None),
            Some(_) => (Verdict::Complete, None),
            None => (Verdict::Unverified, Some(Cause::NoTotal)),
        };
        let ending = Ending { verdict, cause, ..whole };
        if self.repeated == 0 || verdict == Verdict::Unverified {
            return Step::KeepAndEnd(ending);
        }
        let set = RowSet::new(self.rows.clone());
        self.collected =
            Some(Collected { set: set.clone(), ending, repeated: self.repeated, size: self.size, smaller_tried: false });
        Step::KeepAndVerify(set)
    }

    fn compare(&mut self) -> Step {
        let collected = self.collected.as_mut().expect("a verification read has something to verify");
        if self.size == collected.size {
            // The source gave pages of the old size whatever was asked: their edges are the same and prove nothing.
            let was_tried = std::mem::replace(&mut collected.smaller_tried, true);
            return match smaller_size(collected.size).filter(|_| !was_tried) {
                Some(size) => {
                    self.begin_verification(size);
                    Step::Compared
                }
                None => Step::End(self.not_verified()),
            };
        }
        let agrees = RowSet::new(std::mem::take(&mut self.rows)) == collected.set;
        let collected = self.collected.take().expect("looked at above");
        let (verdict, cause) = match agrees {
            true => (Verdict::Complete, None),
            false => (Verdict::Short, Some(Cause::RowsSlid { repeated: collected.repeated })),
        };
        Step::End(Ending { verdict, cause, ..collected.ending })
    }

    /// Ends a verification that could not be made.
    fn not_verified(&mut self) -> Ending {
        let collected = self.collected.take().expect("called while there is something to verify");
        let cause = Cause::Unverifiable { repeated: collected.repeated };
        Ending { verdict: Verdict::Short, cause: Some(cause), ..collected.ending }
    }

    fn begin_verification(&mut self, size: u32) {
        self.begin_read(size);
        self.purpose = Purpose::Verification;
    }

    /// A fault that no new request of the same kind would mend.
    fn fault(&mut self, cause: Cause) -> Step {
        match self.collected.take() {
            None => Step::End(Ending { verdict: Verdict::Short, cause: Some(cause), ..self.so_far() }),
            Some(collected) => Step::End(Ending { verdict: Verdict::Short, cause: Some(cause), ..collected.ending }),
        }
    }

    /// Begins again at page 1, or ends the walk with `cause` when it has done so often enough.
    fn new_read(&mut self, why: String, cause: Cause) -> Step {
        if self.new_reads_left == 0 {
            let mut ending = Ending { verdict: Verdict::Short, ..self.so_far() };
            if let Cause::TotalMoved { last, .. } = cause {
                ending.promised_last = Some(last);
            }
            return Step::End(Ending { cause: Some(cause), ..ending });
        }
        self.new_reads_left -= 1;
        self.collected = None;
        self.purpose = Purpose::Snapshot;
        self.begin_read(self.rules.size);
        Step::NewRead { why }
    }

    fn begin_read(&mut self, size: u32) {
        self.read = self.read.next();
        self.size = size;
        self.next = PageNumber::FIRST;
        self.total_first = None;
        self.total_last = None;
        self.rows.clear();
        self.seen_on.clear();
        self.pages.clear();
        self.repeated = 0;
    }

    fn received(&self) -> u64 {
        self.rows.len() as u64
    }

    fn so_far(&self) -> Ending {
        match &self.collected {
            Some(collected) => collected.ending.clone(),
            None => Ending {
                verdict: Verdict::Deferred,
                cause: None,
                promised_first: self.total_first,
                promised_last: self.total_last,
                received: self.received(),
                distinct: self.seen_on.len() as u64,
            },
        }
    }
}
