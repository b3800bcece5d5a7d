use std::time::Duration;

use serde::Serialize;

use super::shot::{Answered, Came, Shot, percentile};

/// What a step was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// One at a time, slowly: what an answer takes.
    Base,
    /// Faster and faster.
    Ladder,
    /// Once between the last rate that held and the one that did not.
    Refine,
    /// The answer, for as long as it takes to rule out that calls were saved up for it.
    Soak,
    /// A row of the plain table.
    Row,
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    Clean,
    Refused,
    /// Answers took much longer than at the beginning: the server queues.
    Slow,
    /// The calls in flight held the rate down.
    Held,
    /// Too many failures of the kind that may happen at any time.
    Failing,
}

/// Some calls at an even rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub kind: StepKind,
    /// Calls a second it was meant to have.
    pub offered: f64,
    pub sent: f64,
    /// Calls in flight it was allowed, and had.
    pub cap: u32,
    pub in_flight: u32,
    pub calls: usize,
    pub good: usize,
    pub refused: usize,
    pub soft: usize,
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<u64>,
    pub p90_ms: Option<u64>,
    pub p95_ms: Option<u64>,
    /// Good answers a second.
    pub good_rps: f64,
    pub verdict: StepVerdict,
    /// The first refusal, in words.
    pub first_refused: Option<String>,
}

/// Slower than this many times the usual, and by this much, is a queue at the server.
const SLOW: f64 = 1.5;
const SLOW_BY: Duration = Duration::from_millis(20);
/// Less than this share of the offered rate was held down by the calls in flight.
const HELD: f64 = 0.88;

impl Step {
    /// What the shots of a step come to; `usual` is what an answer takes when nobody hurries.
    pub fn of(kind: StepKind, offered: f64, cap: u32, shots: &[Shot], usual: Option<Duration>, is_failing: bool) -> Self {
        let mut took: Vec<Duration> = good(shots).map(|answer| answer.took).collect();
        took.sort_unstable();
        let sent = rate(shots);
        let count = |came: &[Came]| {
            shots.iter().filter(|shot| shot.answer.as_ref().is_some_and(|answer| came.contains(&answer.came))).count()
        };
        let refused = count(&[Came::Refused]);
        let p50 = percentile(&took, 50);
        let is_slow =
            p50.zip(usual).is_some_and(|(p50, usual)| p50.as_secs_f64() > SLOW * usual.as_secs_f64() + SLOW_BY.as_secs_f64());
        let verdict = match () {
            () if refused > 0 => StepVerdict::Refused,
            () if is_failing => StepVerdict::Failing,
            () if is_slow => StepVerdict::Slow,
            () if sent < HELD * offered && shots.len() > 2 => StepVerdict::Held,
            () => StepVerdict::Clean,
        };
        let first_refused = shots.iter().filter_map(|shot| shot.answer.as_ref()).find(|answer| answer.came == Came::Refused);
        let ms = |percent| percentile(&took, percent).map(|took| took.as_millis() as u64);
        Self {
            kind,
            offered,
            sent,
            cap,
            in_flight: shots.iter().map(|shot| shot.in_flight).max().unwrap_or(0),
            calls: shots.len(),
            good: took.len(),
            refused,
            soft: count(&[Came::Soft, Came::Suspect]),
            mean_ms: (!took.is_empty()).then(|| took.iter().sum::<Duration>().as_secs_f64() * 1000.0 / took.len() as f64),
            p50_ms: ms(50),
            p90_ms: ms(90),
            p95_ms: ms(95),
            good_rps: if shots.is_empty() { 0.0 } else { sent * took.len() as f64 / shots.len() as f64 },
            verdict,
            first_refused: first_refused.map(told),
        }
    }
}

/// Requests a second between the first and the last.
pub fn rate(shots: &[Shot]) -> f64 {
    match shots {
        [first, .., last] => (shots.len() - 1) as f64 / (last.sent.saturating_sub(first.sent)).as_secs_f64().max(1e-9),
        [_] | [] => 0.0,
    }
}

fn good(shots: &[Shot]) -> impl Iterator<Item = &Answered> {
    shots.iter().filter_map(|shot| shot.answer.as_ref()).filter(|answer| answer.came == Came::Good)
}

/// `429 in 15 ms`.
fn told(answer: &Answered) -> String {
    let what = match (&answer.code, answer.status) {
        (Some(code), Some(status)) => format!("code {code}, status {status}"),
        (Some(code), None) => format!("code {code}"),
        (None, Some(status)) => status.to_string(),
        (None, None) => "no answer".to_owned(),
    };
    format!("{what} in {} ms", answer.took.as_millis())
}
