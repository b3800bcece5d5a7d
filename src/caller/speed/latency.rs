use std::collections::VecDeque;
use std::time::Duration;

use super::numbers::{BASE_ANSWERS, FEWEST_ANSWERS, QUICK, QUICKER, RECENT_ANSWERS, SILENCE, SILENT, SLOW, SLOW_BY};

/// What the pages of a provider take.
#[derive(Debug, Default)]
pub(super) struct Latency {
    recent: VecDeque<Duration>,
    first: Vec<Duration>,
    /// The usual time, by the first answers.
    usual: Option<Duration>,
    since_verdict: usize,
    /// The median that was slow at the last look.
    was_slow: Option<Duration>,
}

impl Latency {
    /// A page took so long. Whether answers have become slow: told once in as many answers as are looked at.
    pub(super) fn took(&mut self, took: Duration) -> bool {
        self.recent.push_back(took);
        if self.recent.len() > RECENT_ANSWERS {
            self.recent.pop_front();
        }
        if self.usual.is_none() {
            self.first.push(took);
            if self.first.len() == BASE_ANSWERS {
                self.usual = percentile(self.first.iter(), 50);
            }
        }
        self.since_verdict += 1;
        let Some((usual, median)) = self.usual.zip(percentile(self.recent.iter(), 50)) else { return false };
        if self.since_verdict < RECENT_ANSWERS {
            return false;
        }
        if median <= usual.mul_f64(SLOW) + SLOW_BY {
            self.was_slow = None;
            return false;
        }
        self.since_verdict = 0;
        match self.was_slow.replace(median) {
            // Asking more slowly did not help: the server has become slow for everybody.
            Some(before) if median > before.mul_f64(QUICKER) => {
                (self.usual, self.was_slow) = (Some(median), None);
                false
            }
            Some(_) | None => true,
        }
    }

    /// What nine of ten answers take, once there were a few.
    pub(super) fn of_nine_in_ten(&self) -> Option<Duration> {
        if self.recent.len() < FEWEST_ANSWERS { None } else { percentile(self.recent.iter(), 90) }
    }

    /// Whether a failure came much more quickly than a page, or so late that no page ever does: a gate in front of the source
    /// takes no time to refuse, or keeps whoever asks too fast waiting.
    pub(super) fn is_odd(&self, took: Duration) -> bool {
        let is_known = self.recent.len() >= FEWEST_ANSWERS;
        let is_quick = is_known && percentile(self.recent.iter(), 50).is_some_and(|median| took < median.mul_f64(QUICK));
        is_quick || self.is_silence(took)
    }

    /// Whether no page takes so long.
    pub(super) fn is_silence(&self, took: Duration) -> bool {
        self.of_nine_in_ten().is_some_and(|usual| took > usual.mul_f64(SILENT).max(SILENCE))
    }
}

fn percentile<'d>(of: impl Iterator<Item = &'d Duration>, percent: usize) -> Option<Duration> {
    let mut sorted: Vec<Duration> = of.copied().collect();
    sorted.sort_unstable();
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_after(latency: &mut Latency, ms: u64, count: usize) -> usize {
        (0..count).filter(|_| latency.took(Duration::from_millis(ms))).count()
    }

    #[test]
    fn answers_are_slow_when_their_median_is_far_above_the_usual() {
        let mut latency = Latency::default();
        assert_eq!(slow_after(&mut latency, 100, 40), 0);
        assert_eq!(slow_after(&mut latency, 165, 40), 0, "half as slow again, and 20 ms: not yet");
        assert_eq!(slow_after(&mut latency, 200, 12), 1);
        assert_eq!(slow_after(&mut latency, 90, 40), 0);
        assert_eq!(latency.of_nine_in_ten(), Some(Duration::from_millis(90)));
    }

    #[test]
    fn a_server_that_is_slow_at_any_pace_is_taken_as_it_is() {
        let mut latency = Latency::default();
        slow_after(&mut latency, 100, 20);
        assert_eq!(slow_after(&mut latency, 300, 200), 1, "once, and then that is the usual");
        assert_eq!(slow_after(&mut latency, 600, 21), 1);
    }

    #[test]
    fn a_failure_is_odd_beside_the_pages_that_came() {
        let mut latency = Latency::default();
        assert!(!latency.is_odd(Duration::ZERO), "nothing is known yet");
        slow_after(&mut latency, 100, 5);
        assert!(latency.is_odd(Duration::from_millis(39)));
        assert!(!latency.is_odd(Duration::from_millis(40)));
        assert!(!latency.is_odd(Duration::from_millis(1_000)));
        assert!(latency.is_odd(Duration::from_millis(1_001)));
        slow_after(&mut latency, 400, 20);
        assert!(!latency.is_odd(Duration::from_millis(1_600)), "where pages take long, so may a failure");
    }
}
