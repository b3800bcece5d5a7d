use std::time::{Duration, Instant};

use super::failure;
use crate::store::error::StoreError;

/// The first wait is short: most of what passes has passed by then.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long what passes by itself is waited for, and with which steps.
pub struct Patience {
    until: Instant,
    wait: Duration,
}

impl Patience {
    pub fn of(time: Duration) -> Self {
        Self { until: Instant::now() + time, wait: FIRST_WAIT }
    }

    /// Waits a step, if the error is one that passes and there is time left; else at once `false`.
    pub async fn outlasts(&mut self, error: &StoreError) -> bool {
        if !failure::passes(error) || Instant::now() + self.wait > self.until {
            return false;
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        true
    }
}
