use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::fetch::Random;
use super::provider::ProviderLimits;
use super::ration::Ration;
use super::slots::Slots;
use crate::model::event::Listener;
use crate::settings::breaker::Breakers;
use crate::settings::http::HttpSettings;
use crate::settings::retry::RetrySettings;

/// How a run calls.
#[derive(Clone, Debug)]
pub struct CallerSettings {
    /// One for each provider that will be asked.
    pub providers: Vec<ProviderLimits>,
    pub http: HttpSettings,
    pub retry: RetrySettings,
    pub breakers: Breakers,
    /// Attempts the whole run may make; `None` is no limit.
    pub max_calls: Option<u64>,
    /// How long the run may last: nobody waits at a breaker for what comes later.
    pub max_runtime: Option<Duration>,
}

/// What a caller takes from the world around it.
#[derive(Clone)]
pub struct Surroundings {
    pub clock: Clock,
    /// For the jitter of retry waits.
    pub random: Random,
    pub listener: Arc<dyn Listener>,
    /// Counts the calls of the day.
    pub ration: Arc<dyn Ration>,
    /// Where other hosts ask with the same key: the times that are left to this one.
    pub slots: Option<Arc<dyn Slots>>,
}
