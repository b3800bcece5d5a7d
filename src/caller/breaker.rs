use std::time::Duration;

use super::clock::{Nanos, nanos};
use super::provider::ProviderLimits;
use super::window::{Counts, Window};
use crate::model::breaker::{BreakerState, Health};
use crate::model::name::Name;
use crate::settings::breaker::{BreakerCounts, BreakerSettings, Breakers};
use crate::settings::http::HttpSettings;
use crate::settings::retry::RetrySettings;

/// Whether the server of one API is well enough to be asked. One number line of time, no waiting: that is in `api.rs`.
///
/// Closed, it looks at what came of the calls. Too many failures open it: nobody asks. When its time is over it is half
/// open: a few calls find out, and close it or open it for longer.
#[derive(Debug)]
pub(super) struct Breaker {
    settings: BreakerSettings,
    /// Outcomes that are enough once a whole window was watched: it never holds more.
    lowest: u32,
    /// Nobody waits for what comes later: the run is over then.
    deadline: Option<Nanos>,
    state: State,
    /// Counts the changes of state: what was let through before the last one says nothing of now.
    epoch: u64,
    /// Openings in a row, none of which found the server back.
    openings: u32,
    /// When the trouble began.
    since: Nanos,
    /// What the calls of this host came to.
    health: Health,
}

#[derive(Debug)]
enum State {
    Closed(Closed),
    Open { until: Nanos, why: String },
    HalfOpen { out: u32, counts: Counts },
}

#[derive(Debug)]
struct Closed {
    window: Window,
    failures_in_a_row: u32,
    last_success: Option<Nanos>,
    watched_since: Option<Nanos>,
}

/// Which way a call takes that wants to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To be followed by [`Breaker::heard`] with this epoch.
    Through { epoch: u64 },
    /// Ask again then, or when something has changed.
    Parked { until: Option<Nanos> },
    /// Nobody waits so long.
    Deferred { until: Nanos, why: String },
}

/// What an outcome says of the health of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign<'w> {
    Well,
    /// `since`: when the call failed first. One that failed before while others were answered has a trouble of its own.
    Ill {
        since: Nanos,
        why: &'w str,
    },
    None,
}

/// A change of state that everybody should hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) state: BreakerState,
    /// When the first calls are let through again.
    pub(super) until: Option<Nanos>,
    pub(super) openings: u32,
    pub(super) why: String,
    /// Whether calls wait for it; else they are deferred.
    pub(super) is_waited_for: bool,
}

/// The breaker that a dataset begins with.
pub(super) type Maker = dyn Fn(&Name) -> Breaker + Send + Sync;

/// The part of its time that an opening may be longer at random.
const JITTER: f64 = 0.1;

impl Breaker {
    pub(super) fn new(settings: BreakerSettings, reach: u32, deadline: Option<Nanos>) -> Self {
        let lowest = settings.min_calls.min(reach).max(1);
        let state = State::Closed(Closed::new(&settings));
        Self { settings, lowest, deadline, state, epoch: 0, openings: 0, since: 0, health: Health::default() }
    }

    /// Which way a call takes, and what that changes.
    pub(super) fn ask(&mut self, now: Nanos) -> (Way, Option<Change>) {
        let change = match &self.state {
            State::Open { until, .. } if now >= *until => Some(self.try_out()),
            State::Open { .. } | State::Closed(_) | State::HalfOpen { .. } => None,
        };
        let way = self.way(now);
        if let Way::Through { .. } = way {
            match &mut self.state {
                State::Closed(closed) => drop(closed.watched_since.get_or_insert(now)),
                State::HalfOpen { out, .. } => *out += 1,
                State::Open { .. } => unreachable!("an open breaker lets nobody through"),
            }
        }
        (way, change)
    }

    /// Which way a call would take.
    pub(super) fn way(&self, now: Nanos) -> Way {
        match &self.state {
            State::Open { until, .. } if now >= *until => Way::Through { epoch: self.epoch },
            State::Open { until, why } if !self.is_waited_for(*until) => Way::Deferred { until: *until, why: why.clone() },
            State::Open { until, .. } => Way::Parked { until: Some(*until) },
            State::HalfOpen { out, counts } if out + counts.all >= self.settings.half_open_calls => Way::Parked { until: None },
            State::HalfOpen { .. } | State::Closed(_) => Way::Through { epoch: self.epoch },
        }
    }

