use std::time::Duration;

use super::clock::Nanos;
use super::hold::Hold;
use super::pause::{Pause, Refused, Way, Witness};
use super::provider::{Pace, ProviderLimits};
use super::speed::{Departure, Orders, Speed};

/// What is known of the mood of one provider: values in, values out. Waiting and telling are in `traffic.rs`.
pub(super) struct Lights {
    pub(super) pause: Pause,
    pub(super) speed: Speed,
    pub(super) hold: Hold,
    /// What pacer and permits were told last.
    pub(super) orders: Orders,
    /// Whether the speed knows that it is a ban that keeps the provider dark.
    is_ban_told: bool,
    pub(super) warned: Warned,
}

/// What was said already.
#[derive(Default)]
pub(super) struct Warned {
    pub(super) rate: bool,
    pub(super) hold: bool,
}

/// What an answer without a refusal for speed brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    Page,
    /// Something else that only a provider in the mood to answer says.
    Word,
}

impl Lights {
    pub(super) fn new(limits: &ProviderLimits, patience: Duration) -> Self {
        let ceiling = limits.rate.per_second().unwrap_or(f64::INFINITY);
        let set = Speed::set(ceiling);
        let orders = set.orders();
        let (pause, speed) = match limits.pace {
            Pace::Careful => (Pause::new(patience), set),
            // Its rate is lowered instead, and a pause that began long would hide how long a ban is.
            Pace::Sought(start) => (Pause::forgetful(patience), Speed::sought(start, ceiling, limits.concurrency)),
            Pace::Steered => (Pause::even(patience), set),
        };
        Self { pause, speed, hold: Hold::default(), orders, is_ban_told: false, warned: Warned::default() }
    }

    /// Who may ask: nobody while no call is left, and after a refusal one canary.
    pub(super) fn ask(&mut self, now: Nanos) -> Way {
        match self.hold.until(now) {
            Some(until) => Way::WaitUntil(until),
            None => self.pause.ask(now),
        }
    }

    pub(super) fn is_closed(&self, now: Nanos) -> bool {
        self.pause.is_dark() || self.hold.until(now).is_some()
    }

    /// A call was refused for speed.
    pub(super) fn refused(
        &mut self,
        now: Nanos,
        witness: Witness,
        departure: Departure,
        asked: Option<Duration>,
        why: &str,
    ) -> Refused {
        let refused = self.pause.refused(now, witness, asked, why);
        match refused {
            Refused::NewEvent { .. } => {
                self.is_ban_told = false;
                self.hold.refused(now);
                self.speed.refused(now, departure);
            }
            Refused::SameEvent => self.speed.refused_too(departure),
            Refused::StillDark { .. } => self.tell_ban(now),
        }
        refused
    }

    /// A call was answered. When it was the canary the provider is open again; then says how long it was dark.
    pub(super) fn answered(&mut self, now: Nanos, witness: Witness, departure: Departure, brought: Brought) -> Option<Duration> {
        self.tell_ban(now);
        let dark = self.pause.answered(now, witness);
        if dark.is_some() {
            self.speed.resumed(now);
        }
        match brought {
            Brought::Page => {
                self.hold.accepted(departure.at);
                self.speed.accepted(now, departure);
            }
            Brought::Word => {}
        }
        dark
    }

    fn tell_ban(&mut self, now: Nanos) {
        if self.pause.is_ban(now) && !std::mem::replace(&mut self.is_ban_told, true) {
            self.speed.banned();
        }
    }
}
