use std::time::Duration;

use super::announced::Left;
use super::clock::{Nanos, nanos};
use super::retry::LONGEST_WAIT;

/// Whether nobody asks because a header said that no call is left. One number line of time, no waiting.
///
/// Headers can be wrong, so they are not relied on: said again right after a wait, the next call goes early. If it is let
/// in, they are not believed any more; if it is refused, they are.
#[derive(Debug, Default)]
pub(super) struct Hold {
    until: Nanos,
    /// When it was said that no call is left, and until when.
    said: Option<(Nanos, Nanos)>,
    /// How often in a row.
    in_a_row: u32,
    belief: Belief,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Belief {
    #[default]
    Untested,
    Confirmed,
    Refuted,
}

/// How long is waited where the next call is to find out whether the header is right.
const UNTIL_A_TEST: Duration = Duration::from_secs(1);

impl Hold {
    /// When somebody may ask again, if not now.
    pub(super) fn until(&self, now: Nanos) -> Option<Nanos> {
        (now < self.until).then_some(self.until)
    }

    /// An answer says whether calls are left; the call was sent then. How long nobody asks from now on, if that is new.
    pub(super) fn heard(&mut self, now: Nanos, sent: Nanos, left: Left) -> Option<Duration> {
        let reset = match left {
            Left::Unsaid => return None,
            Left::Some => {
                // One that was sent before says nothing of what came of the wait.
                if self.said.is_none_or(|(said, _)| sent > said) {
                    self.in_a_row = 0;
                }
                return None;
            }
            Left::None(reset) => reset,
        };
        let is_of_the_same_time = self.said.is_some_and(|(said, _)| sent <= said);
        if !is_of_the_same_time {
            self.in_a_row += 1;
        }
        let wait = match self.belief {
            Belief::Refuted => return None,
            Belief::Untested if self.in_a_row > 1 => reset.min(UNTIL_A_TEST),
            Belief::Untested | Belief::Confirmed => reset.min(LONGEST_WAIT),
        };
        // What was said first is put to the test, until its time is over.
        if self.said.is_none_or(|(_, until)| until <= now) {
            self.said = Some((now, now.saturating_add(nanos(reset))));
        }
        let until = now.saturating_add(nanos(wait));
        let is_new = until > self.until;
        self.until = self.until.max(until);
        is_new.then_some(wait)
    }

    /// A call that was sent then was let in.
    pub(super) fn accepted(&mut self, sent: Nanos) {
        if self.belief == Belief::Untested && self.said.is_some_and(|(said, until)| said < sent && sent < until) {
            (self.belief, self.until) = (Belief::Refuted, 0);
        }
    }

    /// A call was refused for speed.
    pub(super) fn refused(&mut self, now: Nanos) {
        if self.belief == Belief::Untested && self.said.is_some_and(|(_, until)| now < until) {
            self.belief = Belief::Confirmed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn none(seconds: u64) -> Left {
        Left::None(Duration::from_secs(seconds))
    }

    #[test]
    fn nobody_asks_until_calls_are_counted_anew_and_for_a_minute_at_most() {
        let mut hold = Hold::default();
        assert_eq!(hold.until(0), None);
        assert_eq!(hold.heard(SECOND, 0, none(5)), Some(Duration::from_secs(5)));
        assert_eq!(hold.until(SECOND), Some(6 * SECOND));
        assert_eq!(hold.heard(SECOND, 0, none(5)), None, "the same, from a call that was in flight beside it");
        assert_eq!(hold.heard(SECOND, 0, Left::Some), None);
        assert_eq!(hold.until(SECOND), Some(6 * SECOND), "another that was in flight cannot know");
        assert_eq!(hold.until(6 * SECOND), None);
        assert_eq!(Hold::default().heard(0, 0, none(3600)), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_header_that_says_it_again_is_put_to_the_test_once() {
        let mut hold = Hold::default();
        hold.heard(0, 0, none(10));
        let again = hold.heard(11 * SECOND, 10 * SECOND, none(10));
        assert_eq!(again, Some(UNTIL_A_TEST));
        let mut refuted = hold;
        refuted.accepted(12 * SECOND);
        assert_eq!(refuted.heard(13 * SECOND, 12 * SECOND, none(10)), None, "it let one in that was not to be");
        let mut hold = Hold::default();
        hold.heard(0, 0, none(10));
        hold.heard(11 * SECOND, 10 * SECOND, none(10));
        hold.refused(13 * SECOND);
        assert_eq!(hold.heard(30 * SECOND, 29 * SECOND, none(10)), Some(Duration::from_secs(10)), "it was right");
        assert_eq!(hold.heard(50 * SECOND, 49 * SECOND, none(10)), Some(Duration::from_secs(10)));
    }

    #[test]
    fn a_header_that_is_right_is_obeyed_each_time() {
        let mut hold = Hold::default();
        for minute in 0..10 {
            let now = minute * 60 * SECOND;
            assert_eq!(hold.heard(now, now, none(7)), Some(Duration::from_secs(7)), "{minute}");
            let after = now + 8 * SECOND;
            hold.accepted(after);
            hold.heard(after, after, Left::Some);
        }
    }

    #[test]
    fn calls_that_were_in_flight_prove_nothing() {
        let mut hold = Hold::default();
        hold.heard(SECOND, 0, none(10));
        hold.accepted(SECOND / 2);
        assert_eq!(hold.until(2 * SECOND), Some(11 * SECOND));
    }
}
