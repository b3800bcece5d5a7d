//! Limits that runs on several hosts keep together, on an engine that is shared.

use std::time::Duration;

use super::Store;
use super::engine::Engine;
use super::error::StoreError;
use super::postgres::PostgresStore;
use crate::model::breaker::Health;
use crate::model::job::RunId;
use crate::model::name::Name;

/// A run's part in the limits of one provider and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub provider: Name,
    /// A salted digest of the key.
    pub key_id: String,
    pub run: RunId,
}

/// What a run would have of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Time between two requests; zero is no limit.
    pub interval: Duration,
    /// Requests in flight, over all runs.
    pub concurrency: u32,
}

/// Another run that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    pub run: RunId,
    pub terms: Terms,
    /// Requests that it may have in flight.
    pub held: u32,
}

/// How things stand between the runs of a provider and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub others: Vec<Other>,
    /// Requests that this run may have in flight.
    pub held: u32,
    /// Where one of them was refused for speed, and no canary was answered since.
    pub dark: Option<Dark>,
}

/// Nobody but a canary asks the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dark {
    /// Until the next canary.
    pub left: Duration,
    pub why: String,
}

/// What the calls of a dataset came to at one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthOfRun {
    pub run: RunId,
    pub dataset: Name,
    pub health: Health,
}

/// Leave for a canary, as the database wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Canary(pub u64);

/// Slots that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotOrder {
    pub count: u32,
    /// Time between two requests, as this run has it at this moment.
    pub interval: Duration,
    /// Time beyond that of the slots.
    pub margin: Duration,
    /// The canary they are for, if they are for one.
    pub canary: Option<Canary>,
}

/// Time that was given to one run alone, in nanoseconds of the clock of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGrant {
    pub start: u64,
    pub end: u64,
    /// Time between two requests, as the slowest of all runs has it.
    pub interval: Duration,
    pub reading: ClockReading,
}

/// What the clock of the database said, in nanoseconds, and when by the caller's clock it was asked and heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub asked: u64,
    pub told: u64,
    pub heard: u64,
}

/// A run was told to ask no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub id: i64,
    pub run: RunId,
    /// `None` is the whole provider.
    pub dataset: Option<Name>,
    pub why: String,
}

/// The limits of a store that several runs share. Every call is one statement that may be repeated, tried again as long as
/// all others of the store.
#[derive(Clone, Copy, Debug)]
pub struct SharedLimits<'s> {
    store: &'s PostgresStore,
}

/// A clock that only moves forward, in nanoseconds.
pub type Clock = std::sync::Arc<dyn Fn() -> u64 + Send + Sync>;

impl Store {
    /// What runs share of limits; `None` where one run at a time collects.
    pub fn limits(&self) -> Option<SharedLimits<'_>> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(store) => Some(SharedLimits { store }),
        }
    }
}

impl SharedLimits<'_> {
    /// Takes part in the limits; nothing is held yet.
    pub async fn join(&self, share: &Share, terms: Terms) -> Result<(), StoreError> {
        self.store.join_limits(share, terms).await
    }

    /// The runs that are alive and ask the provider with this key.
    pub async fn runs_at_work(&self, provider: &Name, key_id: &str) -> Result<Vec<RunId>, StoreError> {
        // Seen from a run that there is not, all are others.
        let share = Share { provider: provider.clone(), key_id: key_id.to_owned(), run: RunId(0) };
        Ok(self.standing(&share).await?.others.iter().map(|other| other.run).collect())
    }

    pub async fn standing(&self, share: &Share) -> Result<Standing, StoreError> {
        self.store.standing(share).await
    }

    /// Tells what the calls of this run came to, by dataset; returns what those of the others that are alive did.
    pub async fn compare_health(&self, share: &Share, own: &[(Name, Health)]) -> Result<Vec<HealthOfRun>, StoreError> {
        self.store.compare_health(share, own).await
    }

    /// Takes so many requests in flight, if that leaves the runs that are alive no more than `most` together; fewer than
    /// before may always be taken. Whether it did.
    pub async fn hold(&self, share: &Share, count: u32, most: u32) -> Result<bool, StoreError> {
        self.store.hold_permits(share, count, most).await
    }

    /// Reserves slots: the time that follows all that was given before. `None` while the provider is dark, but for the
    /// canary.
    pub async fn reserve(&self, share: &Share, order: SlotOrder, clock: &Clock) -> Result<Option<SlotGrant>, StoreError> {
        self.store.reserve_slots(share, order, clock).await
    }

    /// The provider refused for speed: it is dark for at least so long from now, and until a canary is answered.
    pub async fn darken(&self, share: &Share, pause: Duration, why: &str) -> Result<(), StoreError> {
        self.store.darken(share, pause, why).await
    }

    /// A canary was answered.
    pub async fn lighten(&self, share: &Share) -> Result<(), StoreError> {
        self.store.lighten(share).await
    }

    /// Leave for a canary, when the pause is over and no other is out. `mine` is the last one of this run: it may go again.
    pub async fn take_canary(&self, share: &Share, mine: Option<Canary>) -> Result<Option<Canary>, StoreError> {
        self.store.take_canary(share, mine).await
    }

    /// This run was told to ask no more for a dataset, or with `None` for none of the provider.
    pub async fn stop_all(&self, share: &Share, dataset: Option<&Name>, why: &str) -> Result<(), StoreError> {
        self.store.stop_all(share, dataset, why).await
    }

    /// What runs with this key were told after a line of that number.
    pub async fn stops_after(&self, share: &Share, id: i64) -> Result<Vec<Stop>, StoreError> {
        self.store.stops_after(share, id).await
    }
}
