use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::announced::Announced;
use super::api::LeftAlone;
use super::clock::{Clock, Nanos, later, nanos};
use super::lights::{Brought, Lights};
use super::pacer::Pacer;
use super::pause::{Refused, Way, Witness};
use super::permits::Permits;
use super::place::Seat;
use super::provider::{Pace, ProviderLimits};
use super::speed::Departure;
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

/// How long the canary of another host is waited for before it is asked whether one of ours may go.
const OF_OTHERS: Duration = Duration::from_millis(250);

/// Shorter waits are sat out in the worker's place.
const SHORT: Duration = Duration::from_secs(1);

/// Calls a second, whatever is announced: no call waits for its slot for longer than a minute.
const LOWEST_ANNOUNCED: f64 = 1.0 / 60.0;

impl Traffic {
    pub(super) fn new(
        limits: &ProviderLimits,
        patience: Duration,
        pacer: Arc<Pacer>,
        permits: Arc<Permits>,
        clock: Clock,
        listener: Arc<dyn Listener>,
    ) -> Self {
        let traffic = Self {
            provider: limits.provider.clone(),
            pace: limits.pace,
            pacer,
            permits,
            clock,
            listener,
            lights: Mutex::new(Lights::new(limits, patience)),
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
            let way = self.lights().ask(now);
            let until = match way {
                Way::Open => {
                    seat.enter().await;
                    // It may have gone dark while this call waited for its place.
                    if self.lights().is_closed(self.clock.now()) {
                        continue;
                    }
                    return Ok(Pass::Open);
                }
                Way::AsCanary => {
                    let canary = Canary { traffic: self, is_back: false };
                    if !self.pacer.grants_canary().await {
                        self.lights().pause.put_off(self.clock.now().saturating_add(nanos(OF_OTHERS)));
                        continue;
                    }
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

    /// Whether it refused for speed and has not answered since.
    pub(super) fn is_dark(&self) -> bool {
        self.lights().pause.is_dark()
    }

    /// Whether the provider turned dark for the holder of this pass.
    pub(super) fn is_dark_for(&self, pass: &Pass<'_>) -> bool {
        match pass {
            Pass::Open => self.lights().is_closed(self.clock.now()),
            Pass::Canary(_) => false,
        }
    }

    /// Waits until the provider turns dark for the holder of this pass.
    pub(super) async fn darkened(&self, pass: &Pass<'_>) {
        let mut changed = self.changed.subscribe();
        while !self.is_dark_for(pass) {
            changed.changed().await.expect("the sender lives as long as this");
        }
    }

    /// So many other hosts ask as well.
    pub(super) fn share_with(&self, others: u32) {
        self.lights().speed.share_with(others);
    }

    /// Another host was refused for speed. Whether that is news: its pace holds for all, so only the pause is taken over.
    pub(super) fn refused_elsewhere(&self, left: Duration, why: &str) -> bool {
        let is_news = self.lights().pause.refused_elsewhere(self.clock.now(), left, why);
        self.changed.send_replace(());
        is_news
    }

    /// The canary of another host was answered.
    pub(super) fn answered_elsewhere(&self) {
        if self.lights().pause.answered_elsewhere(self.clock.now()) {
            self.changed.send_replace(());
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

    /// Heeds what an answer says of the calls that are let in.
    pub(super) fn heed(&self, departure: Departure, announced: Announced) {
        match self.pace {
            Pace::Careful | Pace::Sought(_) => {}
            // Whoever steers decides.
            Pace::Steered => {
                if let Some(rps) = announced.rate {
                    self.listener.hear(&Event::RateAnnounced { provider: self.provider.clone(), rps });
                }
                return;
            }
        }
        let now = self.clock.now();
        let mut lights = self.lights();
        if let Some(rate) = announced.rate.map(|rate| rate.max(LOWEST_ANNOUNCED))
            && lights.speed.announced(rate)
        {
            self.obey(&mut lights);
            let what = format!("{} announces {rate:.3} calls a second: it is asked no faster", self.provider);
            self.warn_once(&mut lights.warned.rate, what);
        }
        let hold = lights.hold.heard(now, departure.at, announced.left);
        if let Some(wait) = hold.filter(|wait| *wait >= SHORT) {
            let what = format!("{} says that no call is left for {wait:?}: nobody asks it meanwhile", self.provider);
            self.warn_once(&mut lights.warned.hold, what);
        }
    }

    fn warn_once(&self, was_warned: &mut bool, what: String) {
        if !std::mem::replace(was_warned, true) {
            self.listener.hear(&Event::Warned { what });
        }
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
            let refused = lights.refused(now, witness, departure, asked, why);
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
            let dark = lights.answered(now, witness, departure, brought);
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
        if orders == before {
            return;
        }
        self.listener.hear(&Event::PaceChanged { provider: self.provider.clone(), pace: lights.speed.pace() });
        if orders.rate != before.rate {
            let rate = if orders.rate.is_finite() { Rate::PerSecond(orders.rate) } else { Rate::Unlimited };
            self.pacer.set_interval(rate.interval());
        }
        if let Some(most) = orders.in_flight.filter(|_| orders.in_flight != before.in_flight) {
            self.permits.set_borne(most);
        }
    }

    fn lights(&self) -> MutexGuard<'_, Lights> {
        self.lights.lock().unwrap_or_else(PoisonError::into_inner)
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
