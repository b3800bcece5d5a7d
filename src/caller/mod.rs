//! The one place that makes HTTP requests. So far: when they may leave.

mod alarm;
mod clock;
mod pacer;

pub use clock::{Clock, Nanos};
pub use pacer::Pacer;
