//! Runs, and what a job must show to be written to.

use jiff::Timestamp;
use rusqlite::params;

use super::SqliteStore;
use super::ledger::instant;
use super::write::Tx;
use crate::model::job::{JobId, PartitionId, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::Job;

const BEGIN_RUN: &str = "insert into run (command, started_at, version) values (?1, ?2, ?3)";
const UNENDED_RUN: &str = "select 1 from run where id = (select max(id) from run) and ended_at is null";
const END_RUN: &str = "update run set ended_at = ?2, exit_code = ?3 where id = ?1";
const FIND_PARTITION: &str = "select id from partition where dataset = ?1 and key = ?2";
const NEW_PARTITION: &str = "insert into partition (dataset, key, region, month) values (?1, ?2, ?3, ?4)";
const CLAIM: &str = "select state = 'running', token, read from job where id = ?1";
const SET_READ: &str = "update job set read = ?2 where id = ?1";
const DROP_OLDER_PAGES: &str = "delete from page where job = ?1 and read < ?2";
const DROP_OLDER_BODIES: &str = "delete from body where job = ?1 and read < ?2";
const DROP_BODIES: &str = "delete from body where job = ?1";
const DROPPED: &str = "update job set snapshot = 'dropped' where id = ?1";

impl SqliteStore {
    pub async fn begin_run(&self, command: &str, version: &str, now: Timestamp) -> Result<RunId, StoreError> {
        // Here and not when opening: only who holds the lock knows that a run without an end is dead.
        if self.read(|tx| tx.first(UNENDED_RUN, [], |_| Ok(()))).await?.is_some() {
            self.check().await?;
        }
        self.write(|tx| {
            tx.execute(BEGIN_RUN, params![command, instant(now), version])?;
            Ok(RunId(tx.last_insert_rowid()))
        })
        .await
    }

    pub async fn end_run(&self, run: RunId, exit_code: u8, now: Timestamp) -> Result<(), StoreError> {
        self.write(|tx| tx.execute(END_RUN, params![run.0, instant(now), exit_code]).map(drop)).await
    }

    pub async fn open_read(&self, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
        self.write(|tx| open_read(tx, job, read)).await
    }
}

pub fn open_read(tx: &Tx<'_>, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
    open_read_of(tx, job)?;
    tx.execute(SET_READ, params![job.id().0, read.0])?;
    let older_rows = format!("delete from \"{}_rows\" where _job = ?1 and _read < ?2", job.declared().id());
    for sql in [older_rows.as_str(), DROP_OLDER_PAGES, DROP_OLDER_BODIES] {
        tx.execute(sql, params![job.id().0, read.0])?;
    }
    Ok(())
}

/// The read of a job that is open, if the claim on it still holds.
pub fn open_read_of(tx: &Tx<'_>, job: &Job) -> Result<ReadNumber, StoreError> {
    let claim = tx.first(CLAIM, [job.id().0], |row| {
        Ok((row.get::<_, bool>(0)?, row.get::<_, Option<String>>(1)?, ReadNumber(row.get(2)?)))
    })?;
    match claim {
        Some((_, token, _)) if token.as_deref() != Some(job.token()) => Err(StoreError::Replaced { job: job.id() }),
        Some((true, _, read)) => Ok(read),
        Some((false, ..)) | None => Err(StoreError::JobOver { job: job.id() }),
    }
}

/// Drops the rows and bodies of a job; its lines in the ledger stay. Returns how many rows there were.
pub fn drop_snapshot(tx: &Tx<'_>, dataset: &Name, job: JobId) -> Result<u64, StoreError> {
    let rows = tx.execute(&format!("delete from \"{dataset}_rows\" where _job = ?1"), [job.0])?;
    tx.execute(DROP_BODIES, [job.0])?;
    tx.execute(DROPPED, [job.0])?;
    Ok(rows as u64)
}

/// The line of a partition in the ledger, made when it is asked for the first time.
pub fn partition_id(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<PartitionId, StoreError> {
    if let Some(id) = find_partition(tx, declared, partition)? {
        return Ok(id);
    }
    assert!(
        partition.values().map(|(axis, _)| axis).eq(declared.axes()),
        "a partition has the axes of its dataset, in their order"
    );
    let region = declared.region_axis().and_then(|axis| partition.value(axis.as_str()));
    let month = declared.month_axis().and_then(|axis| partition.value(axis.as_str()));
    tx.execute(NEW_PARTITION, params![declared.id().as_str(), partition.key(), region, month])?;
    Ok(PartitionId(tx.last_insert_rowid()))
}

pub fn find_partition(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<Option<PartitionId>, StoreError> {
    let named = params![declared.id().as_str(), partition.key()];
    tx.first(FIND_PARTITION, named, |row| row.get(0).map(PartitionId))
}
