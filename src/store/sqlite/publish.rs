//! The end of a job: what becomes visible and what goes.

use rusqlite::params;

use super::SqliteStore;
use super::jobs::{drop_snapshot, open_read_of};
use super::ledger::instant;
use super::pages::{number, optional};
use super::rows;
use super::write::Tx;
use crate::model::job::{JobId, ReadNumber};
use crate::model::partition::Partition;
use crate::model::record::RowHash;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Job, JobEnd, Settled, Superseded};

const END_JOB: &str = "update job
    set state = 'ended', verdict = ?2, why = ?3, read = ?4, promised_first = ?5, promised_last = ?6, received = ?7,
        distinct_rows = ?8, ended_at = ?9
    where id = ?1";
const DROP_OTHER_PAGES: &str = "delete from page where job = ?1 and read <> ?2";
const DROP_OTHER_BODIES: &str = "delete from body where job = ?1 and read <> ?2";
const PUBLISHED: &str = "select j.id, j.read, j.definition_hash from partition p join job j on j.id = p.published_job
    where p.id = ?1";
const CHECK: &str = "update partition set checked_at = ?2 where id = ?1";
const PUBLISH: &str =
    "update partition set published_job = ?2, published_at = ?3, checked_at = ?3, changed_at = ?3 where id = ?1";
/// Jobs that ended without being published, of a kind nobody has to decide on.
const LEFT_BEHIND: &str = "select id from job
    where partition = ?1 and state = 'ended' and id <> ?2 and verdict in ('short', 'failed', 'deferred', 'lost')";
const HELD: &str = "select id from job where partition = ?1 and state = 'ended' and id <> ?2 and verdict = 'held'
    and id not in (select published_job from partition where id = ?1 and published_job is not null)";

impl SqliteStore {
    pub async fn end_job(&self, end: JobEnd<'_>) -> Result<Settled, StoreError> {
        self.write(|tx| settle(tx, &end)).await
    }

    pub async fn published_hashes(&self, declared: &Declared, partition: &Partition) -> Result<Vec<RowHash>, StoreError> {
        // One statement, so that what is published can not change under it.
        let sql = format!(
            "select r._row_hash from partition p join \"{id}_rows\" r on r._job = p.published_job
             where p.dataset = ?1 and p.key = ?2",
            id = declared.id()
        );
        let mut connection = self.readers.acquire().await.map_err(|source| self.failed(source))?;
        let hashes = rows::on_handle(&mut connection, |db| {
            let tx = Tx::reading(db, &self.path);
            let hashes = tx.all(&sql, params![declared.id().as_str(), partition.key()], |row| row.get(0).map(RowHash));
            hashes.map(sorted)
        });
        hashes.await.unwrap_or_else(|source| Err(self.failed(source)))
    }
}

fn settle(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<Settled, StoreError> {
    let job = end.job;
    open_read_of(tx, job)?;
    let line = params![
        job.id().0,
        end.verdict.as_str(),
        end.why,
        end.read.0,
        optional(end.promised_first),
        optional(end.promised_last),
        number(end.received),
        number(end.distinct),
        instant(end.now),
    ];
    tx.execute(END_JOB, line)?;
    drop_other_reads(tx, job, end.read)?;
    let settled = if end.verdict.is_published() { publish(tx, end)? } else { Settled::Kept };
    for sql in [Some(LEFT_BEHIND), end.verdict.is_published().then_some(HELD)].into_iter().flatten() {
        let jobs = tx.all(sql, params![job.partition_id().0, job.id().0], |row| row.get(0).map(JobId))?;
        for left in jobs {
            drop_snapshot(tx, job.declared(), left)?;
        }
    }
    Ok(settled)
}

fn publish(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<Settled, StoreError> {
    let (job, declared, partition) = (end.job, end.job.declared(), end.job.partition_id());
    let content = hashes(tx, declared, job.id(), end.read)?;
    if content.len() as u64 != end.received {
        return Err(StoreError::Miscounted { job: job.id(), received: end.received, stored: content.len() as u64 });
    }
    let before =
        tx.first(PUBLISHED, [partition.0], |row| Ok((JobId(row.get(0)?), ReadNumber(row.get(1)?), row.get::<_, String>(2)?)))?;
    if let Some((published, read, definition_hash)) = &before {
        // Under another definition the same answer may fill other columns, so it counts as changed.
        let is_same_definition = definition_hash == declared.definition_hash();
        if is_same_definition && hashes(tx, declared, *published, *read)? == content {
            tx.execute(CHECK, params![partition.0, instant(end.now)])?;
            drop_snapshot(tx, declared, job.id())?;
            return Ok(Settled::Unchanged);
        }
    }
    tx.execute(PUBLISH, params![partition.0, job.id().0, instant(end.now)])?;
    let superseded_rows = match (before, end.superseded) {
        (Some((published, ..)), Superseded::Removed) => drop_snapshot(tx, declared, published)?,
        (Some(_), Superseded::Kept) | (None, _) => 0,
    };
    Ok(Settled::Published { superseded_rows })
}

fn drop_other_reads(tx: &Tx<'_>, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
    let rows = format!("delete from \"{}_rows\" where _job = ?1 and _read <> ?2", job.declared().id());
    for sql in [rows.as_str(), DROP_OTHER_PAGES, DROP_OTHER_BODIES] {
        tx.execute(sql, params![job.id().0, read.0])?;
    }
    Ok(())
}

/// The row hashes of a snapshot, sorted: equal lists are equal multisets.
fn hashes(tx: &Tx<'_>, declared: &Declared, job: JobId, read: ReadNumber) -> Result<Vec<RowHash>, StoreError> {
    let sql = format!("select _row_hash from \"{}_rows\" where _job = ?1 and _read = ?2", declared.id());
    tx.all(&sql, params![job.0, read.0], |row| row.get(0).map(RowHash)).map(sorted)
}

fn sorted(mut hashes: Vec<RowHash>) -> Vec<RowHash> {
    hashes.sort_unstable();
    hashes
}
