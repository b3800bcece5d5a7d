use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::api::{Apis, Asker, Leave, LeftAlone};
use super::clock::{Clock, Nanos, later};
use super::pacer::Pacer;
use super::permits::{Permit, Permits};
use super::place::Seat;
use super::speed::{Departure, Start};
use super::ticket::Ticket;
use super::traffic::{Pass, Traffic};
use super::wire::Wire;
use crate::definition::provider::{Pacing, Provider as Definition, Seed};
use crate::model::attempt::Waits;
use crate::model::event::Listener;
use crate::model::name::Name;
use crate::model::rate::Rate;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How much of one provider may be asked, over all workers.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderLimits {
    pub provider: Name,
    /// Requests in flight, at least 1.
    pub concurrency: u32,
    pub rate: Rate,
    /// Calls of one dataset that are refused as invalid in a row before it is left alone, at least 1.
    pub invalid_in_a_row: u32,
    pub pace: Pace,
    /// Whose midnight ends the day of a daily quota.
    pub zone: TimeZone,
}

/// Who sets the pace below the rate of the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// It is lowered after refusals for speed and rises again.
    Careful,
    /// It is looked for, from there on, and so is how many calls in flight are borne.
    Sought(Start),
    /// Nobody: whoever made the caller steers it.
    Steered,
}

/// Limits that cannot be kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitsError {
    #[error("`{provider}` must be allowed at least one request in flight")]
    NoPermit { provider: Name },
}

/// One provider as the caller sees it: its gates, in the order a request passes them.
pub(super) struct Provider {
    pub(super) limits: ProviderLimits,
    pub(super) traffic: Traffic,
    pub(super) permits: Arc<Permits>,
    pub(super) pacer: Arc<Pacer>,
    pub(super) wire: Box<dyn Wire>,
    in_flight: AtomicU32,
    pub(super) apis: Apis,
    clock: Clock,
}

/// Leave for one request. It holds a permit until it is dropped.
pub(super) struct Admission<'p> {
    pub(super) ticket: Ticket<'p>,
    pub(super) pass: Pass<'p>,
    pub(super) permit: Permit<'p>,
    pub(super) flight: Flight<'p>,
    /// Now.
    pub(super) departure: Departure,
    pub(super) waits: Waits,
}

/// A request on the wire.
pub(super) struct Flight<'p> {
    in_flight: &'p AtomicU32,
}

impl ProviderLimits {
    /// The limits a provider's definition and the user's settings give it.
    pub fn of(provider: &Definition) -> Self {
        let zone = TimeZone::get(&provider.zone).expect("checked with the definitions and settings");
        Self {
            provider: provider.id.clone(),
            concurrency: provider.concurrency,
            rate: provider.rps,
            invalid_in_a_row: provider.invalid_in_a_row,
            pace: match &provider.pacing {
                Pacing::Set => Pace::Careful,
                Pacing::Sought { seed: None, .. } => Pace::Sought(Start::COLD),
                Pacing::Sought { seed: Some(Seed { rps, concurrency }), .. } => {
                    Pace::Sought(Start { rate: *rps, in_flight: *concurrency })
                }
            },
            zone,
        }
    }

    /// Time between two requests; zero is no limit.
    pub(super) fn interval(&self) -> Result<Duration, LimitsError> {
        if self.concurrency == 0 {
            return Err(LimitsError::NoPermit { provider: self.provider.clone() });
        }
        Ok(self.rate.interval())
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
        apis: Apis,
    ) -> Self {
        let permits = Arc::new(Permits::new(limits.concurrency));
        let traffic = Traffic::new(&limits, patience, Arc::clone(&pacer), Arc::clone(&permits), clock.clone(), listener);
        Self { permits, limits, traffic, pacer, wire, in_flight: AtomicU32::new(0), apis, clock }
    }

    /// Waits until one request for the dataset may leave: API with its breaker, pause, permit, slot, in this order.
    ///
    /// A slot is reserved only with a permit in hand, so that it cannot go stale in a queue.
    pub(super) async fn admit(&self, dataset: &Name, asker: Asker, seat: &mut Seat) -> Result<Admission<'_>, LeftAlone> {
        let mut waits = Waits::default();
        loop {
            let asked = self.clock.now();
            let ticket = match self.apis.enter(dataset, asker) {
                Ok(ticket) => ticket,
                Err(Leave::Granted) => continue,
                Err(Leave::Doubted) => {
                    seat.leave();
                    self.apis.resolved(dataset).await;
                    waits.pause += since(asked, self.clock.now());
                    continue;
                }
                Err(Leave::Parked { .. }) => {
                    seat.leave();
                    self.apis.unparked(&[dataset]).await;
                    waits.pause += since(asked, self.clock.now());
                    continue;
                }
                Err(Leave::LeftAlone(left)) => return Err(left),
            };
            let pass = self.traffic.pass(seat).await?;
            let let_in = self.clock.now();
            waits.pause += since(asked, let_in);
            let permit = self.permits.acquire().await;
            let permitted = self.clock.now();
            waits.permit += since(let_in, permitted);
            if self.traffic.is_dark_for(&pass) || !self.apis.admits(asker, &ticket) {
                continue;
            }
            let at = tokio::select! {
                at = self.pacer.turn() => at,
                () = self.traffic.darkened(&pass) => continue,
            };
            waits.slot += since(permitted, at);
            // The slot of a call that finds the provider dark stays unused.
            if self.traffic.is_dark_for(&pass) || !self.apis.admits(asker, &ticket) {
                continue;
            }
            let departure = Departure { at, in_flight: self.in_flight.fetch_add(1, Ordering::AcqRel) + 1 };
            let flight = Flight { in_flight: &self.in_flight };
            self.traffic.sent(at);
            return Ok(Admission { ticket, pass, permit, flight, departure, waits });
        }
    }

    /// Other limits from now on.
    pub(super) fn steer(&self, interval: Duration, concurrency: u32) {
        self.permits.set_most(concurrency);
        self.pacer.set_interval(interval);
    }

    /// Nobody asks for this dataset before the wait is over.
    pub(super) fn leave_alone_for(&self, dataset: &Name, wait: Duration, why: &str) -> LeftAlone {
        self.apis.leave_alone(dataset, Some(later(self.clock.wall(), wait)), why)
    }

    /// The end of the provider's day, when a daily quota begins anew.
    pub(super) fn end_of_day(&self) -> Timestamp {
        let now = self.clock.wall().to_zoned_datetime(self.limits.zone.clone());
        let midnight = now.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
        midnight.map_or(Timestamp::MAX, |midnight| midnight.timestamp())
    }
}

fn since(earlier: Nanos, later: Nanos) -> Duration {
    Duration::from_nanos(later.saturating_sub(earlier))
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
