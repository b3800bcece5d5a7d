use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::attempt::{Attempt, CallLabel};
use super::breaker::BreakerState;
use super::job::{JobId, ReadNumber};
use super::name::Name;
use super::outcome::Scope;
use super::partition::Partition;
use super::verdict::Verdict;

/// Something that happened in a run. Progress, logs and the ledger all read this one stream.
#[derive(Clone, Debug)]
pub enum Event {
    JobStarted {
        job: JobId,
        dataset: Name,
        partition: Partition,
    },
    /// A request is about to leave.
    AttemptStarted {
        label: CallLabel,
        number: u32,
        in_flight: u32,
        permits: u32,
    },
    AttemptEnded {
        attempt: Arc<Attempt>,
        next: NextStep,
    },
    PageStored {
        job: JobId,
        rows: u64,
    },
    /// The job reads its partition again from page 1.
    ReadRestarted {
        job: JobId,
        read: ReadNumber,
        why: String,
    },
    JobEnded {
        job: JobId,
        dataset: Name,
        partition: Partition,
        verdict: Verdict,
        rows: u64,
        why: Option<String>,
    },
    /// The provider refused for speed: nobody asks it until then; single canaries follow.
    ProviderPaused {
        provider: Name,
        pause: Duration,
        why: String,
    },
    ProviderResumed {
        provider: Name,
        dark: Duration,
    },
    /// The provider announces that it lets so many calls a second in, at a measurement that does not obey by itself.
    RateAnnounced {
        provider: Name,
        rps: f64,
    },
    /// The provider is asked at another pace from now on.
    PaceChanged {
        provider: Name,
        pace: Pace,
    },
    /// One dataset with this key is left alone until then, or with [`Scope::Run`] all of its provider.
    ApiBlocked {
        dataset: Name,
        scope: Scope,
        until: Option<Timestamp>,
        why: String,
    },
    /// The breaker of a dataset opened, or it is being found out whether its server is back, or it is.
    BreakerChanged {
        dataset: Name,
        state: BreakerState,
        /// Of one that opened: when the first calls are let through again.
        until: Option<Timestamp>,
        /// How often in a row it opened.
        openings: u32,
        why: String,
        /// Of one that opened: whether calls wait for it; else they are deferred.
        is_waited_for: bool,
    },
    /// Something a person should know that stops nothing.
    Warned {
        what: String,
    },
}

/// How fast a provider is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Calls a second.
    pub rps: f64,
    /// Calls a second that are never exceeded.
    pub ceiling_rps: f64,
    /// Calls a second that were refused, as far as that is remembered.
    pub refused_rps: Option<f64>,
    /// Calls in flight, where they are looked for as well.
    pub in_flight: Option<u32>,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The call is over.
    Done,
    /// The same request again after this wait.
    RetryIn(Duration),
    /// The same request again when the provider answers canaries.
    WaitForProvider,
}

/// Hears every event of a run, in the order it happened for each call. Must not block.
pub trait Listener: Send + Sync {
    fn hear(&self, event: &Event);
}

/// Tells each of several listeners, in order.
#[derive(Clone, Default)]
pub struct Listeners(pub Vec<Arc<dyn Listener>>);

impl Listener for Listeners {
    fn hear(&self, event: &Event) {
        for listener in &self.0 {
            listener.hear(event);
        }
    }
}
