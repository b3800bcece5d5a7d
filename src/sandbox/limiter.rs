use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::answer::Answer;
use super::journal::Played;

/// How fast and how many at once a client may ask, and what it is told beyond that.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    /// Calls let in within a window, which is one second unless `window_ms` says otherwise.
    pub per_second: Option<u32>,
    pub window_ms: u64,
    pub window: WindowKind,
    /// Whether calls that are refused count as well: whoever asks on is never let in again.
    pub counts_refused: bool,
    /// Calls that must lie apart, but for some that are saved up while nobody asks.
    pub bucket: Option<Bucket>,
    /// Calls in flight at once.
    pub in_flight: Option<u32>,
    /// Refuses everything for so long after a refusal; each further call begins that time anew. Milliseconds.
    pub ban_ms: u64,
    pub answer: Answer,
    /// What every page says of it in its `RateLimit-Policy`: `300;w=60`.
    pub policy: Option<String>,
    /// A refusal is quick, milliseconds.
    pub wait_ms: u64,
}

/// Which calls a window looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// Those of the last while, at any moment.
    #[default]
    Sliding,
    /// Those since it began; with the first call after its end it begins anew.
    Fixed,
}

/// A token bucket. One with `burst = 1` saves nothing: each call must keep its distance to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    pub per_second: f64,
    pub burst: f64,
}

/// What a limit must remember.
#[derive(Debug, Default)]
pub struct Limiter {
    /// When the calls of the window came that count.
    counted: VecDeque<Instant>,
    /// Tokens of the bucket, as they were then.
    tokens: Option<(f64, Instant)>,
    banned_until: Option<Instant>,
}

impl Limiter {
    /// Why a call is refused for its speed, if it is.
    pub fn refuses(&mut self, limit: &Limit, in_flight: u32, now: Instant) -> Option<Played> {
        self.forget(limit, now);
        let is_banned = self.banned_until.is_some_and(|until| now < until);
        let is_fast = limit.per_second.is_some_and(|most| self.counted.len() >= most as usize);
        let is_close = limit.bucket.is_some_and(|bucket| self.tokens(bucket, now) < 1.0);
        let is_many = limit.in_flight.is_some_and(|most| in_flight > most);
        let is_refused = is_banned || is_fast || is_close || is_many;
        if !is_refused || limit.counts_refused {
            self.counted.push_back(now);
        }
        if !is_refused {
            if let Some(bucket) = limit.bucket {
                self.tokens = Some((self.tokens(bucket, now) - 1.0, now));
            }
            return None;
        }
        self.banned_until = (limit.ban_ms > 0).then(|| now + Duration::from_millis(limit.ban_ms));
        Some(if is_banned || is_fast || is_close { Played::TooFast } else { Played::TooMany })
    }

    fn forget(&mut self, limit: &Limit, now: Instant) {
        let window = Duration::from_millis(limit.window_ms);
        let is_over = |first: &Instant| now.duration_since(*first) >= window;
        match limit.window {
            WindowKind::Sliding => while self.counted.pop_front_if(|first| is_over(first)).is_some() {},
            WindowKind::Fixed if self.counted.front().is_some_and(is_over) => self.counted.clear(),
            WindowKind::Fixed => {}
        }
    }

    fn tokens(&self, bucket: Bucket, now: Instant) -> f64 {
        let Some((tokens, then)) = self.tokens else { return bucket.burst };
        (tokens + now.duration_since(then).as_secs_f64() * bucket.per_second).min(bucket.burst)
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self {
            per_second: None,
            window_ms: 1000,
            window: WindowKind::Sliding,
            counts_refused: false,
            bucket: None,
            in_flight: None,
            ban_ms: 0,
            answer: Answer::Gateway3 { code: "23".to_owned(), status: None, retry_after: None },
            policy: None,
            wait_ms: 14,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether calls at these milliseconds are let in: `+` or `-`.
    fn check(limit: Limit, calls: &[u64], let_in: &str) {
        let (mut limiter, start) = (Limiter::default(), Instant::now());
        let judged = calls.iter().map(|at| limiter.refuses(&limit, 1, start + Duration::from_millis(*at)));
        let judged: String = judged.map(|refused| if refused.is_none() { '+' } else { '-' }).collect();
        assert_eq!(judged, let_in, "{limit:?}");
    }

    #[test]
    fn each_kind_of_limit_lets_in_what_it_lets_in() {
        let two = || Limit { per_second: Some(2), ..Limit::default() };
        check(two(), &[0, 600, 900, 1000, 1500, 1600], "++-+-+");
        check(Limit { window: WindowKind::Fixed, ..two() }, &[0, 900, 950, 1000, 1100, 1200], "++-++-");
        check(Limit { counts_refused: true, ..two() }, &[0, 100, 600, 1050, 1500, 3000], "++---+");
        check(Limit { ban_ms: 500, ..two() }, &[0, 100, 200, 600, 1050, 1560], "++---+");
        check(Limit { window_ms: 3000, ..two() }, &[0, 100, 2900, 3000], "++-+");
        let bucket = |burst| Limit { bucket: Some(Bucket { per_second: 40.0, burst }), ..Limit::default() };
        check(bucket(1.0), &[0, 24, 25, 49, 50, 60, 76], "+-+-+-+");
        check(bucket(2.0), &[0, 0, 1, 25, 26, 100, 101], "++-+-++");
    }
}
