use std::collections::VecDeque;
use std::time::Duration;

use super::flight::Flight;
use super::latency::Latency;
use super::numbers::*;
use crate::caller::clock::{Nanos, nanos};

/// What is learned of a provider whose pace is looked for.
#[derive(Debug)]
pub(super) struct Search {
    /// Calls in flight that are never exceeded.
    most: u32,
    /// As many as a probe had in flight: no more are tried.
    probed: Option<u32>,
    pub(super) flight: Flight,
    pub(super) latency: Latency,
    /// Of the last calls, the event of each that was refused.
    refused: VecDeque<Option<u32>>,
    pub(super) events: u32,
    bans: u32,
    /// Those of them that were said, and not only silence: a server that is down is silent, too.
    said_bans: u32,
    /// Whether the refusal that came last was silence.
    pub(super) was_silence: bool,
    /// Pages since the provider answered again.
    pub(super) let_in: u32,
    last_suspect: Option<Nanos>,
    /// The highest rate at which failures passed for refusals.
    unmasked_at: f64,
    /// They came at any rate: they are failures.
    has_no_disguises: bool,
}

impl Search {
    pub(super) fn new(most: u32, probed: Option<u32>) -> Self {
        Self {
            most,
            probed,
            flight: Flight::default(),
            latency: Latency::default(),
            refused: VecDeque::new(),
            events: 0,
            bans: 0,
            said_bans: 0,
            was_silence: false,
            let_in: 0,
            last_suspect: None,
            unmasked_at: 0.0,
            has_no_disguises: false,
        }
    }

    /// How many may be in flight at a rate.
    pub(super) fn in_flight(&self, rate: f64) -> u32 {
        let needed = match (self.probed, self.latency.of_nine_in_ten()) {
            (Some(probed), _) => probed,
            (None, Some(took)) => (ROOM_IN_FLIGHT * rate * took.as_secs_f64()).ceil() as u32,
            (None, None) => FIRST_IN_FLIGHT,
        };
        needed.min(self.flight.limit().unwrap_or(u32::MAX)).min(self.most).max(1)
    }

    pub(super) fn count(&mut self, refused: bool) {
        self.refused.push_back(refused.then_some(self.events));
        if self.refused.len() > LOOKED_AT {
            self.refused.pop_front();
        }
    }

    pub(super) fn banned(&mut self) {
        self.bans += 1;
        self.said_bans += u32::from(!self.was_silence);
    }

    /// Whether one ban was no warning enough.
    pub(super) fn is_banned_again(&self) -> bool {
        self.bans > 1
    }

    pub(super) fn is_latched(&self) -> bool {
        self.bans > 0
    }

    /// A failure without a code, at a rate. Whether it is a refusal in disguise: much quicker than a page, or far too slow,
    /// and the second within a short while.
    pub(super) fn unmask(&mut self, now: Nanos, rate: f64, took: Duration, says_wait: bool) -> bool {
        if self.has_no_disguises || !says_wait && !self.latency.is_odd(took) {
            return false;
        }
        let last = self.last_suspect.replace(now);
        if last.is_none_or(|last| now.saturating_sub(last) > nanos(SUSPECTS_WITHIN)) {
            return false;
        }
        self.unmasked_at = self.unmasked_at.max(rate);
        self.has_no_disguises = !self.is_latched() && rate < STILL_FAILING * self.unmasked_at;
        !self.has_no_disguises
    }

    /// Whether failures passed for refusals that were none.
    pub(super) fn was_deceived(&self) -> bool {
        self.has_no_disguises
    }

    /// Why the provider is not to be asked any more, if it is not.
    pub(super) fn objection(&self) -> Option<String> {
        let events: Vec<u32> = self.refused.iter().copied().flatten().collect();
        let is_one_event = events.first() == events.last();
        match () {
            () if self.said_bans >= BANS => Some(format!(
                "it shut us out {BANS} times for asking too fast; what came is kept, ask for the rest later with a lower `--rps`"
            )),
            () if events.len() > REFUSED_AT_MOST && !is_one_event => Some(format!(
                "{} of the last {} calls were refused for speed; what came is kept, ask for the rest later with a lower `--rps`",
                events.len(),
                self.refused.len()
            )),
            () => None,
        }
    }
}
