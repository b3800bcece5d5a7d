use std::collections::VecDeque;
use std::time::Duration;

use super::clock::{Nanos, nanos};

/// What came of the calls of the last while. Bounded memory: outcomes are kept in slices of a hundredth of the window,
/// and leave it a slice at a time, up to that much early.
#[derive(Debug)]
pub(super) struct Window {
    length: Nanos,
    /// Oldest first, none empty.
    slices: VecDeque<Slice>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    began: Nanos,
    counts: Counts,
}

/// Outcomes, and those of them that were failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) all: u32,
    pub(super) failed: u32,
}

const SLICES: u64 = 100;

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Self { length: nanos(length), slices: VecDeque::new(), counts: Counts::default() }
    }

    /// Adds outcomes and says what the window holds then. Times never go back.
    pub(super) fn add(&mut self, now: Nanos, more: Counts) -> Counts {
        self.forget(now);
        match self.slices.back_mut() {
            Some(slice) if now.saturating_sub(slice.began) < self.length / SLICES => slice.counts.add(more),
            Some(_) | None => self.slices.push_back(Slice { began: now, counts: more }),
        }
        self.counts.add(more);
        self.counts
    }

    /// A slice leaves as a whole, with its first outcome.
    fn forget(&mut self, now: Nanos) {
        while let Some(oldest) = self.slices.front().filter(|oldest| now.saturating_sub(oldest.began) >= self.length) {
            self.counts.all -= oldest.counts.all;
            self.counts.failed -= oldest.counts.failed;
            self.slices.pop_front();
        }
    }
}

impl Counts {
    pub(super) fn one(failed: bool) -> Self {
        Self { all: 1, failed: u32::from(failed) }
    }

    /// Whether at least so many of a hundred failed.
    pub(super) fn reach(self, failure_rate: f64) -> bool {
        f64::from(self.failed) * 100.0 >= failure_rate * f64::from(self.all)
    }

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = 1_000_000_000;
    const LENGTH: Nanos = 180 * SECOND;

    /// What a window that forgets nothing early holds.
    fn exact(outcomes: &[(Nanos, bool)], now: Nanos, length: Nanos) -> Counts {
        let within = outcomes.iter().filter(|(at, _)| now - at < length);
        within.fold(Counts::default(), |mut counts, (_, failed)| {
            counts.add(Counts::one(*failed));
            counts
        })
    }

    #[test]
    fn an_outcome_counts_for_as_long_as_the_window_is() {
        let mut window = Window::new(Duration::from_secs(180));
        assert_eq!(window.add(0, Counts::one(true)), Counts { all: 1, failed: 1 });
        assert_eq!(window.add(179 * SECOND, Counts::one(false)), Counts { all: 2, failed: 1 });
        assert_eq!(window.add(180 * SECOND, Counts::one(false)), Counts { all: 2, failed: 0 });
    }

    #[test]
    fn a_share_is_reached_from_its_exact_value_on() {
        assert!(Counts { all: 20, failed: 7 }.reach(35.0));
        assert!(!Counts { all: 21, failed: 7 }.reach(35.0));
    }

    proptest! {
        #[test]
        fn a_window_holds_what_an_exact_one_holds_but_for_one_slice(
            steps in prop::collection::vec((0..20 * SECOND, any::<bool>()), 1..300),
        ) {
            let mut window = Window::new(Duration::from_nanos(LENGTH));
            let (mut now, mut outcomes) = (0, Vec::new());
            for (step, failed) in steps {
                now += step;
                outcomes.push((now, failed));
                let counts = window.add(now, Counts::one(failed));
                let (most, least) = (exact(&outcomes, now, LENGTH), exact(&outcomes, now, LENGTH - LENGTH / SLICES));
                prop_assert!(least.all <= counts.all && counts.all <= most.all, "{least:?} {counts:?} {most:?}");
                prop_assert!(least.failed <= counts.failed && counts.failed <= most.failed);
                prop_assert!(window.slices.len() as u64 <= SLICES + 1);
            }
        }
    }
}
