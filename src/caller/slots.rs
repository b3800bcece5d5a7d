use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use super::clock::Nanos;
use crate::model::name::Name;

/// Gives out the times in which requests of a provider may leave, where several hosts share its rate.
///
/// Time is that of a clock all of them see. Whoever keeps it gives each stretch of it to one host alone.
pub trait Slots: Send + Sync {
    /// Reserves time for a few requests.
    ///
    /// It waits out whatever passes. Where it cannot reserve any more it never answers, and whoever gave it ends the run:
    /// nothing is sent that no slot was granted for.
    fn reserve<'a>(&'a self, wish: Wish) -> Pin<Box<dyn Future<Output = Batch> + Send + 'a>>;

    /// Whether a canary may go when a pause is over: one at a time, over all hosts.
    fn grants_canary<'a>(&'a self, provider: &'a Name) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
}

/// Slots that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub provider: Name,
    /// At least 1.
    pub count: u32,
    /// Time between two requests, as this host would have it.
    pub interval: Duration,
    /// Time beyond that of the slots: what is not known of the other clock.
    pub margin: Duration,
}

/// Time that is this host's alone: at most one request an interval leaves in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// From here to `end`, by the shared clock.
    pub start: Nanos,
    pub end: Nanos,
    pub count: u32,
    /// Time between two requests, as the slowest of all hosts has it.
    pub interval: Duration,
    pub reading: Reading,
}

/// What the shared clock said, asked and heard at these moments of ours: it was that late at one moment between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub asked: Nanos,
    pub told: Nanos,
    pub heard: Nanos,
}

impl fmt::Debug for dyn Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slots")
    }
}
