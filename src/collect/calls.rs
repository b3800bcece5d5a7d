use std::sync::Arc;

use crate::caller::{Call, Place};
use crate::model::attempt::CallLabel;
use crate::model::partition::Partition;
use crate::reconcile::step::Ask;
use crate::store::job::Job;

use super::judge::judge_for;
use super::source::Source;

/// What every call of a job has in common.
pub(super) struct Calls<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) partition: &'a Partition,
    pub(super) job: &'a Job,
    pub(super) place: &'a Place,
}

impl Calls<'_> {
    pub(super) fn call(&self, ask: &Ask) -> Call {
        Call {
            provider: self.source.provider.id.clone(),
            label: CallLabel {
                dataset: self.source.dataset.id.clone(),
                partition: self.partition.clone(),
                job: self.job.id(),
                read: ask.read,
                page: ask.page,
            },
            request: self.source.request(self.partition, ask),
            judge: judge_for(self.source, self.partition, ask.due),
            place: Some(self.place.clone()),
            abandoned: None,
            failed: None,
        }
    }
}
