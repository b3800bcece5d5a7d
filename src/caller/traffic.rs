use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::api::LeftAlone;
use super::clock::{Clock, Nanos, later, nanos};
use super::pacer::Pacer;
use super::pause::{Pause, Refused, Way, Witness};
use super::permits::Permits;
use super::place::Seat;
use super::provider::{Pace, ProviderLimits};
use super::speed::{Departure, Orders, Speed};
use crate::model::event::{Event, Listener};
use crate::model::name::Name;
use crate::model::rate::Rate;

/// Whether and how fast one provider may be asked: what its refusals for speed do to all its calls.
pub(super) struct Traffic {
    provider: Name,
    pace: Pace,
    pacer: Arc<Pacer>,
    permits: Arc<Permits>,
    clock: Clock,
    listener: Arc<dyn Listener>,
    lights: Mutex<Lights>,
    changed: watch::Sender<()>,
}

struct Lights {
    pause: Pause,
    speed: Speed,
    /// What pacer and permits were told last.
    orders: Orders,
    /// Whether the speed knows that it is a ban that keeps the provider dark.
    is_ban_told: bool,
}

/// What an answer without a refusal for speed brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    Page,
    /// Something else that only a provider in the mood to answer says.
    Word,
}

/// Why a provider is not to be asked any more in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection(pub(super) String);

/// Leave to ask.
pub(super) enum Pass<'t> {
    Open,
    /// Alone. Dropped without an answer, the next call becomes the canary.
    Canary(Canary<'t>),
}

pub(super) struct Canary<'t> {
    traffic: &'t Traffic,
    is_back: bool,
}

/// Shorter waits are sat out in the worker's place.
const SHORT: Duration = Duration::from_secs(1);

impl Traffic {
    pub(super) fn new(
        limits: &ProviderLimits,
        patience: Duration,
        pacer: Arc<Pacer>,
        permits: Arc<Permits>,
        clock: Clock,
        listener: Arc<dyn Listener>,
    ) -> Self {
        let ceiling = limits.rate.per_second().unwrap_or(f64::INFINITY);
        let (pause, speed) = match limits.pace {
            Pace::Careful => (Pause::new(patience), Speed::set(ceiling)),
            // Its rate is lowered instead, and a pause that began long would hide how long a ban is.
            Pace::Sought(start) => (Pause::forgetful(patience), Speed::sought(start, ceiling, limits.concurrency)),
            Pace::Steered => (Pause::forgetful(patience), Speed::set(ceiling)),
        };
        let orders = Speed::set(ceiling).orders();
        let traffic = Self {
            provider: limits.provider.clone(),
            pace: limits.pace,
            pacer,
            permits,
            clock,
            listener,
            lights: Mutex::new(Lights { pause, speed, orders, is_ban_told: false }),
            changed: watch::Sender::new(()),
        };
        traffic.obey(&mut traffic.lights());
        traffic
    }

