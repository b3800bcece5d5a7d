//! What the calls of all hosts come to: each judges a server by those of all.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::{Mine, Sharing, lock};
use crate::caller::Caller;
use crate::model::breaker::Health;
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::error::StoreError;
use crate::store::sharing::HealthOfRun;

/// The last counts of other runs, by run and dataset.
pub(super) type Counted = HashMap<(RunId, Name), Health>;

impl Sharing {
    /// Tells the others what the calls of this run came to, and counts in what theirs did since the last time.
    pub(super) async fn compare_health(&self, mine: &Mine, caller: &Caller) -> Result<(), StoreError> {
        if !mine.has_company.load(Ordering::Relaxed) {
            return Ok(());
        }
        let provider = &mine.share.provider;
        let datasets = self.providers.iter().filter(|(_, of)| *of == provider).map(|(dataset, _)| dataset);
        let own: Vec<(Name, Health)> = datasets.map(|dataset| (dataset.clone(), caller.health(provider, dataset))).collect();
        for HealthOfRun { run, dataset, health } in self.table().compare_health(&mine.share, &own).await? {
            // What one came to before it was first heard of is not of now.
            let before = lock(&mine.counted).insert((run, dataset.clone()), health).unwrap_or(health);
            if before != health && self.providers.get(&dataset) == Some(provider) {
                caller.hear_elsewhere(provider, &dataset, before, health);
            }
        }
        Ok(())
    }
}
