use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::clock::{Clock, Nanos, later, nanos};
use super::pacer::Pacer;
use super::place::Seat;
use super::traffic::{LeftAlone, Pass, Traffic};
use super::wire::Wire;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;

/// How much of one provider may be asked at once and a second, over all workers.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderLimits {
    pub provider: Name,
    /// Requests in flight, at least 1.
    pub concurrency: u32,
    /// Requests a second, at most [`ProviderLimits::MAX_RPS`]; 0 is no limit.
    pub rps: f64,
}

/// Limits that cannot be kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitsError {
    #[error("`{provider}` must be allowed at least one request in flight")]
    NoPermit { provider: Name },
    #[error("`{provider}` cannot be asked {rps} times a second: 0 (no limit) to {max}", max = ProviderLimits::MAX_RPS)]
    Rate { provider: Name, rps: f64 },
}

/// One provider as the caller sees it: its gates, in the order a request passes them.
pub(super) struct Provider {
    pub(super) limits: ProviderLimits,
    pub(super) traffic: Traffic,
    permits: Semaphore,
    pacer: Arc<Pacer>,
    pub(super) wire: Box<dyn Wire>,
    in_flight: AtomicU32,
    left_alone: Mutex<HashMap<Name, (Nanos, String)>>,
    clock: Clock,
    listener: Arc<dyn Listener>,
}

/// Leave for one request. It holds a permit until it is dropped.
pub(super) struct Admission<'p> {
    pub(super) pass: Pass<'p>,
    pub(super) permit: SemaphorePermit<'p>,
    pub(super) flight: Flight<'p>,
    /// When the request leaves: now.
    pub(super) at: Nanos,
    pub(super) waited: Duration,
}

/// A request on the wire.
pub(super) struct Flight<'p> {
    in_flight: &'p AtomicU32,
    /// Requests of the provider on the wire, this one among them.
    pub(super) count: u32,
}

impl ProviderLimits {
    pub const MAX_RPS: f64 = 1_000_000.0;

    /// Time between two requests; zero is no limit.
    pub(super) fn interval(&self) -> Result<Duration, LimitsError> {
        if self.concurrency == 0 {
            return Err(LimitsError::NoPermit { provider: self.provider.clone() });
        }
        if self.rps == 0.0 {
            return Ok(Duration::ZERO);
        }
        let is_in_range = 0.0 < self.rps && self.rps <= Self::MAX_RPS;
        let interval = is_in_range.then(|| Duration::try_from_secs_f64(1.0 / self.rps).ok()).flatten();
        interval.ok_or_else(|| LimitsError::Rate { provider: self.provider.clone(), rps: self.rps })
    }
}

impl Provider {
    pub(super) fn new(
        limits: ProviderLimits,
        patience: Duration,
        pacer: Arc<Pacer>,
        wire: Box<dyn Wire>,
        clock: Clock,
        listener: Arc<dyn Listener>,
    ) -> Self {
        let traffic = Traffic::new(limits.provider.clone(), patience, Arc::clone(&pacer), clock.clone(), Arc::clone(&listener));
        Self {
            permits: Semaphore::new((limits.concurrency as usize).min(Semaphore::MAX_PERMITS)),
            limits,
            traffic,
            pacer,
            wire,
            in_flight: AtomicU32::new(0),
            left_alone: Mutex::default(),
            clock,
            listener,
        }
    }

    /// Waits until one request for the dataset may leave: pause, permit, slot, in this order.
    ///
    /// A slot is reserved only with a permit in hand, so that it cannot go stale in a queue.
    pub(super) async fn admit(&self, dataset: &Name, seat: &mut Seat) -> Result<Admission<'_>, LeftAlone> {
        let asked = self.clock.now();
        loop {
            if let Some(left_alone) = self.left_alone(dataset) {
                return Err(left_alone);
            }
            let pass = self.traffic.pass(seat).await?;
            let permit = self.permits.acquire().await.expect("permits are never closed");
            if self.traffic.is_dark_for(&pass) {
                continue;
            }
            let at = self.pacer.turn().await;
            // The slot of a call that finds the provider dark stays unused.
            if self.traffic.is_dark_for(&pass) || self.left_alone(dataset).is_some() {
                continue;
            }
            let count = self.in_flight.fetch_add(1, Ordering::AcqRel) + 1;
            let flight = Flight { in_flight: &self.in_flight, count };
            return Ok(Admission { pass, permit, flight, at, waited: Duration::from_nanos(at.saturating_sub(asked)) });
        }
    }

    /// Nobody asks for this dataset before the wait is over. Said once, where it was not known.
    pub(super) fn leave_alone(&self, dataset: &Name, wait: Duration, why: &str) -> LeftAlone {
        let now = self.clock.now();
        let until = later(self.clock.wall(), wait);
        let known = self.apis().insert(dataset.clone(), (now.saturating_add(nanos(wait)), why.to_owned()));
        if known.is_none_or(|(until, _)| until <= now) {
            self.listener.hear(&Event::ApiBlocked { dataset: dataset.clone(), until: Some(until), why: why.to_owned() });
        }
        LeftAlone { until, why: why.to_owned() }
    }

    fn left_alone(&self, dataset: &Name) -> Option<LeftAlone> {
        let now = self.clock.now();
        let apis = self.apis();
        let (until, why) = apis.get(dataset).filter(|(until, _)| *until > now)?;
        let until = later(self.clock.wall(), Duration::from_nanos(until - now));
        Some(LeftAlone { until, why: why.clone() })
    }

    fn apis(&self) -> MutexGuard<'_, HashMap<Name, (Nanos, String)>> {
        self.left_alone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
