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

/// Whether a request of the step before the last was refused; the last has so many requests, the one before so many.
pub(super) fn was_refused_before(shots: &[Shot], last: usize, before: usize) -> bool {
    let end = shots.len().saturating_sub(last);
    shots[end.saturating_sub(before)..end].iter().any(|shot| came(shot, Came::Refused))
}

/// When the last request left that was refused, seconds since the measurement began.
pub(super) fn last_refusal(shots: &[Shot]) -> Option<f64> {
    shots.iter().rev().find(|shot| came(shot, Came::Refused)).map(|shot| shot.sent.as_secs_f64())
}

/// What a source lasts at least that refused a request and let others in until it refused one at `at`, seconds since the
/// measurement began: calls a second.
///
/// With the first refusal all that was saved up was used up, however much that was. Windows of a second are over before the
/// first canary.
pub(super) fn lasts_between_refusals(shots: &[Shot], at: f64) -> Option<f64> {
    let before = shots.partition_point(|shot| shot.sent.as_secs_f64() < at);
    let from = last_refusal(&shots[..before])?;
    let let_in = shots.iter().filter(|shot| shot.is_good() && (from..at).contains(&shot.sent.as_secs_f64())).count();
    Some(let_in.saturating_sub(1) as f64 / (at - from))
}

fn came(shot: &Shot, as_what: Came) -> bool {
    shot.answer.as_ref().is_some_and(|answer| answer.came == as_what)
}

/// The most in flight that were let in, if every request that was refused had more.
pub(super) fn flight_let_in(shots: &[Shot]) -> Option<u32> {
    let is_refused = |shot: &&Shot| came(shot, Came::Refused);
    let least = shots.iter().filter(is_refused).map(|shot| shot.in_flight).min()?;
    let (above, below): (Vec<u32>, Vec<u32>) =
        shots.iter().filter(|shot| shot.is_good()).map(|shot| shot.in_flight).partition(|in_flight| *in_flight >= least);
    if above.len() > OVERLAPPING { None } else { below.into_iter().max() }
}

/// Good answers a second, from the first to the last.
pub(super) fn lasting(shots: &[Shot]) -> f64 {
    let good: Vec<Shot> = shots.iter().filter(|shot| shot.is_good()).cloned().collect();
    let seconds = span(&good);
    if seconds > 0.0 { (good.len() - 1) as f64 / seconds } else { 0.0 }
}

/// Good answers a second, from the first request until then.
pub(super) fn let_in_until(shots: &[Shot], now: Duration) -> f64 {
    let seconds = shots.first().map_or(0.0, |first| now.saturating_sub(first.sent).as_secs_f64());
    let good = shots.iter().filter(|shot| shot.is_good()).count();
    if seconds > 0.0 { good as f64 / seconds } else { 0.0 }
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

    #[test]
    fn what_lasts_shows_between_two_refusals_however_much_was_saved_up() {
        let at = |second: f64, came| Shot { sent: Duration::from_secs_f64(second), ..shot(1, came) };
        // 20 a second, and a hundred saved up that are gone at 5 s; a second of rest, then 50 a second until they are gone.
        let before = (0..200).map(|call| at(f64::from(call) / 40.0, Came::Good));
        let after = (0..34).map(|call| at(6.0 + f64::from(call) / 50.0, Came::Good));
        let shots: Vec<Shot> = before.chain([at(5.0, Came::Refused)]).chain(after).chain([at(6.68, Came::Refused)]).collect();
        let lasts = lasts_between_refusals(&shots, 6.68).unwrap();
        assert!((19.0..=20.0).contains(&lasts), "{lasts}");
        assert_eq!(lasts_between_refusals(&shots, 5.0), None, "the first one");
    }

    #[test]
    fn a_step_that_passed_for_clean_shows_its_refusal() {
        let shots = [Came::Good, Came::Refused, Came::Good, Came::Good, Came::Refused].map(|came| shot(1, came));
        assert!(was_refused_before(&shots, 2, 2));
        assert!(!was_refused_before(&shots, 2, 1));
        assert!(!was_refused_before(&shots, 5, 3), "there is none before");
    }
}
