use std::time::Duration;

use super::http::HttpSettings;
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

    /// How long a permit can be held by one attempt: the rest after an error answer included.
    pub fn longest_attempt(&self, http: &HttpSettings) -> Duration {
        http.total_timeout + self.error_pause
    }

    /// How long one call can take with all its tries and our own waits between them, once its turn has come.
    pub fn longest_call(&self, http: &HttpSettings) -> Duration {
        let between: Duration = self.waits().iter().map(|wait| (*wait).min(self.max_delay.saturating_sub(self.jitter))).sum();
        let together = self.longest_attempt(http) * (self.max_retries + 1) + between + self.jitter * self.max_retries;
        self.total_timeout.map_or(together, |limit| limit.min(together))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_call_is_all_tries_and_all_waits_within_its_own_limit() {
        let http = HttpSettings::default();
        let check =
            |retry: RetrySettings, seconds: f64| assert_eq!(retry.longest_call(&http).as_secs_f64(), seconds, "{retry:?}");
        let usual = RetrySettings::default();
        check(usual.clone(), 5.0 * 60.5 + 2.0 + 6.0 + 18.0 + 54.0);
        check(RetrySettings { max_retries: 0, ..usual.clone() }, 60.5);
        check(RetrySettings { jitter: Duration::from_secs(10), ..usual.clone() }, 302.5 + 2.0 + 6.0 + 18.0 + 50.0 + 40.0);
        check(RetrySettings { total_timeout: Some(Duration::from_secs(90)), ..usual }, 90.0);
    }
}
