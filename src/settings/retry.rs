use std::time::Duration;

use super::resolved::Settings;

/// How often and after which waits a call is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetrySettings {
    /// Tries after the first.
    pub max_retries: u32,
    /// Wait before the first of them.
    pub delay: Duration,
    /// Each wait is the one before times this.
    pub multiplier: f64,
    /// No wait is longer.
    pub max_delay: Duration,
    /// A random time up to this is added to each wait.
    pub jitter: Duration,
    /// Upper limit of one call with all its tries.
    pub total_timeout: Option<Duration>,
    pub retry_after: RetryAfterRule,
    /// Rest after an error answer, with the permit held.
    pub error_pause: Duration,
    /// How long a provider that refused for speed is tested by single calls.
    pub throttle_patience: Duration,
}

/// What a `Retry-After` longer than our own wait does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfterRule {
    /// Never ask early: above `max_delay` the API is left alone until then.
    Strict,
    /// Wait `max_delay` at most.
    Capped,
    /// Our own wait.
    Ignore,
}

impl RetrySettings {
    /// The waits between the tries of one call, without jitter.
    pub fn waits(&self) -> Vec<Duration> {
        (0..self.max_retries).map(|retry| self.wait(retry)).collect()
    }

    /// The wait before retry number `retry`, counted from 0, without jitter.
    pub fn wait(&self, retry: u32) -> Duration {
        let factor = self.multiplier.powi(i32::try_from(retry).unwrap_or(i32::MAX));
        let seconds = (self.delay.as_secs_f64() * factor).min(self.max_delay.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }
}

impl RetryAfterRule {
    pub fn from_spelling(text: &str) -> Option<Self> {
        match text {
            "strict" => Some(Self::Strict),
            "capped" => Some(Self::Capped),
            "ignore" => Some(Self::Ignore),
            _ => None,
        }
    }
}

impl Default for RetrySettings {
    /// The values of `config/default.toml`.
    fn default() -> Self {
        Settings::defaults().retry
    }
}
