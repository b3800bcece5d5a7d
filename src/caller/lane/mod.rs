//! The part of a provider's time that is this host's, where several hosts share its rate.
//!
//! Batches of slots are reserved on a clock that all hosts see, each an exclusive stretch of its time. What is not known of
//! that clock is left out at both ends: no request leaves before its batch has begun for sure, and none later than an
//! interval before it may be over. What has not left by then is forfeited. The gap at the send stays with the pacer; here
//! is only said when the gate is open.

mod appetite;
mod offset;
mod stock;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::clock::{Clock, Nanos, nanos};
use super::slots::{Slots, Wish};
use crate::model::name::Name;
use stock::Stock;

/// When requests of one provider may leave this host.
#[derive(Debug)]
pub(super) struct Lane {
    provider: Name,
    slots: Arc<dyn Slots>,
    clock: Clock,
    /// One call at a time looks for its slot, in the order they came: only it wakes when a batch begins.
    turns: tokio::sync::Mutex<()>,
    waiting: AtomicU32,
    waiting_since: AtomicU64,
    kept: Arc<Kept>,
}

/// What the task that reserves leaves behind.
#[derive(Debug)]
struct Kept {
    stock: Mutex<Stock>,
    /// Time between two requests, as the slowest of all hosts has it.
    interval: AtomicU64,
    changed: watch::Sender<()>,
}

/// The first of the calls that wait for a slot.
pub(super) struct Turn<'l> {
    _mine: tokio::sync::MutexGuard<'l, ()>,
    _waiting: Waiting<'l>,
}

struct Waiting<'l>(&'l AtomicU32);

impl Lane {
    pub(super) fn new(provider: Name, slots: Arc<dyn Slots>, clock: Clock) -> Self {
        let kept = Kept { stock: Mutex::new(Stock::new()), interval: AtomicU64::new(0), changed: watch::Sender::new(()) };
        let turns = tokio::sync::Mutex::default();
        let (waiting, waiting_since) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { provider, slots, clock, turns, waiting, waiting_since, kept: Arc::new(kept) }
    }

    /// Waits until this call is the first of those that wait.
    pub(super) async fn turn(&self) -> Turn<'_> {
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            self.waiting_since.store(self.clock.now(), Ordering::Relaxed);
        }
        Turn { _mine: self.turns.lock().await, _waiting: waiting }
    }

    /// The earliest time from `at` on when a request may leave, as soon as it is known. Reserves what is needed for that.
    pub(super) async fn opens(&self, at: Nanos, interval: Duration) -> Nanos {
        let mut changed = self.kept.changed.subscribe();
        let pace = nanos(interval).max(self.interval());
        loop {
            let at = at.max(self.clock.now());
            let (opens, need) = {
                let mut stock = self.kept.stock();
                stock.forget(self.clock.now(), self.waiting_since.load(Ordering::Relaxed));
                let waiting = self.waiting.load(Ordering::Relaxed);
                (stock.opens_for(at), stock.need(at, waiting, pace))
            };
            if let Some(need) = need {
                let wish = Wish { provider: self.provider.clone(), count: need.count, interval, margin: need.margin };
                self.reserve(wish);
            }
            match opens {
                Some(opens) => return opens,
                None => changed.changed().await.expect("the sender lives as long as this"),
            }
        }
    }

    /// Whether a request may leave now.
    pub(super) fn is_open(&self, now: Nanos) -> bool {
        self.kept.stock().opens_for(now) == Some(now)
    }

    /// A request left.
    pub(super) fn left(&self, now: Nanos) {
        self.kept.stock().left(now);
    }

    /// Time between two requests, as the slowest of all hosts has it.
    pub(super) fn interval(&self) -> Nanos {
        self.kept.interval.load(Ordering::Relaxed)
    }

    /// Whether a canary of this host may go.
    pub(super) async fn grants_canary(&self) -> bool {
        self.slots.grants_canary(&self.provider).await
    }

    /// What the other hosts leave to this one: their slowest pace, and so many requests in flight.
    pub(super) fn keep_to(&self, slowest: Nanos, permits: u32) {
        self.kept.interval.store(slowest, Ordering::Relaxed);
        self.kept.stock().has_permits(permits);
    }

    /// In a task of its own: a call may be given up while it waits, what is being reserved may not.
    fn reserve(&self, wish: Wish) {
        let (slots, kept) = (Arc::clone(&self.slots), Arc::clone(&self.kept));
        tokio::spawn(async move {
            let batch = slots.reserve(wish).await;
            kept.interval.store(nanos(batch.interval), Ordering::Relaxed);
            kept.stock().add(batch);
            kept.changed.send_replace(());
        });
    }
}

impl Kept {
    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
