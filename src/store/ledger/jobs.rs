//! Runs, and what a job must show to be written to.

use jiff::Timestamp;

use super::carry::refuse_half_copied;
use super::spelling::instant;
use crate::model::job::{JobId, PartitionId, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::Job;
use crate::store::param::params;
use crate::store::tx::Tx;

const BEGIN_RUN: &str = "insert into run (command, started_at, version) values (?1, ?2, ?3) returning id";
const UNENDED_RUN: &str = "select 1 from run where id = (select max(id) from run) and ended_at is null";
const END_RUN: &str = "update run set ended_at = ?2, exit_code = ?3 where id = ?1";
const FIND_PARTITION: &str = "select id from partition where dataset = ?1 and key = ?2";
const NEW_PARTITION: &str = "insert into partition (dataset, key, region, month) values (?1, ?2, ?3, ?4)
    returning id";
const CLAIM: &str = "select state = 'running', token, read from job where id = ?1";
const SET_READ: &str = "update job set read = ?2 where id = ?1";
const DROP_OLDER_PAGES: &str = "delete from page where job = ?1 and read < ?2";
const DROP_OLDER_BODIES: &str = "delete from body where job = ?1 and read < ?2";
const DROP_BODIES: &str = "delete from body where job = ?1";
const DROPPED: &str = "update job set snapshot = 'dropped' where id = ?1";

/// Whether the latest run did not end by itself.
pub fn has_unended_run(tx: &Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.first(UNENDED_RUN, &[], |_| Ok(()))?.is_some())
}

pub fn begin_run(tx: &Tx<'_>, command: &str, version: &str, now: Timestamp) -> Result<RunId, StoreError> {
    refuse_half_copied(tx)?;
    let run = tx.first(BEGIN_RUN, params![command, instant(now), version], |line| line.get(0))?;
    let run = RunId(run.expect("an inserted line is returned"));
    tx.hold(run)?;
    Ok(run)
}

pub fn end_run(tx: &Tx<'_>, run: RunId, exit_code: u8, now: Timestamp) -> Result<(), StoreError> {
    tx.change(END_RUN, params![run.0, instant(now), exit_code])?;
    tx.release(run)
}

pub fn open_read(tx: &Tx<'_>, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
    open_read_of(tx, job)?;
    tx.change(SET_READ, params![job.id().0, read.0])?;
    let older_rows = format!("delete from \"{}_rows\" where _job = ?1 and _read < ?2", job.declared().id());
    for sql in [older_rows.as_str(), DROP_OLDER_PAGES, DROP_OLDER_BODIES] {
        tx.change(sql, params![job.id().0, read.0])?;
    }
    Ok(())
}

/// The read of a job that is open, if the claim on it still holds.
pub fn open_read_of(tx: &Tx<'_>, job: &Job) -> Result<ReadNumber, StoreError> {
    let claim = tx.first(CLAIM, params![job.id().0], |line| {
        Ok((line.get::<bool>(0)?, line.get::<Option<String>>(1)?, ReadNumber(line.get(2)?)))
    })?;
    match claim {
        Some((_, token, _)) if token.as_deref() != Some(job.token()) => Err(StoreError::Replaced { job: job.id() }),
        Some((true, _, read)) => Ok(read),
        Some((false, ..)) | None => Err(StoreError::JobOver { job: job.id() }),
    }
}

/// Drops the rows and bodies of a job; its lines in the ledger stay. Returns how many rows there were.
pub fn drop_snapshot(tx: &Tx<'_>, dataset: &Name, job: JobId) -> Result<u64, StoreError> {
    let rows = tx.execute(&format!("delete from \"{dataset}_rows\" where _job = ?1"), params![job.0])?;
    tx.change(DROP_BODIES, params![job.0])?;
    tx.change(DROPPED, params![job.0])?;
    Ok(rows)
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
    let values = params![declared.id().as_str(), partition.key(), region, month];
    let id = tx.first(NEW_PARTITION, values, |line| line.get(0))?;
    Ok(PartitionId(id.expect("an inserted line is returned")))
}

pub fn find_partition(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<Option<PartitionId>, StoreError> {
    let named = params![declared.id().as_str(), partition.key()];
    tx.first(FIND_PARTITION, named, |line| line.get(0).map(PartitionId))
}
