use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::alarm::Alarm;

/// Nanoseconds since the base of a [`Clock`]: one number, so that an atomic can hold it. Lasts 584 years.
pub type Nanos = u64;

/// The time of a run: what it is, and how to wait for it.
#[derive(Clone)]
pub struct Clock {
    base: Instant,
    wall: Wall,
    alarm: Option<Arc<Alarm>>,
}

#[derive(Clone, Copy)]
enum Wall {
    /// Asked of the system each time, because the user's clock may be set while we run.
    System,
    /// Moves with the runtime's time only.
    Since(Timestamp),
}

/// How long before its time a sleeper leaves the runtime's timer, which rounds up to the next millisecond.
const FINE: Nanos = 2_000_000;

/// How long before its time the alarm rings: about what the system takes to run a woken task. What is left is spun away,
/// at most so long.
const LEAD: Nanos = 80_000;

impl Clock {
    /// The clock for real use: wakes within some tens of microseconds, by a thread of its own.
    ///
    /// Where the system grants no thread, it wakes up to a millisecond late instead.
    pub fn precise() -> Self {
        let alarm = Alarm::start()
            .inspect_err(|error| tracing::warn!(%error, "no thread for the fine timer: requests leave up to 1 ms late"))
            .ok();
        Self { base: Instant::now(), wall: Wall::System, alarm: alarm.map(Arc::new) }
    }

    /// A clock that knows the runtime's time only, for tests with paused time. `wall` is the time of day it begins at.
    pub fn tokio(wall: Timestamp) -> Self {
        Self { base: Instant::now(), wall: Wall::Since(wall), alarm: None }
    }

    pub fn now(&self) -> Nanos {
        nanos(self.base.elapsed())
    }

    /// The time of day.
    pub fn wall(&self) -> Timestamp {
        match self.wall {
            Wall::System => Timestamp::now(),
            Wall::Since(start) => later(start, self.base.elapsed()),
        }
    }

    /// When that time of day will be, or now where it has been.
    pub(super) fn at(&self, wall: Timestamp) -> Nanos {
        let left = wall.duration_since(self.wall()).try_into().unwrap_or_default();
        self.now().saturating_add(nanos(left))
    }

    /// Sleeps until then, or up to a millisecond longer.
    pub async fn sleep_until(&self, at: Nanos) {
        tokio::time::sleep_until(self.base + Duration::from_nanos(at)).await;
    }

    pub async fn sleep(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }

    /// Sleeps until then as exactly as this clock can.
    pub async fn wake_at(&self, at: Nanos) {
        let Some(alarm) = &self.alarm else { return self.sleep_until(at).await };
        if at > self.now().saturating_add(FINE) {
            self.sleep_until(at - FINE).await;
        }
        if at > self.now().saturating_add(LEAD) {
            alarm.wake_at((self.base + Duration::from_nanos(at - LEAD)).into_std()).await;
        }
        while at > self.now() {
            std::hint::spin_loop();
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({} ns)", self.now())
    }
}

/// A duration in nanoseconds; the longest there is where it does not fit.
pub(super) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The time of day that much later; the last there is where it does not fit.
pub(super) fn later(from: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| from.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}
