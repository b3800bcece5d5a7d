//! What the requests of a measurement show.

use std::time::Duration;

use super::shot::{Came, Shot};

/// A refusal, and when the requests came that were accepted before it. Seconds since the measurement began.
pub(super) struct Refusal {
    pub(super) accepted: Vec<f64>,
    pub(super) at: f64,
}

/// Accepted requests that may have had as many in flight as one that was refused: a request counts here until its answer
/// is read, and at the server only until it is written.
const OVERLAPPING: usize = 2;

/// The first refusal among the last so many requests; one without an answer is one.
pub(super) fn refusal(shots: &[Shot], last: usize, now: Duration) -> Refusal {
    let step = &shots[shots.len().saturating_sub(last)..];
    let is_refused = |shot: &&Shot| shot.answer.as_ref().is_none_or(|answer| answer.came == Came::Refused);
    let at = step.iter().find(is_refused).map_or(now, |shot| shot.sent);
    let accepted = shots.iter().filter(|shot| shot.is_good() && shot.sent < at).map(|shot| shot.sent.as_secs_f64());
    Refusal { accepted: accepted.collect(), at: at.as_secs_f64() }
}

/// Whether every refused request had more in flight than those that were accepted.
pub(super) fn is_of_flight(shots: &[Shot]) -> bool {
    let is_refused = |shot: &&Shot| shot.answer.as_ref().is_some_and(|answer| answer.came == Came::Refused);
    let Some(least) = shots.iter().filter(is_refused).map(|shot| shot.in_flight).min() else { return false };
    shots.iter().filter(|shot| shot.is_good() && shot.in_flight >= least).count() <= OVERLAPPING
}

/// Good answers a second, from the first to the last.
pub(super) fn lasting(shots: &[Shot]) -> Option<f64> {
    let good: Vec<Shot> = shots.iter().filter(|shot| shot.is_good()).cloned().collect();
    let seconds = span(&good);
    (seconds > 0.0).then(|| (good.len() - 1) as f64 / seconds)
}

/// Seconds between the first and the last.
pub(super) fn span(shots: &[Shot]) -> f64 {
    shots.first().zip(shots.last()).map_or(0.0, |(first, last)| last.sent.saturating_sub(first.sent).as_secs_f64())
}
