use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::breaker::{Breaker, Change, Maker, Sign, Way};
use super::clock::{Clock, Nanos, later};
use super::fetch::Random;
use super::ticket::Ticket;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;
use crate::model::outcome::Scope;

/// Which APIs of one provider may be asked: what refusals and failures of one dataset do to all its calls.
///
/// It is asked before every attempt, and it wakes whoever waits for one.
pub(super) struct Apis {
    states: Mutex<States>,
    changed: watch::Sender<()>,
    clock: Clock,
    random: Random,
    listener: Arc<dyn Listener>,
    new_breaker: Box<Maker>,
}

#[derive(Default)]
struct States {
    by_dataset: HashMap<Name, State>,
    /// Datasets that were answered.
    answered: HashSet<Name>,
    /// Calls that were refused as invalid since the last answer.
    invalid_in_a_row: HashMap<Name, u32>,
    breakers: HashMap<Name, Breaker>,
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
    /// Its breaker is open: not before then, or not before something changes.
    Parked {
        until: Option<Nanos>,
    },
    LeftAlone(LeftAlone),
}

/// The doubt about an API; it ends when this is dropped, whatever became of the call.
pub(super) struct Doubt<'a> {
    apis: &'a Apis,
    dataset: Name,
}

impl Apis {
    pub(super) fn new(clock: Clock, random: Random, listener: Arc<dyn Listener>, new_breaker: Box<Maker>) -> Self {
        Self { states: Mutex::default(), changed: watch::Sender::new(()), clock, random, listener, new_breaker }
    }

    pub(super) fn leave(&self, dataset: &Name, asker: Asker) -> Leave {
        self.states().leave(dataset, asker, &self.clock)
    }

