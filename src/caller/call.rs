use std::fmt;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::body::{Answer, Judge};
use super::place::Place;
use super::request::PageRequest;
use crate::model::attempt::{Attempt, CallLabel};
use crate::model::body::KeptBody;
use crate::model::name::Name;
use crate::model::outcome::Trouble;

/// Asking for one page until it is final.
#[derive(Clone)]
pub struct Call {
    pub provider: Name,
    pub label: CallLabel,
    pub request: PageRequest,
    pub judge: Judge,
    /// The place of the worker that walks: left in long waits. A call that nobody counts has none.
    pub place: Option<Place>,
    /// Cancelled when the walk this call belongs to is over. Then no attempt of the call begins; one in flight lands and
    /// is on record, and its page is still handed over. A call that nobody abandons has none.
    pub abandoned: Option<CancellationToken>,
    /// Cancelled by the call when it ends without its page, before its permit is given to whoever waits for one: what its
    /// walk has asked for beyond this page is not wanted any more. A call that nobody follows has none.
    pub failed: Option<CancellationToken>,
}

/// A call that brought its page.
#[derive(Debug)]
pub struct Fetched {
    pub answer: Answer,
    pub body: KeptBody,
    /// In order; the last one brought the answer.
    pub attempts: Vec<Attempt>,
}

/// A call that brought none.
///
/// Its text has the cause at the top and every attempt below, in order.
#[derive(Debug)]
pub struct Failure {
    pub end: End,
    /// In order. Empty where the provider was not asked at all.
    pub attempts: Vec<Attempt>,
}

/// Why a call brought no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing that asking again would heal, or all tries are used.
    Trouble(Box<Trouble>),
    /// Not to be asked before then, or in this run at all: nothing is wrong with the page.
    Deferred { until: Option<Timestamp>, why: String },
    /// The run is stopping.
    Interrupted,
    /// Its walk was over before the page was had: whoever abandoned the call knows why.
    Abandoned,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end.fmt(f)?;
        if let [only] = &*self.attempts
            && matches!(&self.end, End::Trouble(trouble) if only.why.as_ref() == Some(&trouble.why))
        {
            return Ok(());
        }
        for (index, attempt) in self.attempts.iter().enumerate() {
            let why = attempt.why.as_deref().unwrap_or(attempt.outcome.as_str());
            write!(f, "\n  {}. {} after {:.1?}: {why}", index + 1, attempt.outcome, attempt.took)?;
        }
        Ok(())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trouble(trouble) => trouble.fmt(f),
            Self::Deferred { until: Some(until), why } => write!(f, "not asked before {until:.0}: {why}"),
            Self::Deferred { until: None, why } => write!(f, "not asked in this run: {why}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Abandoned => f.write_str("abandoned: its walk was over"),
        }
    }
}

impl std::error::Error for Failure {}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("provider", &self.provider).field("label", &self.label).finish_non_exhaustive()
    }
}
