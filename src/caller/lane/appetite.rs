use std::time::Duration;

use crate::caller::clock::{Nanos, nanos};

/// How many slots are reserved at once: as many as are sure to be used.
///
/// While a batch is ours nobody else sends, so each slot of it that is not used is lost to all hosts; and how many can be
/// used depends on how soon the permits of this host come back. As many slots as permits are used wherever the rate holds
/// the hosts back. It grows from there while calls wait when a batch is used up, and remembers which size was too big; but
/// not while other hosts wait as well, so that each has as much as its permits are of all.
#[derive(Debug)]
pub(super) struct Appetite {
    permits: u32,
    size: u32,
    used_up_in_a_row: u32,
    too_big: Option<u32>,
    is_contended: bool,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There was no call for so many of its slots.
    LeftOver(u32),
    /// There was no call that it was too short for.
    Enough,
    /// A call still waited.
    Short,
}

/// The longest a batch may be: what the others wait for in vain when a host dies.
const LONGEST: Duration = Duration::from_millis(250);

/// Slots that are used up before a size is tried again that was too big: it costs one of them, or few.
const BEFORE_TRYING_AGAIN: u32 = 64;

impl Appetite {
    pub(super) fn new() -> Self {
        Self { permits: 1, size: 1, used_up_in_a_row: 0, too_big: None, is_contended: false }
    }

    /// So many requests may be in flight from now on.
    pub(super) fn has_permits(&mut self, permits: u32) {
        if permits != self.permits {
            *self = Self { permits, size: permits, is_contended: self.is_contended, ..Self::new() };
        }
    }

    /// Whether a batch that was reserved came behind those of other hosts.
    pub(super) fn is_contended(&mut self, is_contended: bool) {
        self.is_contended = is_contended;
        if is_contended {
            self.size = self.size.min(self.permits);
        }
    }

    /// Slots to reserve, when so many calls wait for one.
    pub(super) fn count(&self, waiting: u32, interval: Nanos) -> u32 {
        let most = u32::try_from(nanos(LONGEST) / interval.max(1)).unwrap_or(u32::MAX).max(1);
        self.size.max(waiting).clamp(1, most)
    }

    /// A batch is over.
    pub(super) fn was_given(&mut self, count: u32, end: End) {
        match end {
            End::LeftOver(slots) => {
                self.size = count.saturating_sub(slots).max(1);
                self.too_big = Some(count);
                self.used_up_in_a_row = 0;
                return;
            }
            End::Enough => return,
            End::Short => self.used_up_in_a_row += count,
        }
        let next = match self.too_big {
            None => count.saturating_mul(2),
            Some(_) => count.saturating_add(1),
        };
        let next = if self.is_contended { next.min(self.permits) } else { next };
        let is_doubtful = self.too_big.is_some_and(|too_big| next >= too_big);
        if next > self.size && (!is_doubtful || self.used_up_in_a_row >= BEFORE_TRYING_AGAIN) {
            self.size = next;
            self.used_up_in_a_row = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = 25_000_000;

    fn after(ends: &[(u32, End)]) -> Appetite {
        let mut appetite = Appetite::new();
        ends.iter().for_each(|(count, end)| appetite.was_given(*count, *end));
        appetite
    }

    #[test]
    fn it_grows_while_calls_wait_to_a_quarter_of_a_second() {
        assert_eq!(Appetite::new().count(1, INTERVAL), 1);
        let fed = after(&[(1, End::Short), (2, End::Short), (4, End::Short), (8, End::Short), (16, End::Short)]);
        assert_eq!((fed.count(1, INTERVAL), fed.count(1, 2_000_000_000), fed.count(1, 1)), (10, 1, 32));
    }

    #[test]
    fn what_was_enough_stays() {
        assert_eq!(after(&[(1, End::Short), (2, End::Enough), (2, End::Enough)]).count(1, INTERVAL), 2);
    }

    #[test]
    fn it_is_as_big_as_its_part_while_others_wait_as_well() {
        let mut appetite = Appetite::new();
        appetite.has_permits(2);
        appetite.was_given(2, End::Short);
        assert_eq!(appetite.count(1, INTERVAL), 4);
        appetite.is_contended(true);
        appetite.was_given(4, End::Short);
        assert_eq!(appetite.count(1, INTERVAL), 2);
        appetite.was_given(2, End::LeftOver(1));
        assert_eq!(appetite.count(1, INTERVAL), 1);
        (0..BEFORE_TRYING_AGAIN).for_each(|_| appetite.was_given(1, End::Short));
        assert_eq!(appetite.count(1, INTERVAL), 2, "up to its part again");
        appetite.is_contended(false);
        (0..BEFORE_TRYING_AGAIN).for_each(|_| appetite.was_given(2, End::Short));
        assert!(appetite.count(1, INTERVAL) > 2);
    }

    #[test]
    fn other_permits_are_another_beginning() {
        let mut appetite = after(&[(1, End::Short), (2, End::LeftOver(1))]);
        appetite.has_permits(3);
        assert_eq!(appetite.count(1, INTERVAL), 3);
        appetite.was_given(3, End::Short);
        appetite.has_permits(3);
        assert_eq!(appetite.count(1, INTERVAL), 6, "what was learned with as many stays");
    }

    #[test]
    fn calls_that_wait_are_sure_to_use_a_slot() {
        assert_eq!(Appetite::new().count(6, INTERVAL), 6);
        assert_eq!(Appetite::new().count(100, INTERVAL), 10);
    }

    #[test]
    fn a_size_that_was_too_big_is_not_tried_again_soon() {
        let mut appetite = after(&[(1, End::Short), (2, End::Short), (4, End::Short), (8, End::LeftOver(3))]);
        assert_eq!(appetite.count(1, INTERVAL), 5);
        appetite.was_given(5, End::Short);
        appetite.was_given(6, End::Short);
        assert_eq!(appetite.count(1, INTERVAL), 7, "one by one from here");
        for _ in 0..BEFORE_TRYING_AGAIN / 7 {
            appetite.was_given(7, End::Short);
            assert_eq!(appetite.count(1, INTERVAL), 7);
        }
        appetite.was_given(7, End::Short);
        assert_eq!(appetite.count(1, INTERVAL), 8);
    }
}
