use crate::caller::clock::Nanos;
use crate::caller::slots::Reading;

/// How far the shared clock is ahead of ours: between two bounds, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    least: i128,
    most: i128,
    at: Nanos,
}

/// Clocks drift apart by at most this part. One that is just being set right may be faster for a while: then the bounds are
/// wrong by no more than a reading takes, for else it would not agree with them.
const DRIFT: i128 = 10_000;

impl Offset {
    pub(super) fn of(Reading { asked, told, heard }: Reading) -> Self {
        Self { least: i128::from(told) - i128::from(heard), most: i128::from(told) - i128::from(asked), at: heard }
    }

    /// What is known with one more reading. One that does not agree with what was known comes of a clock that was set:
    /// then it alone counts.
    pub(super) fn with(self, reading: Reading) -> Self {
        let new = Self::of(reading);
        let drifted = i128::from(new.at.saturating_sub(self.at)) / DRIFT;
        let (least, most) = ((self.least - drifted).max(new.least), (self.most + drifted).min(new.most));
        if least > most { new } else { Self { least, most, at: new.at } }
    }

    /// Our time when that moment of the shared clock is over for sure.
    pub(super) fn latest(self, shared: Nanos) -> Nanos {
        ours(i128::from(shared) - self.least)
    }

    /// Our time when that moment of the shared clock has not come yet for sure.
    pub(super) fn earliest(self, shared: Nanos) -> Nanos {
        ours(i128::from(shared) - self.most)
    }

    /// What is not known of it.
    pub(super) fn width(self) -> Nanos {
        ours(self.most - self.least)
    }
}

fn ours(nanos: i128) -> Nanos {
    Nanos::try_from(nanos.max(0)).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(asked: Nanos, told: Nanos, heard: Nanos) -> Reading {
        Reading { asked, told, heard }
    }

    #[test]
    fn a_moment_of_the_shared_clock_lies_between_asking_and_hearing() {
        let offset = Offset::of(reading(100, 5_000, 130));
        assert_eq!((offset.earliest(5_000), offset.latest(5_000), offset.width()), (100, 130, 30));
        assert_eq!((offset.earliest(6_000), offset.latest(6_000)), (1_100, 1_130));
    }

    #[test]
    fn each_reading_makes_it_narrower_and_time_wider() {
        let offset = Offset::of(reading(100, 5_000, 130)).with(reading(200, 5_090, 215));
        assert_eq!((offset.earliest(5_000), offset.latest(5_000)), (110, 125), "the second is narrower");
        let slow = reading(1_000_000, 1_005_500, 1_005_000);
        let later = offset.with(slow);
        assert_eq!(later.width(), offset.width() + 2 * 100, "what drift may have done since, and the slow one adds nothing");
    }

    #[test]
    fn a_clock_that_was_set_is_believed_at_once() {
        let offset = Offset::of(reading(100, 5_000, 130));
        for told in [3_600_000_000_000, 0] {
            let set = reading(1_000, told, 1_010);
            assert_eq!(offset.with(set), Offset::of(set));
        }
    }
}
