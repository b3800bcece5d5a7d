//! Which rate and how many calls in flight a source bears: a tested envelope, found through the very caller that collects.
//!
//! Base, ladder, refine, soak. The first refusal ends the load: single canaries find out how long it lasts, and what
//! lasts long is a ban, after which nothing more is tried. The answer is what was tested, never a model of the limiter.

mod answer;
mod climb;
mod envelope;
mod evidence;
pub mod learn;
mod light;
mod range;
pub mod report;
mod search;
mod shot;
pub mod step;
mod target;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use range::{Ears, MakeCall};
pub use search::{ladder, search};
pub use target::{Bounds, Row, Target, Tell, Told};

use crate::settings::resolved::Settings;
use crate::settings::retry::{RetryAfterRule, RetrySettings};

/// Retries for calls whose every failure is to be seen: none, but for a connection that was closed before it was used.
pub fn single_tries(max_wait: Duration) -> RetrySettings {
    RetrySettings {
        max_retries: 1,
        // Shorter than any wait: none is waited for.
        total_timeout: Some(Duration::from_nanos(1)),
        retry_after: RetryAfterRule::Strict,
        error_pause: Duration::ZERO,
        throttle_patience: max_wait,
        ..Settings::defaults().retry
    }
}
