use super::api::Apis;
use super::breaker::Sign;
use crate::model::name::Name;

/// Leave by the breaker of an API. Dropped without an outcome, it says nothing of the server's health.
pub(super) struct Ticket<'a> {
    apis: &'a Apis,
    dataset: Name,
    epoch: u64,
    /// Whether an attempt counts that is not the last of its call.
    counts_attempts: bool,
    is_back: bool,
}

impl<'a> Ticket<'a> {
    pub(super) fn new(apis: &'a Apis, dataset: Name, epoch: u64, counts_attempts: bool) -> Self {
        Self { apis, dataset, epoch, counts_attempts, is_back: false }
    }

    pub(super) fn dataset(&self) -> &Name {
        &self.dataset
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What became of the call.
    pub(super) fn tell(mut self, sign: Sign<'_>) {
        self.give_back(sign);
    }

    /// What became of the attempt, if attempts count, or if it is what became of the call.
    pub(super) fn tell_if(self, is_final: bool, sign: Sign<'_>) {
        let counts = is_final || self.counts_attempts;
        self.tell(if counts { sign } else { Sign::None });
    }

    fn give_back(&mut self, sign: Sign<'_>) {
        if !std::mem::replace(&mut self.is_back, true) {
            self.apis.heard(&self.dataset, self.epoch, sign);
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.give_back(Sign::None);
    }
}
