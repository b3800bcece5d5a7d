//! How many requests a second may leave, over all workers.

mod gate;
mod grid;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::clock::{Clock, Nanos, nanos};
use super::lane::Lane;
use gate::{Gate, Shut};
use grid::Grid;
pub(super) use grid::slack;

/// Lets requests leave one by one, never closer than the interval less a slack of 1 ms or a tenth.
///
/// Source: real limiters refuse by single gaps, so a rate kept on the average is refused.
#[derive(Debug)]
pub struct Pacer {
    grid: Grid,
    gate: Gate,
    clock: Clock,
    /// Interval as this host would have it; 0 is no pacing.
    own: AtomicU64,
    last_connected: AtomicU64,
    /// Where the rate is shared with other hosts.
    lane: Option<Lane>,
}

/// A handshake under way: no request of the provider leaves while it lives.
#[derive(Debug)]
pub(super) struct Handshake<'p> {
    pacer: &'p Pacer,
    shut: Shut,
}

/// A request that has had its turn and is not written yet: no other of the provider leaves while it lives, and the gap to
/// the next counts from its end.
///
/// On a busy machine the client writes milliseconds after it was told to.
#[derive(Debug)]
pub(super) struct Departure {
    pacer: Arc<Pacer>,
    // Opened after the gap is moved.
    _shut: Shut,
}

impl Pacer {
    /// A pacer with this much between two requests; zero is no limit.
    pub fn new(interval: Duration, clock: Clock) -> Self {
        Self::with_lane(interval, clock, None)
    }

    /// A pacer of several hosts: requests leave when the lane is open for this one.
    pub(super) fn sharing(interval: Duration, clock: Clock, lane: Lane) -> Self {
        Self::with_lane(interval, clock, Some(lane))
    }

    fn with_lane(interval: Duration, clock: Clock, lane: Option<Lane>) -> Self {
        let own = nanos(interval);
        Self { grid: Grid::new(own), gate: Gate::new(), clock, own: AtomicU64::new(own), last_connected: AtomicU64::new(0), lane }
    }

    /// Waits until a request may leave, and says when that was. It must be sent at once.
    ///
    /// Dropped before that, it leaves its slot unused: nothing is handed back.
    pub async fn turn(&self) -> Nanos {
        if self.grid.interval() == 0 {
            return self.clock.now();
        }
        let _turn = match &self.lane {
            Some(lane) => Some(lane.turn().await),
            None => None,
        };
        let mut slot = self.grid.reserve(self.clock.now());
        let mut at = slot.at();
        loop {
            self.clock.wake_at(self.opens(at).await).await;
            self.gate.open().await;
            let now = self.clock.now();
            if !self.is_open(now) {
                at = now;
                continue;
            }
            match slot.leave(now) {
                Ok(()) => {
                    self.left(now);
                    return now;
                }
                Err(too_soon) => at = too_soon.free_at,
            }
        }
    }

    /// Whether a canary may go, as far as other hosts are concerned.
    pub(super) async fn grants_canary(&self) -> bool {
        match &self.lane {
            Some(lane) => lane.grants_canary().await,
            None => true,
        }
    }

    /// The earliest time from `at` on that other hosts leave to this one.
    async fn opens(&self, at: Nanos) -> Nanos {
        let Some(lane) = &self.lane else { return at };
        let opens = lane.opens(at, Duration::from_nanos(self.own.load(Ordering::Relaxed))).await;
        self.keep_pace();
        opens
    }

    fn is_open(&self, now: Nanos) -> bool {
        self.lane.as_ref().is_none_or(|lane| lane.is_open(now))
    }

    fn left(&self, now: Nanos) {
        if let Some(lane) = &self.lane {
            lane.left(now);
        }
    }

    /// Another interval from now on, as this host would have it; zero is no limit.
    pub(super) fn set_interval(&self, interval: Duration) {
        self.own.store(nanos(interval), Ordering::Relaxed);
        self.keep_pace();
    }

    /// Where the rate is shared: time between two requests, as the slowest of the other hosts has it, and the requests that
    /// this one may have in flight.
    pub(super) fn keep_to(&self, slowest: Duration, permits: u32) {
        if let Some(lane) = &self.lane {
            lane.keep_to(nanos(slowest), permits);
            self.keep_pace();
        }
    }

    /// The slowest of all hosts sets the pace.
    fn keep_pace(&self) {
        let slowest = self.lane.as_ref().map_or(0, Lane::interval);
        let interval = self.own.load(Ordering::Relaxed).max(slowest);
        if interval != self.grid.interval() {
            self.grid.set_interval(interval);
        }
    }

    /// A request is about to be written; `None` where nothing is paced.
    pub(super) fn departure(self: &Arc<Self>) -> Option<Departure> {
        (self.grid.interval() > 0).then(|| Departure { pacer: Arc::clone(self), _shut: self.gate.shut() })
    }

    pub(super) fn handshake(&self) -> Handshake<'_> {
        Handshake { pacer: self, shut: self.gate.shut() }
    }
}

impl Handshake<'_> {
    /// The connection stands and its request leaves now; the gap to the next one counts from here.
    ///
    /// Two requests may have passed the gate before it shut. The second waits here, so that their first bytes keep the
    /// gap as well. Where several hosts share the rate, the slot may be over by now: then another is waited for.
    pub(super) async fn connected(self) {
        let Self { pacer, shut } = self;
        let interval = pacer.grid.interval();
        if interval > 0 {
            let last = pacer.last_connected.load(Ordering::Relaxed);
            if last > 0 {
                pacer.clock.wake_at(last + interval - slack(interval)).await;
            }
            let mut now = pacer.clock.now();
            while !pacer.is_open(now) {
                pacer.clock.wake_at(pacer.opens(now).await).await;
                now = pacer.clock.now();
            }
            pacer.last_connected.store(now, Ordering::Relaxed);
            pacer.grid.left_late(now);
        }
        drop(shut);
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        self.pacer.grid.left_late(self.pacer.clock.now());
    }
}
