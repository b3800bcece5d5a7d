//! What other hosts with the same key have learned, and what they leave to this one.

use std::time::Duration;

use jiff::Timestamp;

use super::Caller;
use super::provider::Provider;
use crate::model::breaker::Health;
use crate::model::name::Name;

/// The hosts that ask with the same key, but for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Others {
    pub count: u32,
    /// Time between two requests of all hosts, as the slowest of these has it.
    pub slowest: Duration,
}

impl Caller {
    /// What these leave to this host from now on, with at least one request in flight. Returns how many are in flight at
    /// this moment: what is more than that goes when it has landed.
    pub fn share(&self, provider: &Name, others: Others, concurrency: u32) -> u32 {
        let Some(provider) = self.providers.get(provider) else { return 0 };
        provider.permits.set_most(concurrency);
        provider.pacer.keep_to(others.slowest, concurrency);
        provider.traffic.share_with(others.count);
        provider.permits.out()
    }

    /// Another host was refused for speed: nobody asks the provider for so long, and then canaries. Whether that is news.
    pub fn pause_as_elsewhere(&self, provider: &Name, left: Duration, why: &str) -> bool {
        self.providers.get(provider).is_some_and(|provider| provider.traffic.refused_elsewhere(left, why))
    }

    /// The canary of another host was answered.
    pub fn resume_as_elsewhere(&self, provider: &Name) {
        self.at(provider, |provider| provider.traffic.answered_elsewhere());
    }

    /// Another host was refused for good: nobody asks the provider in this run any more.
    pub fn stop_provider(&self, provider: &Name, dataset: &Name, why: &str) {
        self.at(provider, |provider| drop(provider.apis.leave_all_alone(dataset, why)));
    }

    /// Another host finds out whether the server of a dataset is back: where it is left alone here, it is until then.
    pub fn keep_breaker_open(&self, provider: &Name, dataset: &Name, until: Timestamp) {
        self.at(provider, |provider| provider.apis.change_breaker(dataset, |breaker, clock| breaker.keep_open(clock.at(until))));
    }

    /// What the calls of a dataset came to here, for others to count it in.
    pub fn health(&self, provider: &Name, dataset: &Name) -> Health {
        let provider = self.providers.get(provider);
        provider.map_or_else(Health::default, |provider| provider.apis.change_breaker(dataset, |breaker, _| breaker.health()))
    }

    /// The calls of another host came from `before` to `now_there`: they count like those of this one.
    pub fn hear_elsewhere(&self, provider: &Name, dataset: &Name, before: Health, now_there: Health) {
        self.at(provider, |provider| {
            provider.apis.change_breaker(dataset, |breaker, clock| breaker.heard_elsewhere(clock.now(), before, now_there));
        });
    }

    /// The breaker of another host closed: the server is back.
    pub fn close_breaker(&self, provider: &Name, dataset: &Name) {
        self.at(provider, |provider| provider.apis.change_breaker(dataset, |breaker, _| breaker.close_as_elsewhere()));
    }

    fn at(&self, provider: &Name, work: impl FnOnce(&Provider)) {
        if let Some(provider) = self.providers.get(provider) {
            work(provider);
        }
    }
}