    /// Whether what was let through in this epoch may still be sent.
    pub(super) fn is_current(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }

    /// Whether a request that will be tried again counts already.
    pub(super) fn counts_attempts(&self) -> bool {
        self.settings.counts == BreakerCounts::Attempts
    }

    /// What became of a call that was let through: once for each. `random` is in 0 to 1.
    pub(super) fn heard(&mut self, now: Nanos, epoch: u64, sign: Sign<'_>, random: f64) -> Option<Change> {
        if epoch != self.epoch || self.settings.counts == BreakerCounts::None {
            return None;
        }
        match &mut self.state {
            State::Closed(closed) => {
                closed.count(sign, &mut self.health);
                let why = closed.heard(now, sign, &self.settings, self.lowest)?;
                self.since = now;
                Some(self.open(now, why, random))
            }
            State::HalfOpen { out, counts } => {
                *out -= 1;
                match sign {
                    Sign::None => return None,
                    Sign::Well => counts.all += 1,
                    Sign::Ill { .. } => (counts.all, counts.failed) = (counts.all + 1, counts.failed + 1),
                }
                let tried = Counts { all: self.settings.half_open_calls, failed: counts.failed };
                let Counts { all, failed } = *counts;
                match sign {
                    Sign::Ill { why, .. } if tried.reach(self.settings.failure_rate) => {
                        let why = format!("{failed} of {all} calls that tried it failed; the last: {why}");
                        Some(self.open(now, why, random))
                    }
                    _ if all >= self.settings.half_open_calls => {
                        Some(self.close(format!("{} of {all} calls that tried it were answered", all - failed)))
                    }
                    _ => None,
                }
            }
            State::Open { .. } => None,
        }
    }

    /// What the calls of this host came to, for others to count it in.
    pub(super) fn health(&self) -> Health {
        self.health
    }

    /// The calls of another host came from `before` to `now_there`. They count like those of this one, where the next
    /// failure opens it: only whoever sees one itself does, so that not all hosts do so at once.
    pub(super) fn heard_elsewhere(&mut self, now: Nanos, before: Health, now_there: Health) {
        if let State::Closed(closed) = &mut self.state {
            closed.heard_elsewhere(now, before, now_there);
        }
    }

    /// An earlier run or another host left it open until then, after so many openings.
    pub(super) fn reopen(&mut self, now: Nanos, until: Nanos, openings: u32, why: &str) {
        self.epoch += 1;
        let until = match self.state {
            State::Open { until: known, .. } => known.max(until),
            State::Closed(_) | State::HalfOpen { .. } => {
                self.since = now;
                until
            }
        };
        self.openings = self.openings.max(openings).max(1);
        self.state = State::Open { until, why: why.to_owned() };
    }

    /// Others find out until then whether the server is back.
    pub(super) fn keep_open(&mut self, at_least: Nanos) {
        if let State::Open { until, .. } = &mut self.state {
            *until = at_least.max(*until);
        }
    }

    /// Others have found out that the server is back.
    pub(super) fn close_as_elsewhere(&mut self) {
        match self.state {
            State::Closed(_) => {}
            State::Open { .. } | State::HalfOpen { .. } => drop(self.close(String::new())),
        }
    }

    fn open(&mut self, now: Nanos, why: String, random: f64) -> Change {
        let Self { settings, .. } = self;
        let doubled = settings.open_for.saturating_mul(1_u32.checked_shl(self.openings).unwrap_or(u32::MAX));
        let jitter = 1.0 + JITTER * random.clamp(0.0, 1.0);
        let length = Duration::try_from_secs_f64(doubled.as_secs_f64() * jitter).unwrap_or(settings.max_open_for);
        let until = now.saturating_add(nanos(length.min(settings.max_open_for)));
        self.openings += 1;
        self.epoch += 1;
        self.state = State::Open { until, why: why.clone() };
        Change { until: Some(until), is_waited_for: self.is_waited_for(until), ..self.change(BreakerState::Open, why) }
    }

