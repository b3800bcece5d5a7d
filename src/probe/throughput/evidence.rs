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

/// The most in flight that were let in, if every request that was refused had more.
pub(super) fn flight_let_in(shots: &[Shot]) -> Option<u32> {
    let is_refused = |shot: &&Shot| shot.answer.as_ref().is_some_and(|answer| answer.came == Came::Refused);
    let least = shots.iter().filter(is_refused).map(|shot| shot.in_flight).min()?;
    let (above, below): (Vec<u32>, Vec<u32>) =
        shots.iter().filter(|shot| shot.is_good()).map(|shot| shot.in_flight).partition(|in_flight| *in_flight >= least);
    if above.len() > OVERLAPPING { None } else { below.into_iter().max() }
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

#[cfg(test)]
mod tests {
    use super::super::shot::Answered;
    use super::*;

    fn shot(in_flight: u32, came: Came) -> Shot {
        let answer = Answered { took: Duration::ZERO, came, status: None, code: None, why: String::new() };
        Shot { call: 0, sent: Duration::ZERO, in_flight, answer: Some(answer) }
    }

    #[test]
    fn a_limit_on_calls_in_flight_is_seen_where_all_that_were_refused_had_more() {
        let check = |good: &[u32], refused: &[u32], let_in: Option<u32>| {
            let good = good.iter().map(|in_flight| shot(*in_flight, Came::Good));
            let refused = refused.iter().map(|in_flight| shot(*in_flight, Came::Refused));
            let shots: Vec<Shot> = good.chain(refused).collect();
            assert_eq!(flight_let_in(&shots), let_in, "{shots:?}");
        };
        check(&[1, 2, 3, 4, 4], &[5, 6], Some(4));
        check(&[1, 2, 3, 4, 5, 5], &[5], Some(4));
        check(&[1, 2, 3, 4, 5, 5, 5], &[5], None);
        check(&[1, 2], &[], None);
        check(&[2, 2, 2], &[1], None);
    }
}
