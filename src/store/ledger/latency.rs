//! How long good answers took.

use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::Tx;

/// Times of the newest good answers of a dataset, in milliseconds, newest first.
const LATEST: &str = "select attempt.took_ms
    from attempt
    join job on job.id = attempt.job
    join partition on partition.id = job.partition
    where partition.dataset = ?1 and attempt.outcome in (?2, ?3)
    order by attempt.id desc
    limit ?4";

pub fn latest(tx: &Tx<'_>, dataset: &Name, count: u32) -> Result<Vec<u64>, StoreError> {
    let [page, empty] = [Outcome::Page, Outcome::Empty].map(Outcome::as_str);
    tx.all(LATEST, params![dataset.as_str(), page, empty, count], |line| line.get(0))
}
