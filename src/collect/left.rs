use std::sync::atomic::Ordering;

use crate::model::job::PageNumber;
use crate::model::verdict::Verdict;
use crate::reconcile::ending::Ending;
use crate::reconcile::step::Ask;
use crate::reconcile::walk::Walk;

use super::source::Source;
use super::worker::Blame;

/// What to do about a bug of ours.
const REPORT: &str = "please report it, with what stands on stderr and the output of `gapless why`; keys are never in it";

/// How a walk was left.
pub(super) struct Left {
    pub(super) ending: Ending,
    pub(super) page: Option<PageNumber>,
    pub(super) why: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) blame: Blame,
}

impl Left {
    pub(super) fn at(ending: Ending) -> Self {
        let why = ending.cause.as_ref().map(ToString::to_string);
        Self { ending, page: None, why, hint: None, blame: Blame::Otherwise }
    }

    pub(super) fn broken_off(walk: &Walk, verdict: Verdict, ask: &Ask, why: String) -> Self {
        Self { ending: walk.broken_off(verdict), page: Some(ask.page), why: Some(why), hint: None, blame: Blame::Otherwise }
    }

    /// What there is of the walk when the program itself broke in it.
    pub(super) fn broken_by_a_bug() -> Self {
        let ending =
            Ending { verdict: Verdict::Failed, cause: None, promised_first: None, promised_last: None, received: 0, distinct: 0 };
        let why = Some("a bug of gapless: what broke is said on stderr".to_owned());
        Self { why, hint: Some(REPORT.to_owned()), blame: Blame::Bug, ..Self::at(ending) }
    }

    /// While no partition of a dataset ever had a row, a proven zero may be a wrong request that is answered with success.
    pub(super) fn disbelieved(self, source: &Source) -> Self {
        match self.ending.verdict {
            Verdict::Complete | Verdict::Unverified => {
                source.has_had_rows.store(true, Ordering::Relaxed);
                self
            }
            Verdict::Empty if !source.has_had_rows.load(Ordering::Relaxed) => {
                let why = "no partition of this dataset has ever had a row: a wrong parameter is answered like this too";
                Self { ending: Ending { verdict: Verdict::Held, ..self.ending }, why: Some(why.to_owned()), ..self }
            }
            Verdict::Empty | Verdict::Held | Verdict::Short | Verdict::Failed | Verdict::Deferred | Verdict::Lost => self,
        }
    }
}
