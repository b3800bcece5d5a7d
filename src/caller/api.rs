use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use super::clock::Clock;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;

/// Which APIs of one provider may be asked: what refusals of one dataset do to all its calls.
///
/// Looked at before every attempt, sleepers included. The circuit breaker of an API will stand here.
pub(super) struct Apis {
    states: Mutex<States>,
    changed: watch::Sender<()>,
    clock: Clock,
    listener: Arc<dyn Listener>,
}

#[derive(Default)]
struct States {
    by_dataset: HashMap<Name, State>,
    /// Set once the whole provider is left alone for the run.
    all: Option<LeftAlone>,
}

enum State {
    /// A key or permission was refused; one call finds out whether that was a mistake, the others wait.
    Doubted,
    LeftAlone(LeftAlone),
}

/// An API is to be left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftAlone {
    /// `None`: for the rest of the run.
    pub(super) until: Option<Timestamp>,
    pub(super) why: String,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    Anyone,
    /// The call that finds out whether a refusal was a mistake.
    Confirmer,
}

/// Whether an API may be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Granted,
    /// Not before its doubt is resolved.
    Doubted,
    LeftAlone(LeftAlone),
}

/// The doubt about an API; it ends when this is dropped, whatever became of the call.
pub(super) struct Doubt<'a> {
    apis: &'a Apis,
    dataset: Name,
}

impl Apis {
    pub(super) fn new(clock: Clock, listener: Arc<dyn Listener>) -> Self {
        Self { states: Mutex::default(), changed: watch::Sender::new(()), clock, listener }
    }

    pub(super) fn leave(&self, dataset: &Name, asker: Asker) -> Leave {
        let now = self.clock.wall();
        let states = self.states();
        let is_in_force = |left: &&LeftAlone| left.until.is_none_or(|until| until > now);
        if let Some(left) = &states.all {
            return Leave::LeftAlone(left.clone());
        }
        match states.by_dataset.get(dataset) {
            Some(State::LeftAlone(left)) if is_in_force(&left) => Leave::LeftAlone(left.clone()),
            Some(State::Doubted) if asker == Asker::Anyone => Leave::Doubted,
            Some(State::Doubted | State::LeftAlone(_)) | None => Leave::Granted,
        }
    }

    /// Waits until the doubt about an API is resolved.
    pub(super) async fn resolved(&self, dataset: &Name) {
        let mut changed = self.changed.subscribe();
        while self.leave(dataset, Asker::Anyone) == Leave::Doubted {
            changed.changed().await.expect("the sender lives as long as this");
        }
    }

    /// A refusal makes an API doubted; the first call to say so finds out. Others are told that it is being found out.
    pub(super) fn doubt(&self, dataset: &Name) -> Option<Doubt<'_>> {
        match self.leave(dataset, Asker::Anyone) {
            Leave::Granted => {
                self.states().by_dataset.insert(dataset.clone(), State::Doubted);
                Some(Doubt { apis: self, dataset: dataset.clone() })
            }
            Leave::Doubted | Leave::LeftAlone(_) => None,
        }
    }

    /// Nobody asks for this dataset before then, or in this run. Said once, where it was not known.
    pub(super) fn leave_alone(&self, dataset: &Name, until: Option<Timestamp>, why: &str) -> LeftAlone {
        let left = LeftAlone { until, why: why.to_owned() };
        let was_known = matches!(self.leave(dataset, Asker::Confirmer), Leave::LeftAlone(_));
        self.states().by_dataset.insert(dataset.clone(), State::LeftAlone(left.clone()));
        self.tell(was_known, dataset, &left);
        left
    }

    /// Nobody asks the provider at all in this run.
    pub(super) fn leave_all_alone(&self, dataset: &Name, why: &str) -> LeftAlone {
        let left = LeftAlone { until: None, why: why.to_owned() };
        let was_known = self.states().all.replace(left.clone()).is_some();
        self.tell(was_known, dataset, &left);
        left
    }

    fn tell(&self, was_known: bool, dataset: &Name, LeftAlone { until, why }: &LeftAlone) {
        self.changed.send_replace(());
        if !was_known {
            self.listener.hear(&Event::ApiBlocked { dataset: dataset.clone(), until: *until, why: why.clone() });
        }
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        let mut states = self.apis.states();
        if matches!(states.by_dataset.get(&self.dataset), Some(State::Doubted)) {
            states.by_dataset.remove(&self.dataset);
        }
        drop(states);
        self.apis.changed.send_replace(());
    }
}
