use std::time::Duration;

use super::clock::{Nanos, nanos};
use super::retry::LONGEST_WAIT;

/// Whether a provider may be asked. One number line of time, no waiting: that is in `traffic.rs`.
///
/// A refusal for speed turns the provider dark for everybody. When the pause is over one call goes first, the canary;
/// until one of them is answered, the pauses double. Waiting per call instead keeps a ban alive that counts refused
/// calls.
#[derive(Debug)]
pub(super) struct Pause {
    dark: Option<Dark>,
    /// Length of the pause before, to be doubled.
    length: Duration,
    /// End of the dark time before.
    light_since: Option<Nanos>,
    patience: Duration,
    forgotten_after: Duration,
    /// They are no longer than this.
    longest: Duration,
}

#[derive(Debug)]
struct Dark {
    began: Nanos,
    until: Nanos,
    canary: Canary,
    /// A canary was not answered.
    is_lasting: bool,
    why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Canary {
    Due,
    Out,
}

/// What a call does that wants to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Open,
    /// Go, alone: everybody waits for your answer.
    AsCanary,
    WaitUntil(Nanos),
    /// A canary is out. Ask again when it is back, or then.
    WaitForCanary {
        until: Nanos,
    },
    /// Come back then: the provider has been dark for too long, or will be.
    Deferred {
        until: Nanos,
        why: String,
    },
}

/// Who heard of a refusal or a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Witness {
    Canary,
    /// A call sent then, when the provider was open.
    SentAt(Nanos),
}

/// A pause that everybody should hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The provider turned dark: a new event.
    NewEvent { pause: Duration },
    /// A canary was not answered.
    StillDark { pause: Duration },
    /// Known already: the call was sent before the pause began.
    SameEvent,
}

/// A provider that is dark for longer has banned us.
const BAN: Duration = Duration::from_millis(2500);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A refusal this long after the last dark time begins with the first pause again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

impl Pause {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            dark: None,
            length: FIRST_PAUSE,
            light_since: None,
            patience,
            forgotten_after: FORGOTTEN_AFTER,
            longest: LONGEST_PAUSE,
        }
    }

    /// One that begins with the first pause each time.
    pub(super) fn forgetful(patience: Duration) -> Self {
        Self { forgotten_after: Duration::ZERO, ..Self::new(patience) }
    }

    /// One whose pauses never grow: whoever asks chooses when a canary goes.
    pub(super) fn even(patience: Duration) -> Self {
        Self { longest: FIRST_PAUSE, ..Self::forgetful(patience) }
    }

    /// Which way a call takes that asks `now`. An answer `AsCanary` must be followed by a refusal, a success or
    /// [`Pause::canary_lost`].
    pub(super) fn ask(&mut self, now: Nanos) -> Way {
        let Some(dark) = &mut self.dark else { return Way::Open };
        let gives_up_at = dark.began.saturating_add(nanos(self.patience));
        let is_canary_due = dark.canary == Canary::Due;
        if is_canary_due && now >= dark.until {
            dark.canary = Canary::Out;
            return Way::AsCanary;
        }
        let is_too_long = dark.until.saturating_sub(now) > nanos(LONGEST_WAIT);
        if now >= gives_up_at || is_too_long {
            return Way::Deferred { until: dark.until.max(now), why: dark.why.clone() };
        }
        if is_canary_due { Way::WaitUntil(dark.until.min(gives_up_at)) } else { Way::WaitForCanary { until: gives_up_at } }
    }

    /// Whether nobody but the canary may send.
    pub(super) fn is_dark(&self) -> bool {
        self.dark.is_some()
    }

    /// Whether it is a ban that keeps the provider dark: a canary was not answered, and it has been dark for too long to be
    /// a refusal of single calls.
    pub(super) fn is_ban(&self, now: Nanos) -> bool {
        self.dark.as_ref().is_some_and(|dark| dark.is_lasting && now.saturating_sub(dark.began) > nanos(BAN))
    }

    /// A call was refused for speed, or a canary brought no sign of life. `asked` is what the server asked to wait.
    pub(super) fn refused(&mut self, now: Nanos, witness: Witness, asked: Option<Duration>, why: &str) -> Refused {
        let asked = asked.unwrap_or(Duration::ZERO);
        match (&mut self.dark, witness) {
            (Some(dark), Witness::Canary) => {
                self.length = (self.length * 2).min(self.longest);
                let pause = self.length.max(asked);
                dark.until = now.saturating_add(nanos(pause));
                (dark.canary, dark.is_lasting) = (Canary::Due, true);
                why.clone_into(&mut dark.why);
                Refused::StillDark { pause }
            }
            (Some(dark), Witness::SentAt(_)) => {
                dark.until = dark.until.max(now.saturating_add(nanos(asked)));
                Refused::SameEvent
            }
            (None, Witness::SentAt(sent)) if self.light_since.is_some_and(|since| sent < since) => Refused::SameEvent,
            (None, Witness::SentAt(_) | Witness::Canary) => {
                let is_fresh = self.light_since.is_none_or(|since| now.saturating_sub(since) > nanos(self.forgotten_after));
                self.length = if is_fresh { FIRST_PAUSE } else { (self.length * 2).min(self.longest) };
                let pause = self.length.max(asked);
                let until = now.saturating_add(nanos(pause));
                self.dark = Some(Dark { began: now, until, canary: Canary::Due, is_lasting: false, why: why.to_owned() });
                Refused::NewEvent { pause }
            }
        }
    }

    /// A call was answered. When it was the canary the provider is open again; then says how long it was dark.
    pub(super) fn answered(&mut self, now: Nanos, witness: Witness) -> Option<Duration> {
        match witness {
            Witness::Canary => {
                let dark = self.dark.take()?;
                self.light_since = Some(now);
                Some(Duration::from_nanos(now.saturating_sub(dark.began)))
            }
            Witness::SentAt(_) => None,
        }
    }

    /// Another host was refused for speed: nobody asks for so long. Whether that is news.
    pub(super) fn refused_elsewhere(&mut self, now: Nanos, left: Duration, why: &str) -> bool {
        let until = now.saturating_add(nanos(left));
        match &mut self.dark {
            Some(dark) => {
                dark.until = dark.until.max(until);
                false
            }
            None => {
                self.length = left.clamp(FIRST_PAUSE, LONGEST_PAUSE);
                self.dark = Some(Dark { began: now, until, canary: Canary::Due, is_lasting: false, why: why.to_owned() });
                true
            }
        }
    }

    /// The canary of another host was answered. Whether the provider was dark here as well.
    pub(super) fn answered_elsewhere(&mut self, now: Nanos) -> bool {
        self.answered(now, Witness::Canary).is_some()
    }

    /// No canary goes before then.
    pub(super) fn put_off(&mut self, until: Nanos) {
        if let Some(dark) = &mut self.dark {
            dark.until = dark.until.max(until);
        }
    }

    /// The canary was called off before any answer: another may go at once.
    pub(super) fn canary_lost(&mut self) {
        if let Some(dark) = &mut self.dark {
            dark.canary = Canary::Due;
        }
    }
}