    /// Waits until the provider may be asked; long waits outside the worker's place.
    pub(super) async fn pass(&self, seat: &mut Seat) -> Result<Pass<'_>, LeftAlone> {
        let mut changed = self.changed.subscribe();
        loop {
            let now = self.clock.now();
            let way = self.lights().pause.ask(now);
            let until = match way {
                Way::Open => {
                    seat.enter().await;
                    // It may have gone dark while this call waited for its place.
                    if self.lights().pause.is_dark() {
                        continue;
                    }
                    return Ok(Pass::Open);
                }
                Way::AsCanary => {
                    let canary = Canary { traffic: self, is_back: false };
                    seat.enter().await;
                    return Ok(Pass::Canary(canary));
                }
                Way::Deferred { until, why } => {
                    let until = later(self.clock.wall(), Duration::from_nanos(until - now));
                    return Err(LeftAlone { until: Some(until), why });
                }
                Way::WaitUntil(until) | Way::WaitForCanary { until } => until,
            };
            if until.saturating_sub(now) >= nanos(SHORT) {
                seat.leave();
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = self.clock.sleep_until(until) => {}
            }
        }
    }

    /// Whether the provider turned dark for the holder of this pass.
    pub(super) fn is_dark_for(&self, pass: &Pass<'_>) -> bool {
        match pass {
            Pass::Open => self.lights().pause.is_dark(),
            Pass::Canary(_) => false,
        }
    }

    /// A request leaves.
    pub(super) fn sent(&self, at: Nanos) {
        self.lights().speed.sent(at);
    }

    /// Whether a failure without a code of its own is a refusal for speed in disguise.
    pub(super) fn unmask(&self, took: Duration, says_wait: bool) -> bool {
        self.lights().speed.unmask(self.clock.now(), took, says_wait)
    }

    /// A call was refused for speed.
    pub(super) fn refused(
        &self,
        pass: Pass<'_>,
        departure: Departure,
        asked: Option<Duration>,
        why: &str,
    ) -> Result<(), Objection> {
        let witness = pass.spend(departure.at);
        let now = self.clock.now();
        let (refused, objection) = {
            let mut lights = self.lights();
            let refused = lights.pause.refused(now, witness, asked, why);
            match refused {
                Refused::NewEvent { .. } => {
                    lights.is_ban_told = false;
                    lights.speed.refused(now, departure);
                }
                Refused::SameEvent => lights.speed.refused_too(departure),
                Refused::StillDark { .. } => lights.tell_ban(now),
            }
            self.obey(&mut lights);
            (refused, lights.speed.objection())
        };
        self.changed.send_replace(());
        match refused {
            Refused::NewEvent { pause } | Refused::StillDark { pause } => {
                self.listener.hear(&Event::ProviderPaused { provider: self.provider.clone(), pause, why: why.to_owned() });
            }
            Refused::SameEvent => {}
        }
        objection.map_or(Ok(()), |why| Err(Objection(why)))
    }

    /// A call brought an answer, good or bad, that shows no refusal for speed.
    pub(super) fn answered(&self, pass: Pass<'_>, departure: Departure, brought: Brought) -> Result<(), Objection> {
        let witness = pass.spend(departure.at);
        let now = self.clock.now();
        let (dark, objection) = {
            let mut lights = self.lights();
            lights.tell_ban(now);
            let dark = lights.pause.answered(now, witness);
            if dark.is_some() {
                lights.speed.resumed(now);
            }
            match brought {
                Brought::Page => lights.speed.accepted(now, departure),
                Brought::Word => {}
            }
            self.obey(&mut lights);
            (dark, lights.speed.objection())
        };
        if let Some(dark) = dark {
            self.listener.hear(&Event::ProviderResumed { provider: self.provider.clone(), dark });
            self.changed.send_replace(());
        }
        objection.map_or(Ok(()), |why| Err(Objection(why)))
    }

    /// A call brought nothing that tells of the provider's mood. From a canary that is as bad as a refusal: some bans
    /// answer with silence.
    pub(super) fn silent(
        &self,
        pass: Pass<'_>,
        departure: Departure,
        asked: Option<Duration>,
        why: &str,
    ) -> Result<(), Objection> {
        match pass {
            Pass::Open => Ok(()),
            Pass::Canary(_) => self.refused(pass, departure, asked, why),
        }
    }

    /// Tells pacer and permits what is in force.
    fn obey(&self, lights: &mut Lights) {
        let orders = lights.speed.orders();
        let before = std::mem::replace(&mut lights.orders, orders);
        match self.pace {
            Pace::Careful | Pace::Sought(_) => {}
            Pace::Steered => return,
        }
        if orders.rate != before.rate {
            let rate = if orders.rate.is_finite() { Rate::PerSecond(orders.rate) } else { Rate::Unlimited };
            self.pacer.set_interval(rate.interval());
        }
        if let Some(most) = orders.in_flight.filter(|_| orders.in_flight != before.in_flight) {
            self.permits.set_most(most);
        }
    }

    fn lights(&self) -> MutexGuard<'_, Lights> {
        self.lights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lights {
    fn tell_ban(&mut self, now: Nanos) {
        if self.pause.is_ban(now) && !std::mem::replace(&mut self.is_ban_told, true) {
            self.speed.banned();
        }
    }
}

impl Pass<'_> {
    fn spend(self, sent: Nanos) -> Witness {
        match self {
            Self::Open => Witness::SentAt(sent),
            Self::Canary(mut canary) => {
                canary.is_back = true;
                Witness::Canary
            }
        }
    }
}

impl Drop for Canary<'_> {
    fn drop(&mut self) {
        if !self.is_back {
            self.traffic.lights().pause.canary_lost();
            self.traffic.changed.send_replace(());
        }
    }
}
