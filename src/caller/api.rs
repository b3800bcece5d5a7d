use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use super::clock::Clock;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;

/// Which APIs of one provider may be asked: what refusals of one dataset do to all its calls.
///
/// It is asked before every attempt, and it wakes whoever waits for one. A circuit breaker is not built yet; its place
/// is a [`State`] more in here, fed by the attempts that `fetch.rs` sorts by their reach.
pub(super) struct Apis {
    states: Mutex<States>,
    changed: watch::Sender<()>,
    clock: Clock,
    listener: Arc<dyn Listener>,
}

#[derive(Default)]
struct States {
    by_dataset: HashMap<Name, State>,
    /// Calls that were refused as invalid since the last answer.
    invalid_in_a_row: HashMap<Name, u32>,
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
        self.states().leave(dataset, asker, self.clock.wall())
    }

    /// Waits until the doubt about an API is resolved.
    pub(super) async fn resolved(&self, dataset: &Name) {
        let mut changed = self.changed.subscribe();
        while self.leave(dataset, Asker::Anyone) == Leave::Doubted {
            changed.changed().await.expect("the sender lives as long as this");
        }
    }

    /// Waits until an API is left alone: for whoever waits for something else meanwhile.
    pub(super) async fn left_alone(&self, dataset: &Name) -> LeftAlone {
        let mut changed = self.changed.subscribe();
        loop {
            if let Leave::LeftAlone(left) = self.leave(dataset, Asker::Confirmer) {
                return left;
            }
            changed.changed().await.expect("the sender lives as long as this");
        }
    }

    /// A refusal makes an API doubted; the first call to say so finds out. Others are told that it is being found out.
    pub(super) fn doubt(&self, dataset: &Name) -> Option<Doubt<'_>> {
        let mut states = self.states();
        match states.leave(dataset, Asker::Anyone, self.clock.wall()) {
            Leave::Granted => {
                states.by_dataset.insert(dataset.clone(), State::Doubted);
                Some(Doubt { apis: self, dataset: dataset.clone() })
            }
            Leave::Doubted | Leave::LeftAlone(_) => None,
        }
    }

    /// Nobody asks for this dataset before then, or in this run; a time further off that is known already stands.
    /// Returns what is in force. Calls in flight together say the same: it is told once.
    pub(super) fn leave_alone(&self, dataset: &Name, until: Option<Timestamp>, why: &str) -> LeftAlone {
        let left = LeftAlone { until, why: why.to_owned() };
        let mut states = self.states();
        let known = match states.leave(dataset, Asker::Confirmer, self.clock.wall()) {
            Leave::LeftAlone(known) if !left.outlasts(&known) => return known,
            Leave::LeftAlone(known) => Some(known),
            Leave::Granted | Leave::Doubted => None,
        };
        states.by_dataset.insert(dataset.clone(), State::LeftAlone(left.clone()));
        drop(states);
        self.changed.send_replace(());
        if known.is_none_or(|known| known.why != left.why) {
            self.tell(dataset, &left);
        }
        left
    }

    /// A call of this dataset was refused as invalid: with so many in a row nobody asks for it in this run any more.
    pub(super) fn invalid(&self, dataset: &Name, most: u32, why: &str) {
        let in_a_row = {
            let mut states = self.states();
            let in_a_row = states.invalid_in_a_row.entry(dataset.clone()).or_default();
            *in_a_row += 1;
            *in_a_row
        };
        if in_a_row == most {
            self.leave_alone(dataset, None, &format!("{in_a_row} calls in a row were refused as invalid: {why}"));
        }
    }

    /// A call of this dataset was answered.
    pub(super) fn answered(&self, dataset: &Name) {
        if let Some(in_a_row) = self.states().invalid_in_a_row.get_mut(dataset) {
            *in_a_row = 0;
        }
    }

    /// Nobody asks the provider at all in this run.
    pub(super) fn leave_all_alone(&self, dataset: &Name, why: &str) -> LeftAlone {
        let left = LeftAlone { until: None, why: why.to_owned() };
        let mut states = self.states();
        if let Some(known) = &states.all {
            return known.clone();
        }
        states.all = Some(left.clone());
        drop(states);
        self.changed.send_replace(());
        self.tell(dataset, &left);
        left
    }

    fn tell(&self, dataset: &Name, LeftAlone { until, why }: &LeftAlone) {
        self.listener.hear(&Event::ApiBlocked { dataset: dataset.clone(), until: *until, why: why.clone() });
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl States {
    fn leave(&self, dataset: &Name, asker: Asker, now: Timestamp) -> Leave {
        if let Some(left) = &self.all {
            return Leave::LeftAlone(left.clone());
        }
        let is_in_force = |left: &LeftAlone| left.until.is_none_or(|until| until > now);
        match self.by_dataset.get(dataset) {
            Some(State::LeftAlone(left)) if is_in_force(left) => Leave::LeftAlone(left.clone()),
            Some(State::Doubted) if asker == Asker::Anyone => Leave::Doubted,
            Some(State::Doubted | State::LeftAlone(_)) | None => Leave::Granted,
        }
    }
}

impl LeftAlone {
    fn outlasts(&self, other: &Self) -> bool {
        match (self.until, other.until) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(until), Some(other)) => until > other,
        }
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