    /// Leave for one attempt, or why there is none now.
    pub(super) fn enter(&self, dataset: &Name, asker: Asker) -> Result<Ticket<'_>, Leave> {
        let mut states = self.states();
        match states.leave(dataset, asker, &self.clock) {
            Leave::Granted => {}
            refused @ (Leave::Doubted | Leave::Parked { .. } | Leave::LeftAlone(_)) => return Err(refused),
        }
        let breaker = states.breakers.entry(dataset.clone()).or_insert_with(|| (self.new_breaker)(dataset));
        let (way, change) = breaker.ask(self.clock.now());
        let counts_attempts = breaker.counts_attempts();
        drop(states);
        self.tell_change(dataset, change);
        match way {
            Way::Through { epoch } => Ok(Ticket::new(self, dataset.clone(), epoch, counts_attempts)),
            Way::Parked { until } => Err(Leave::Parked { until }),
            Way::Deferred { until, why } => Err(Leave::LeftAlone(LeftAlone::by_breaker(&self.clock, until, &why))),
        }
    }

    /// Whether what has this ticket may still be sent.
    pub(super) fn admits(&self, asker: Asker, ticket: &Ticket<'_>) -> bool {
        let states = self.states();
        let is_current = states.breakers.get(ticket.dataset()).is_some_and(|breaker| breaker.is_current(ticket.epoch()));
        is_current && states.told(ticket.dataset(), asker, self.clock.wall()) == Leave::Granted
    }

    /// Waits until one of these datasets is not kept back by its breaker.
    pub(super) async fn unparked(&self, datasets: &[&Name]) {
        let mut changed = self.changed.subscribe();
        loop {
            let mut first: Option<Nanos> = None;
            for dataset in datasets {
                match self.leave(dataset, Asker::Anyone) {
                    Leave::Parked { until } => first = [first, until].into_iter().flatten().min(),
                    Leave::Granted | Leave::Doubted | Leave::LeftAlone(_) => return,
                }
            }
            let due = async {
                match first {
                    Some(until) => self.clock.sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                seen = changed.changed() => seen.expect("the sender lives as long as this"),
                () = due => {}
            }
        }
    }

    /// Does something with the breaker of a dataset that no call here is the reason for; whoever waits there looks again.
    pub(super) fn change_breaker<T>(&self, dataset: &Name, change: impl FnOnce(&mut Breaker, &Clock) -> T) -> T {
        let mut states = self.states();
        let told = change(states.breakers.entry(dataset.clone()).or_insert_with(|| (self.new_breaker)(dataset)), &self.clock);
        drop(states);
        self.changed.send_replace(());
        told
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
        match states.told(dataset, Asker::Anyone, self.clock.wall()) {
            Leave::Granted | Leave::Parked { .. } => {
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
        let known = match states.told(dataset, Asker::Confirmer, self.clock.wall()) {
            Leave::LeftAlone(known) if !left.outlasts(&known) => return known,
            Leave::LeftAlone(known) => Some(known),
            Leave::Granted | Leave::Doubted | Leave::Parked { .. } => None,
        };
        states.by_dataset.insert(dataset.clone(), State::LeftAlone(left.clone()));
        drop(states);
        self.changed.send_replace(());
        if known.is_none_or(|known| known.why != left.why) {
            self.tell(dataset, &left, Scope::Api);
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
        let mut states = self.states();
        if !states.answered.contains(dataset) {
            states.answered.insert(dataset.clone());
        }
        if let Some(in_a_row) = states.invalid_in_a_row.get_mut(dataset) {
            *in_a_row = 0;
        }
    }

    /// Whether a call of this dataset was answered in this run.
    pub(super) fn has_answered(&self, dataset: &Name) -> bool {
        self.states().answered.contains(dataset)
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
        self.tell(dataset, &left, Scope::Run);
        left
    }

    fn tell(&self, dataset: &Name, LeftAlone { until, why }: &LeftAlone, scope: Scope) {
        self.listener.hear(&Event::ApiBlocked { dataset: dataset.clone(), scope, until: *until, why: why.clone() });
    }

    /// What became of a call that a breaker let through.
    pub(super) fn heard(&self, dataset: &Name, epoch: u64, sign: Sign<'_>) {
        let now = self.clock.now();
        let mut states = self.states();
        let Some(breaker) = states.breakers.get_mut(dataset) else { return };
        let was_kept_back = matches!(breaker.way(now), Way::Parked { .. });
        let change = breaker.heard(now, epoch, sign, (self.random)());
        let is_freed = was_kept_back && matches!(breaker.way(now), Way::Through { .. });
        drop(states);
        if is_freed && change.is_none() {
            self.changed.send_replace(());
        }
        self.tell_change(dataset, change);
    }

    fn tell_change(&self, dataset: &Name, change: Option<Change>) {
        let Some(Change { state, until, openings, why, is_waited_for }) = change else { return };
        let until = until.map(|until| wall_at(&self.clock, until));
        self.changed.send_replace(());
        self.listener.hear(&Event::BreakerChanged { dataset: dataset.clone(), state, until, openings, why, is_waited_for });
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl States {
    fn leave(&self, dataset: &Name, asker: Asker, clock: &Clock) -> Leave {
        match self.told(dataset, asker, clock.wall()) {
            Leave::Granted => {}
            told @ (Leave::Doubted | Leave::Parked { .. } | Leave::LeftAlone(_)) => return told,
        }
        match self.breakers.get(dataset).map(|breaker| breaker.way(clock.now())) {
            Some(Way::Through { .. }) | None => Leave::Granted,
            Some(Way::Parked { until }) => Leave::Parked { until },
            Some(Way::Deferred { until, why }) => Leave::LeftAlone(LeftAlone::by_breaker(clock, until, &why)),
        }
    }

    /// As far as the provider said so itself.
    fn told(&self, dataset: &Name, asker: Asker, now: Timestamp) -> Leave {
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
    fn by_breaker(clock: &Clock, until: Nanos, why: &str) -> Self {
        Self { until: Some(wall_at(clock, until)), why: format!("its breaker is open: {why}") }
    }

    fn outlasts(&self, other: &Self) -> bool {
        match (self.until, other.until) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(until), Some(other)) => until > other,
        }
    }
}

/// The time of day that it will be then.
fn wall_at(clock: &Clock, at: Nanos) -> Timestamp {
    later(clock.wall(), Duration::from_nanos(at.saturating_sub(clock.now())))
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