    fn try_out(&mut self) -> Change {
        self.epoch += 1;
        self.state = State::HalfOpen { out: 0, counts: Counts::default() };
        let most = self.settings.half_open_calls;
        self.change(BreakerState::HalfOpen, format!("up to {most} calls find out whether the server is back"))
    }

    fn close(&mut self, why: String) -> Change {
        self.epoch += 1;
        self.openings = 0;
        self.state = State::Closed(Closed::new(&self.settings));
        self.change(BreakerState::Closed, why)
    }

    fn change(&self, state: BreakerState, why: String) -> Change {
        Change { state, until: None, openings: self.openings, why, is_waited_for: true }
    }

    fn is_waited_for(&self, until: Nanos) -> bool {
        let is_in_time = self.deadline.is_none_or(|deadline| until < deadline);
        is_in_time && until.saturating_sub(self.since) <= nanos(self.settings.patience)
    }
}

/// Makes the breaker of each dataset that a provider is asked for.
pub(super) fn maker(
    breakers: &Breakers,
    limits: &ProviderLimits,
    http: &HttpSettings,
    retry: &RetrySettings,
    deadline: Option<Nanos>,
) -> Box<Maker> {
    let (breakers, limits, http, retry) = (breakers.clone(), limits.clone(), http.clone(), retry.clone());
    Box::new(move |dataset| {
        let settings = breakers.of(&limits.provider, dataset);
        let reach = settings.reach(limits.concurrency, limits.rate, &http, &retry);
        Breaker::new(settings, reach.calls, deadline)
    })
}

impl Closed {
    fn new(settings: &BreakerSettings) -> Self {
        Self { window: Window::new(settings.window), failures_in_a_row: 0, last_success: None, watched_since: None }
    }

    fn is_in_a_row(&self, since: Nanos) -> bool {
        self.last_success.is_none_or(|success| since >= success)
    }

    fn count(&self, sign: Sign<'_>, health: &mut Health) {
        match sign {
            Sign::None => {}
            Sign::Well => (health.answered, health.failed_in_a_row) = (health.answered + 1, 0),
            Sign::Ill { since, .. } => {
                health.failed += 1;
                health.failed_in_a_row += u64::from(self.is_in_a_row(since));
            }
        }
    }

    fn heard_elsewhere(&mut self, now: Nanos, before: Health, now_there: Health) {
        let more = |before: u64, now_there: u64| u32::from(u16::try_from(now_there.saturating_sub(before)).unwrap_or(u16::MAX));
        let (answered, failed) = (more(before.answered, now_there.answered), more(before.failed, now_there.failed));
        if answered > 0 {
            self.failures_in_a_row = more(0, now_there.failed_in_a_row);
        } else {
            self.failures_in_a_row += more(before.failed_in_a_row, now_there.failed_in_a_row);
        }
        if answered + failed > 0 {
            self.window.add(now, Counts { all: answered + failed, failed });
        }
    }

    /// Why it opens, if it does.
    fn heard(&mut self, now: Nanos, sign: Sign<'_>, settings: &BreakerSettings, lowest: u32) -> Option<String> {
        let failure = match sign {
            Sign::None => return None,
            Sign::Well => {
                (self.failures_in_a_row, self.last_success) = (0, Some(now));
                None
            }
            Sign::Ill { since, why } => {
                if self.is_in_a_row(since) {
                    self.failures_in_a_row += 1;
                }
                Some(why)
            }
        };
        let counts = self.window.add(now, Counts::one(failure.is_some()));
        let last = failure.map(|why| format!("; the last: {why}")).unwrap_or_default();
        if self.failures_in_a_row >= settings.failures_in_a_row {
            return Some(format!("{} failures in a row{last}", self.failures_in_a_row));
        }
        let is_watched = self.watched_since.is_some_and(|since| now.saturating_sub(since) >= nanos(settings.window));
        let enough = if is_watched { lowest } else { settings.min_calls };
        (counts.all >= enough && counts.reach(settings.failure_rate)).then(|| {
            let Counts { all, failed } = counts;
            let share = f64::from(failed) * 100.0 / f64::from(all);
            format!("{failed} of {all} calls failed within {:?} ({share:.0} %){last}", settings.window)
        })
    }
}
