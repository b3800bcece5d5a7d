use std::time::Duration;

use serde::Serialize;

use crate::model::attempt::Attempt;
use crate::model::job::PageNumber;
use crate::model::outcome::Outcome;

/// One request of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Which call it belongs to.
    pub call: i64,
    /// Since the measurement began.
    pub sent: Duration,
    /// Requests in flight as it left, itself among them.
    pub in_flight: u32,
    /// `None` while it is in flight, and of one that was cut off.
    pub answer: Option<Answered>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub took: Duration,
    pub came: Came,
    pub status: Option<u16>,
    pub code: Option<String>,
    pub why: String,
}

/// What a request came to, as far as limits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    Good,
    /// Too fast or too many, in so many words.
    Refused,
    /// It may be a refusal in disguise: one is none, two close together are.
    Suspect,
    /// A failure as it may happen at any time.
    Soft,
    /// The day's calls are used up.
    Quota,
    /// The key is not let in, or this address not any more.
    Barred,
}

/// A refusal comes quicker than a page: this much of the usual time at the most.
const QUICK: f64 = 0.4;

impl Came {
    /// What an attempt came to, after so many good answers that usually took `usual`.
    ///
    /// Source: real limiters refuse with 429, 503, 403, or by closing the connection, within a tenth of the time of a page.
    pub fn of(attempt: &Attempt, good_before: usize, usual: Option<Duration>) -> Self {
        let is_quick = usual.is_some_and(|usual| attempt.took.as_secs_f64() < QUICK * usual.as_secs_f64());
        let is_bare = attempt.code.is_none() && good_before > 0;
        // What it says of a page that nobody has says nothing of limits.
        let is_of_odd_page = attempt.label.page != PageNumber::FIRST && attempt.http_status.is_some();
        match attempt.outcome {
            Outcome::Page | Outcome::Empty | Outcome::TooBig | Outcome::Restart | Outcome::Later => Self::Good,
            Outcome::SlowDown => Self::Refused,
            Outcome::Spent => Self::Quota,
            Outcome::Refused => Self::Barred,
            Outcome::Retry | Outcome::Invalid | Outcome::Garbled if is_of_odd_page => Self::Good,
            Outcome::Retry | Outcome::Invalid | Outcome::Garbled if is_bare && is_quick => Self::Suspect,
            Outcome::Retry | Outcome::Invalid | Outcome::Garbled => Self::Soft,
        }
    }
}

impl Shot {
    pub fn is_good(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.came == Came::Good)
    }
}

/// The value that so many of a hundred do not exceed; `None` of none.
pub fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}
