use std::sync::atomic::{AtomicU64, Ordering};

use crate::caller::clock::Nanos;

/// What the grid needs of an atomic number, so that a model checker can put its own in.
pub trait Cell {
    fn new(value: u64) -> Self;
    fn load(&self) -> u64;
    fn store(&self, value: u64);
    /// Writes `new` if `current` still stands; else says what stands.
    fn replace(&self, current: u64, new: u64) -> Result<(), u64>;
    /// Writes `floor` if it is higher.
    fn raise(&self, floor: u64);
    fn add(&self, more: u64);
    fn subtract(&self, less: u64);
}

/// When requests may leave: slots on an absolute grid, and the gap at the send. Lock-free.
///
/// `next` gives every waiting call a slot of its own to sleep until, and makes the average exact. `free_at` is the
/// promise: nothing leaves before it, however late or early anybody wakes. It moves by one interval a send, counted from
/// the send itself when that was more than the slack late. So in any window `w` at most `(w + slack) / interval + 1`
/// requests leave, and a stall is never caught up.
#[derive(Debug)]
pub struct Grid<C = AtomicU64> {
    next: C,
    free_at: C,
    interval: C,
    /// Calls that hold a slot and have not sent.
    waiting: C,
}

/// A place on the grid, held until the request leaves or the call gives up.
#[derive(Debug)]
pub struct Slot<'g, C: Cell = AtomicU64> {
    grid: &'g Grid<C>,
    at: Nanos,
    has_left: bool,
}

/// The last request is not long enough ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSoon {
    pub free_at: Nanos,
}

/// Lateness that is forgiven: a wake-up this late moves no later slot.
pub fn slack(interval: Nanos) -> Nanos {
    (interval / 10).min(1_000_000)
}

impl<C: Cell> Grid<C> {
    pub fn new(interval: Nanos) -> Self {
        Self { next: C::new(0), free_at: C::new(0), interval: C::new(interval), waiting: C::new(0) }
    }

    pub fn interval(&self) -> Nanos {
        self.interval.load()
    }

    /// Slots already given stay where they are; the gap at the send obeys the new interval at once.
    pub fn set_interval(&self, interval: Nanos) {
        self.interval.store(interval);
        self.push_slots(self.free_at.load());
    }

    /// Takes the next slot: an absolute time, `now` at the earliest.
    pub fn reserve(&self, now: Nanos) -> Slot<'_, C> {
        let interval = self.interval.load();
        let mut next = self.next.load();
        loop {
            let at = next.max(now);
            match self.next.replace(next, at.saturating_add(interval)) {
                Ok(()) => {
                    self.waiting.add(1);
                    return Slot { grid: self, at, has_left: false };
                }
                Err(seen) => next = seen,
            }
        }
    }

    /// A request really left only now: a handshake, or other work of the machine, came between its slot and its first byte.
    pub fn left_late(&self, now: Nanos) {
        let interval = self.interval.load();
        self.free_at.raise(now.saturating_sub(slack(interval)).saturating_add(interval));
        self.push_slots(self.free_at.load());
    }

    /// Keeps the slots to come behind the calls that wait. Whatever moved `free_at` on (a late wake-up, calls that
    /// overtook each other, a handshake) then costs its time once, and later calls do not crowd at one moment.
    ///
    /// Two threads may see `waiting` one too low here, never too high: too low is mended by the next send, too high
    /// would lose a slot.
    fn push_slots(&self, free_at: Nanos) {
        let queue = self.waiting.load().saturating_mul(self.interval.load());
        self.next.raise(free_at.saturating_add(queue));
    }
}

impl<C: Cell> Slot<'_, C> {
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// Lets the request leave at `now`, if the gap to the last one is kept.
    pub fn leave(&mut self, now: Nanos) -> Result<(), TooSoon> {
        let grid = self.grid;
        let interval = grid.interval.load();
        let mut free_at = grid.free_at.load();
        loop {
            if now < free_at {
                return Err(TooSoon { free_at });
            }
            let after = free_at.max(now.saturating_sub(slack(interval))).saturating_add(interval);
            grid.waiting.subtract(1);
            match grid.free_at.replace(free_at, after) {
                Ok(()) => {
                    self.has_left = true;
                    grid.push_slots(after);
                    return Ok(());
                }
                Err(seen) => {
                    grid.waiting.add(1);
                    free_at = seen;
                }
            }
        }
    }
}

impl<C: Cell> Drop for Slot<'_, C> {
    fn drop(&mut self) {
        if !self.has_left {
            self.grid.waiting.subtract(1);
        }
    }
}

/// Every rule rests on one number at a time, so that no order between two of them is needed.
impl Cell for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn store(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    fn replace(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange_weak(current, new, Ordering::Relaxed, Ordering::Relaxed).map(drop)
    }

    fn raise(&self, floor: u64) {
        self.fetch_max(floor, Ordering::Relaxed);
    }

    fn add(&self, more: u64) {
        self.fetch_add(more, Ordering::Relaxed);
    }

    fn subtract(&self, less: u64) {
        self.fetch_sub(less, Ordering::Relaxed);
    }
}
