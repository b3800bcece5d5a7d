use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;

use crate::model::attempt::Attempt;
use crate::model::event::{Event, Listener, NextStep, Pace};
use crate::model::name::Name;
use crate::model::outcome::Outcome;

use super::latency::Latencies;

/// Counts the attempts and waits of a run.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<Counts>,
}

/// What a tally has counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub attempts: u64,
    /// Calls that ended in a page or a proof of empty.
    pub pages: u64,
    /// Attempts after the first of a call.
    pub retries: u64,
    pub by_outcome: BTreeMap<Outcome, u64>,
    pub latencies: Latencies,
    pub first_sent: Option<Timestamp>,
    pub last_sent: Option<Timestamp>,
    /// Pauses that providers asked for.
    pub pauses: u64,
    /// How fast providers were asked in the end, where that is not what the settings say.
    pub paces: BTreeMap<Name, Pace>,
}

impl Tally {
    pub fn counts(&self) -> Counts {
        self.counts.lock().expect("no listener panics while it counts").clone()
    }
}

impl Counts {
    /// Calls a second between the first and the last send; 0 before the second.
    pub fn achieved_rps(&self) -> f64 {
        let Some((first, last)) = self.first_sent.zip(self.last_sent) else { return 0.0 };
        let seconds = last.duration_since(first).as_secs_f64();
        if seconds > 0.0 { (self.attempts.saturating_sub(1)) as f64 / seconds } else { 0.0 }
    }

    /// Attempts in flight on average between the first and the last send.
    pub fn mean_in_flight(&self) -> f64 {
        let Some((first, last)) = self.first_sent.zip(self.last_sent) else { return 0.0 };
        let span = Duration::try_from(last.duration_since(first)).unwrap_or_default();
        if span.is_zero() { 0.0 } else { self.latencies.sum().as_secs_f64() / span.as_secs_f64() }
    }

    fn add(&mut self, attempt: &Attempt, next: NextStep) {
        self.attempts += 1;
        *self.by_outcome.entry(attempt.outcome).or_insert(0) += 1;
        self.latencies.add(attempt.took);
        self.first_sent = Some(self.first_sent.map_or(attempt.sent_at, |first| first.min(attempt.sent_at)));
        self.last_sent = Some(self.last_sent.map_or(attempt.sent_at, |last| last.max(attempt.sent_at)));
        match next {
            NextStep::Done => {}
            NextStep::RetryIn(_) | NextStep::WaitForProvider => self.retries += 1,
        }
        match attempt.outcome {
            Outcome::Page | Outcome::Empty => self.pages += 1,
            Outcome::Retry
            | Outcome::SlowDown
            | Outcome::Spent
            | Outcome::Refused
            | Outcome::Invalid
            | Outcome::TooBig
            | Outcome::Restart
            | Outcome::Later
            | Outcome::Garbled => {}
        }
    }
}

impl Listener for Tally {
    fn hear(&self, event: &Event) {
        let mut counts = self.counts.lock().expect("no listener panics while it counts");
        match event {
            Event::AttemptEnded { attempt, next } => counts.add(attempt, *next),
            Event::ProviderPaused { .. } => counts.pauses += 1,
            Event::PaceChanged { provider, pace } => drop(counts.paces.insert(provider.clone(), *pace)),
            Event::JobStarted { .. }
            | Event::AttemptStarted { .. }
            | Event::PageStored { .. }
            | Event::ReadRestarted { .. }
            | Event::JobEnded { .. }
            | Event::ProviderResumed { .. }
            | Event::RateAnnounced { .. }
            | Event::ApiBlocked { .. }
            | Event::BreakerChanged { .. }
            | Event::Warned { .. } => {}
        }
    }
}
