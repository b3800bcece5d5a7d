use jiff::Timestamp;

use super::Caller;
use super::api::{Asker, Leave};
use super::breaker::Breaker;
use super::call::End;
use super::clock::Clock;
use crate::model::name::Name;
use crate::model::rate::Rate;

/// What a run tells its caller beside the calls: whom to leave alone, how fast to ask, when to stop.
impl Caller {
    /// Nobody asks for a dataset of the provider in this run any more; its calls are deferred.
    pub fn stop_api(&self, provider: &Name, dataset: &Name, why: &str) {
        if let Some(provider) = self.providers.get(provider) {
            provider.apis.leave_alone(dataset, None, why);
        }
    }

    /// Nobody asks for a dataset of the provider before then: what an earlier run was told still holds.
    pub fn leave_alone(&self, provider: &Name, dataset: &Name, until: Timestamp, why: &str) {
        if let Some(provider) = self.providers.get(provider) {
            provider.apis.leave_alone(dataset, Some(until), why);
        }
    }

    /// Why a dataset of the provider is left alone at this moment, if it is.
    pub fn stopped_api(&self, provider: &Name, dataset: &Name) -> Option<String> {
        match self.providers.get(provider)?.apis.leave(dataset, Asker::Anyone) {
            Leave::LeftAlone(left) => Some(End::from(left).to_string()),
            Leave::Granted | Leave::Doubted | Leave::Parked { .. } => None,
        }
    }

    /// An earlier run left the breaker of a dataset open until then, after so many openings in a row; or another host did.
    pub fn reopen_breaker(&self, provider: &Name, dataset: &Name, until: Timestamp, openings: u32, why: &str) {
        if let Some(provider) = self.providers.get(provider) {
            let reopen = |breaker: &mut Breaker, clock: &Clock| breaker.reopen(clock.now(), clock.at(until), openings, why);
            provider.apis.change_breaker(dataset, reopen);
        }
    }

    /// Whether calls of a dataset would wait at its breaker at this moment.
    pub fn is_parked(&self, provider: &Name, dataset: &Name) -> bool {
        let Some(provider) = self.providers.get(provider) else { return false };
        match provider.apis.leave(dataset, Asker::Anyone) {
            Leave::Parked { .. } => true,
            Leave::Granted | Leave::Doubted | Leave::LeftAlone(_) => false,
        }
    }

    /// Waits until a call of one of these datasets of the provider would not wait at its breaker, or the run is stopping.
    pub async fn unparked(&self, provider: &Name, datasets: &[&Name]) {
        if let Some(provider) = self.providers.get(provider) {
            // Whoever waits looks for itself which of them it was.
            let _ = self.rules.stop.before(provider.apis.unparked(datasets)).await;
        }
    }

    /// Other limits for a provider from now on: at least one request in flight.
    pub fn steer(&self, provider: &Name, rate: Rate, concurrency: u32) {
        if let Some(provider) = self.providers.get(provider) {
            provider.steer(rate.interval(), concurrency);
        }
    }

    /// Whether no new attempt begins: the run was stopped, or its calls are used up.
    pub fn is_stopping(&self) -> bool {
        self.rules.stop.is_stopping()
    }

    /// No new attempt begins: whoever waits for one ends as interrupted. Requests in flight may land.
    pub fn stop_claiming(&self) {
        self.rules.stop.no_new_attempts();
    }

    /// Everything ends now, requests in flight too.
    pub fn stop_now(&self) {
        self.rules.stop.at_once();
    }
}
