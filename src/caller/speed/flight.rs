use super::numbers::{FEWEST_TO_BLAME, OVERLAPPING};

/// How many calls in flight a provider bears, as far as its refusals say.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Accepted calls by how many were in flight when they left; the last place is for all above.
    accepted: Vec<u32>,
    limit: Option<u32>,
    /// Calls were refused that had not more in flight than others: it is the rate that counts.
    is_cleared: bool,
}

impl Flight {
    pub(super) fn accepted(&mut self, in_flight: u32) {
        let place = in_flight as usize;
        self.accepted.resize(self.accepted.len().max(place + 1), 0);
        self.accepted[place] = self.accepted[place].saturating_add(1);
    }

    /// The most that may be in flight, if that was found to be the limit.
    pub(super) fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// A call was refused that had so many in flight. Whether they may be to blame: no accepted one had as many.
    pub(super) fn blames(&mut self, in_flight: u32) -> bool {
        let from = |least: u32| self.accepted.iter().skip(least as usize).fold(0_u32, |all, count| all.saturating_add(*count));
        let (all, as_many) = (from(0), from(in_flight));
        let may_be = !self.is_cleared && in_flight > 1 && all >= FEWEST_TO_BLAME && as_many <= OVERLAPPING;
        if may_be {
            self.lower_to(in_flight - 1);
        }
        may_be
    }

    /// Never as many as this again.
    pub(super) fn lower_to(&mut self, most: u32) {
        let most = most.max(1);
        self.limit = Some(self.limit.map_or(most, |limit| limit.min(most)));
    }

    /// It was not the calls in flight.
    pub(super) fn clear(&mut self) {
        (self.limit, self.is_cleared) = (None, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_flight_are_to_blame_when_no_accepted_call_had_as_many() {
        let check = |accepted: &[u32], refused: u32, limit: Option<u32>| {
            let mut flight = Flight::default();
            accepted.iter().for_each(|in_flight| flight.accepted(*in_flight));
            assert_eq!(flight.blames(refused), limit.is_some(), "{accepted:?} {refused}");
            assert_eq!(flight.limit(), limit, "{accepted:?} {refused}");
        };
        check(&[1, 2, 3, 4, 4, 4, 4, 4, 4, 4], 5, Some(4));
        check(&[1, 2, 3, 4, 4, 4, 4, 4, 5, 5], 5, Some(4));
        check(&[1, 2, 3, 4, 4, 4, 4, 5, 5, 5], 5, None);
        check(&[4, 4, 4], 5, None);
        check(&[1; 20], 1, None);
    }

    #[test]
    fn calls_in_flight_that_were_cleared_are_never_blamed_again() {
        let mut flight = Flight::default();
        (0..20).for_each(|_| flight.accepted(2));
        assert!(flight.blames(4));
        assert!(flight.blames(3));
        assert_eq!(flight.limit(), Some(2), "the fewest of one event count");
        flight.clear();
        assert!(!flight.blames(9));
        assert_eq!(flight.limit(), None);
    }
}
