//! How a snapshot becomes the visible one.

use jiff::Timestamp;

use super::content::row_hashes;
use super::jobs::drop_snapshot;
use super::reforms::{self, Side};
use super::spelling::instant;
use crate::model::job::{JobId, PartitionId, ReadNumber};
use crate::model::name::Name;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Settled, Superseded};
use crate::store::param::params;
use crate::store::tx::Tx;

/// The snapshot that a new one takes the place of.
const CURRENT: &str = "select j.id, j.read, j.definition_hash
    from partition p join job j on j.id = coalesce(p.waiting_job, p.published_job)
    where p.id = ?1";
const CHECK: &str = "update partition set checked_at = ?2 where id = ?1";
const PUBLISH: &str = "update partition
    set published_job = ?2, published_at = ?3, checked_at = ?3, changed_at = ?3, waiting_job = null where id = ?1";
const LET_WAIT: &str = "update partition set waiting_job = ?2, checked_at = ?3 where id = ?1";
const POINTERS: &str = "select published_job, waiting_job from partition where id = ?1";
/// Whole snapshots that are there and that nothing points to.
const SUPERSEDED: &str = "select j.id from job j join partition p on p.id = j.partition
    where p.id = ?1 and j.snapshot = 'kept' and j.verdict in ('complete', 'empty', 'unverified')
    and j.id is distinct from p.published_job and j.id is distinct from p.waiting_job
    and j.id is distinct from p.replaced_job";

/// A whole snapshot that is to become the visible one.
pub struct Snapshot<'a> {
    pub declared: &'a Declared,
    pub partition: PartitionId,
    pub job: JobId,
    pub read: ReadNumber,
    /// Of its job.
    pub definition_hash: &'a str,
    pub superseded: Superseded,
    pub now: Timestamp,
}

/// Makes a snapshot the visible one, unless its rows are there already or must wait for those of other districts.
pub fn publish(tx: &Tx<'_>, snapshot: &Snapshot<'_>) -> Result<Settled, StoreError> {
    let Snapshot { declared, partition, job, superseded, now, .. } = *snapshot;
    let reform = reforms::of_partition(tx, declared, partition)?;
    let is_known = is_known(tx, snapshot)?;
    if is_known {
        tx.change(CHECK, params![partition.0, instant(now)])?;
        drop_snapshot(tx, declared.id(), job)?;
    } else {
        let must_wait = match &reform {
            Some(reform) => reform.side == Side::Successor && reform.is_open(tx)?,
            None => false,
        };
        let publish = if must_wait { LET_WAIT } else { PUBLISH };
        tx.change(publish, params![partition.0, job.0, instant(now)])?;
    }
    if let Some(reform) = reform {
        reform.settle(tx, superseded, now)?;
    }
    let superseded_rows = match superseded {
        Superseded::Removed => drop_superseded(tx, declared.id(), partition)?,
        Superseded::Kept => 0,
    };
    if is_known {
        return Ok(Settled::Unchanged);
    }
    let pointers =
        tx.first(POINTERS, params![partition.0], |line| Ok((line.get::<Option<i64>>(0)?, line.get::<Option<i64>>(1)?)))?;
    Ok(match pointers {
        Some((Some(published), _)) if published == job.0 => Settled::Published { superseded_rows },
        Some((_, Some(waiting))) if waiting == job.0 => Settled::Waiting,
        // Its code is retired and its place is taken.
        Some(_) | None => Settled::Kept,
    })
}

/// Drops what is whole and nothing points to, also of earlier times, when superseded snapshots were kept.
pub fn drop_superseded(tx: &Tx<'_>, dataset: &Name, partition: PartitionId) -> Result<u64, StoreError> {
    let jobs = tx.all(SUPERSEDED, params![partition.0], |line| line.get(0).map(JobId))?;
    jobs.into_iter().try_fold(0, |rows, job| Ok(rows + drop_snapshot(tx, dataset, job)?))
}

/// Whether its rows are those of the snapshot before.
fn is_known(tx: &Tx<'_>, snapshot: &Snapshot<'_>) -> Result<bool, StoreError> {
    let current = tx.first(CURRENT, params![snapshot.partition.0], |line| {
        Ok((JobId(line.get(0)?), ReadNumber(line.get(1)?), line.get::<String>(2)?))
    })?;
    let Some((published, read, definition_hash)) = current else { return Ok(false) };
    // Under another definition the same answer may fill other columns, so it counts as changed.
    Ok(definition_hash == snapshot.definition_hash
        && row_hashes(tx, snapshot.declared, published, read)? == row_hashes(tx, snapshot.declared, snapshot.job, snapshot.read)?)
}
