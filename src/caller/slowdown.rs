use std::time::Duration;

use super::clock::{Nanos, nanos};

/// The share of its rate a provider gets for a while after it refused for speed.
#[derive(Debug)]
pub(super) struct Slowdown {
    share: f64,
    changed: Nanos,
}

const AT_A_REFUSAL: f64 = 0.7;
const LOWEST: f64 = 0.05;

/// Part of the cap that is given back each second with a good answer: after one refusal the cap is reached in 30 s.
const GIVEN_BACK: f64 = 0.01;
const STEP: Duration = Duration::from_secs(1);

impl Slowdown {
    pub(super) fn new() -> Self {
        Self { share: 1.0, changed: 0 }
    }

    /// The provider refused for speed: a new event. Returns the share in force from now on.
    pub(super) fn refused(&mut self, now: Nanos) -> f64 {
        self.share = (self.share * AT_A_REFUSAL).max(LOWEST);
        self.changed = now;
        self.share
    }

    /// The provider gave a good answer. Returns the new share where it changed.
    pub(super) fn answered(&mut self, now: Nanos) -> Option<f64> {
        if self.share >= 1.0 || now.saturating_sub(self.changed) < nanos(STEP) {
            return None;
        }
        self.share = (self.share + GIVEN_BACK).min(1.0);
        self.changed = now;
        Some(self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn each_refusal_takes_three_tenths_and_good_seconds_give_back_slowly() {
        let mut slowdown = Slowdown::new();
        assert_eq!(slowdown.refused(0), 0.7);
        assert_eq!(slowdown.answered(SECOND / 2), None);
        assert_eq!(slowdown.answered(SECOND), Some(0.71));
        assert_eq!(slowdown.answered(SECOND + 1), None, "many answers in one second are one step");
        for second in 2..=29 {
            slowdown.answered(second * SECOND);
        }
        assert!(slowdown.answered(30 * SECOND).is_some_and(|share| share > 0.999));
        slowdown.answered(31 * SECOND);
        assert_eq!(slowdown.answered(60 * SECOND), None, "never above the cap");
    }

    #[test]
    fn refusals_in_a_row_never_stop_a_provider_for_good() {
        let mut slowdown = Slowdown::new();
        let shares: Vec<f64> = (0..20).map(|_| slowdown.refused(0)).collect();
        assert!((shares[1] - 0.49).abs() < 1e-9);
        assert_eq!(shares[19], LOWEST);
    }
}
