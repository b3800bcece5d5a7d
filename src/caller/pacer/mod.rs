//! How many requests a second may leave, over all workers.

mod gate;
mod grid;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::clock::{Clock, Nanos, nanos};
use gate::Gate;
use grid::{Grid, slack};

/// Lets requests leave one by one, never closer than the interval less a slack of 1 ms or a tenth.
///
/// Source: real limiters refuse by single gaps, so a rate kept on the average is refused.
#[derive(Debug)]
pub struct Pacer {
    grid: Grid,
    gate: Gate,
    clock: Clock,
    /// Interval at the cap; 0 is no pacing.
    cap: AtomicU64,
    last_connected: AtomicU64,
}

/// A handshake under way: no request of the provider leaves while it lives.
#[derive(Debug)]
pub(super) struct Handshake<'p> {
    pacer: &'p Pacer,
    shut: gate::Shut<'p>,
}

impl Pacer {
    /// A pacer with this much between two requests; zero is no limit.
    pub fn new(interval: Duration, clock: Clock) -> Self {
        let cap = nanos(interval);
        Self { grid: Grid::new(cap), gate: Gate::new(), clock, cap: AtomicU64::new(cap), last_connected: AtomicU64::new(0) }
    }

    /// Waits until a request may leave, and says when that was. It must be sent at once.
    ///
    /// Dropped before that, it leaves its slot unused: nothing is handed back.
    pub async fn turn(&self) -> Nanos {
        if self.cap() == 0 {
            return self.clock.now();
        }
        let mut slot = self.grid.reserve(self.clock.now());
        let mut at = slot.at();
        loop {
            self.clock.wake_at(at).await;
            self.gate.open().await;
            let now = self.clock.now();
            match slot.leave(now) {
                Ok(()) => return now,
                Err(too_soon) => at = too_soon.free_at,
            }
        }
    }

    /// Another cap from now on; zero is no limit.
    pub(super) fn set_cap(&self, interval: Duration) {
        self.cap.store(nanos(interval), Ordering::Relaxed);
        self.grid.set_interval(nanos(interval));
    }

    fn cap(&self) -> Nanos {
        self.cap.load(Ordering::Relaxed)
    }

    /// Sets the rate to this share of the cap, above 0 and at most 1.
    pub(super) fn set_share(&self, share: f64) {
        self.grid.set_interval((self.cap() as f64 / share.clamp(0.001, 1.0)) as Nanos);
    }

    pub(super) fn handshake(&self) -> Handshake<'_> {
        Handshake { pacer: self, shut: self.gate.shut() }
    }
}

impl Handshake<'_> {
    /// The connection stands and its request leaves now; the gap to the next one counts from here.
    ///
    /// Two requests may have passed the gate before it shut. The second waits here, so that their first bytes keep the
    /// gap as well.
    pub(super) async fn connected(self) {
        let Self { pacer, shut } = self;
        if pacer.cap() > 0 {
            let interval = pacer.grid.interval();
            let last = pacer.last_connected.load(Ordering::Relaxed);
            if last > 0 {
                pacer.clock.wake_at(last + interval - slack(interval)).await;
            }
            let now = pacer.clock.now();
            pacer.last_connected.store(now, Ordering::Relaxed);
            pacer.grid.left_late(now);
        }
        drop(shut);
    }
}
