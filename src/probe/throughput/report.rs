use serde::Serialize;

use super::learn::Learned;
use super::step::Step;

/// What a measurement came to, as `--format json` prints it. Names may be added, not changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throughput {
    pub schema: u8,
    #[serde(flatten)]
    pub subject: Subject,
    pub budget: usize,
    pub used: usize,
    pub ceiling: f64,
    pub steps: Vec<Step>,
    /// How long the source refused everything after the first refusal, if that was found out.
    pub dark_s: Option<f64>,
    pub kind: LimitKind,
    pub not_ruled_out: Vec<String>,
    /// The rate that lasts over the time until it was open again.
    pub lasting_rps: Option<f64>,
    pub result: Option<Answer>,
    pub tested: Tested,
    /// What came to light about the source on the way.
    pub learned: Learned,
    pub ended: Ended,
    /// Why it ended early.
    pub why: Option<String>,
}

/// What was measured, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    pub provider: String,
    pub dataset: String,
    /// Scheme, host and path that were asked.
    pub source: String,
    pub started: String,
}

/// Settings that were tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub rps: f64,
    pub concurrency: u32,
    pub min_gap_ms: f64,
    pub confidence: Confidence,
    /// With 95 % certainty no larger share of calls is refused.
    pub upper95_refused: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tested {
    pub calls: usize,
    pub seconds: f64,
}

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// It was kept up until saved calls were used up.
    Soaked,
    /// As [`Confidence::Soaked`], and nothing was refused at all.
    NoLimitSeen,
    /// A ban ended the search before it could be tried.
    Blocked,
    /// The calls of a longer while were counted.
    LongWindow,
    /// The budget ended before it could be tried for long enough.
    Unsure,
}

/// What kind of limit was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    None,
    /// How close calls come after each other, or how many come within a while.
    Rate,
    /// How many are in flight.
    InFlight,
    /// Whoever is refused is refused for a while.
    Ban,
    /// How many come within a minute or so.
    LongWindow,
    /// Nothing is refused, answers take longer.
    Queue,
}

/// How the measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Answered,
    /// A ban ended it.
    Blocked,
    /// The day's calls are used up.
    Quota,
    /// The key is not let in.
    Barred,
    /// The source was in trouble before anything could be measured.
    Trouble,
    /// Somebody stopped it.
    Interrupted,
}
