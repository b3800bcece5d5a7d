//! How a snapshot becomes the visible one.

use jiff::Timestamp;
use rusqlite::params;

use super::content::row_hashes;
use super::jobs::drop_snapshot;
use super::ledger::instant;
use super::write::Tx;
use crate::model::job::{JobId, PartitionId, ReadNumber};
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Settled, Superseded};

const PUBLISHED: &str = "select j.id, j.read, j.definition_hash from partition p join job j on j.id = p.published_job
    where p.id = ?1";
const CHECK: &str = "update partition set checked_at = ?2 where id = ?1";
const PUBLISH: &str =
    "update partition set published_job = ?2, published_at = ?3, checked_at = ?3, changed_at = ?3 where id = ?1";
/// Whole snapshots that are there and that nothing points to.
const SUPERSEDED: &str = "select j.id from job j join partition p on p.id = j.partition
    where p.id = ?1 and j.snapshot = 'kept' and j.verdict in ('complete', 'empty', 'unverified')
    and j.id is not p.published_job";

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

/// Makes a snapshot the visible one, unless its rows are visible already.
pub fn publish(tx: &Tx<'_>, snapshot: &Snapshot<'_>) -> Result<Settled, StoreError> {
    let Snapshot { declared, partition, job, now, .. } = *snapshot;
    if is_visible_already(tx, snapshot)? {
        tx.execute(CHECK, params![partition.0, instant(now)])?;
        drop_snapshot(tx, declared.id(), job)?;
        return Ok(Settled::Unchanged);
    }
    tx.execute(PUBLISH, params![partition.0, job.0, instant(now)])?;
    let superseded_rows = match snapshot.superseded {
        Superseded::Removed => drop_superseded(tx, declared, partition)?,
        Superseded::Kept => 0,
    };
    Ok(Settled::Published { superseded_rows })
}

fn is_visible_already(tx: &Tx<'_>, snapshot: &Snapshot<'_>) -> Result<bool, StoreError> {
    let read = |row: &rusqlite::Row<'_>| Ok((JobId(row.get(0)?), ReadNumber(row.get(1)?), row.get::<_, String>(2)?));
    let Some((published, read, definition_hash)) = tx.first(PUBLISHED, [snapshot.partition.0], read)? else {
        return Ok(false);
    };
    // Under another definition the same answer may fill other columns, so it counts as changed.
    Ok(definition_hash == snapshot.definition_hash
        && row_hashes(tx, snapshot.declared, published, read)? == row_hashes(tx, snapshot.declared, snapshot.job, snapshot.read)?)
}

/// Also those of earlier times, when superseded snapshots were kept.
fn drop_superseded(tx: &Tx<'_>, declared: &Declared, partition: PartitionId) -> Result<u64, StoreError> {
    let jobs = tx.all(SUPERSEDED, [partition.0], |row| row.get(0).map(JobId))?;
    jobs.into_iter().try_fold(0, |rows, job| Ok(rows + drop_snapshot(tx, declared.id(), job)?))
}
