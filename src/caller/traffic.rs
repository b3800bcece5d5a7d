use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::api::LeftAlone;
use super::clock::{Clock, Nanos, later, nanos};
use super::pacer::Pacer;
use super::pause::{Pause, Refused, Way, Witness};
use super::place::Seat;
use super::provider::{Pace, ProviderLimits};
use super::slowdown::Slowdown;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;

/// Whether and how fast one provider may be asked: what its refusals for speed do to all its calls.
pub(super) struct Traffic {
    provider: Name,
    pace: Pace,
    pacer: Arc<Pacer>,
    clock: Clock,
    listener: Arc<dyn Listener>,
    lights: Mutex<Lights>,
    changed: watch::Sender<()>,
}

struct Lights {
    pause: Pause,
    slowdown: Slowdown,
}

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
        clock: Clock,
        listener: Arc<dyn Listener>,
    ) -> Self {
        let pause = match limits.pace {
            Pace::Careful => Pause::new(patience),
            Pace::Steered => Pause::forgetful(patience),
        };
        let lights = Mutex::new(Lights { pause, slowdown: Slowdown::new() });
        Self {
            provider: limits.provider.clone(),
            pace: limits.pace,
            pacer,
            clock,
            listener,
            lights,
            changed: watch::Sender::new(()),
        }
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

    /// A call was refused for speed.
    pub(super) fn refused(&self, pass: Pass<'_>, sent: Nanos, asked: Option<Duration>, why: &str) {
        let witness = pass.spend(sent);
        let now = self.clock.now();
        let refused = {
            let mut lights = self.lights();
            let refused = lights.pause.refused(now, witness, asked, why);
            if let Refused::NewEvent { .. } = refused {
                self.slow_down(lights.slowdown.refused(now));
            }
            refused
        };
        self.changed.send_replace(());
        match refused {
            Refused::NewEvent { pause } | Refused::StillDark { pause } => {
                self.listener.hear(&Event::ProviderPaused { provider: self.provider.clone(), pause, why: why.to_owned() });
            }
            Refused::SameEvent => {}
        }
    }

    /// A call brought an answer, good or bad, that shows no refusal for speed.
    pub(super) fn answered(&self, pass: Pass<'_>, sent: Nanos) {
        let witness = pass.spend(sent);
        let now = self.clock.now();
        let dark = {
            let mut lights = self.lights();
            if let Some(share) = lights.slowdown.answered(now) {
                self.slow_down(share);
            }
            lights.pause.answered(now, witness)
        };
        if let Some(dark) = dark {
            self.listener.hear(&Event::ProviderResumed { provider: self.provider.clone(), dark });
            self.changed.send_replace(());
        }
    }

    /// A call brought nothing that tells of the provider's mood. From a canary that is as bad as a refusal: some bans
    /// answer with silence.
    pub(super) fn silent(&self, pass: Pass<'_>, sent: Nanos, asked: Option<Duration>, why: &str) {
        match pass {
            Pass::Open => {}
            Pass::Canary(_) => self.refused(pass, sent, asked, why),
        }
    }

    fn slow_down(&self, share: f64) {
        match self.pace {
            Pace::Careful => self.pacer.set_share(share),
            Pace::Steered => {}
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
