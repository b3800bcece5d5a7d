//! Runs, and jobs from their start to their last page.

use jiff::Timestamp;
use rusqlite::params;

use super::SqliteStore;
use super::ledger::instant;
use super::write::Tx;
use crate::model::job::{JobId, PartitionId, ReadNumber, RunId};
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::Job;

const BEGIN_RUN: &str = "insert into run (command, started_at, version) values (?1, ?2, ?3)";
const END_RUN: &str = "update run set ended_at = ?2, exit_code = ?3 where id = ?1";
const FIND_PARTITION: &str = "select id from partition where dataset = ?1 and key = ?2";
const NEW_PARTITION: &str = "insert into partition (dataset, key, region, month) values (?1, ?2, ?3, ?4)";
const LIVE_JOB: &str = "select id, run from job where partition = ?1 and state <> 'ended'";
const LOSE_JOB: &str = "update job set state = 'ended', verdict = ?2, why = ?3, ended_at = ?4 where id = ?1";
const NEW_JOB: &str = "insert into job (run, partition, state, definition_hash, started_at) values (?1, ?2, 'running', ?3, ?4)";
const SET_READ: &str = "update job set read = ?2 where id = ?1 and state = 'running'";
const DROP_OLDER_PAGES: &str = "delete from page where job = ?1 and read < ?2";
const DROP_OLDER_BODIES: &str = "delete from body where job = ?1 and read < ?2";
const DROP_BODIES: &str = "delete from body where job = ?1";

impl SqliteStore {
    pub async fn begin_run(&self, command: &str, version: &str, now: Timestamp) -> Result<RunId, StoreError> {
        self.write(|tx| {
            tx.execute(BEGIN_RUN, params![command, instant(now), version])?;
            Ok(RunId(tx.last_insert_rowid()))
        })
        .await
    }

    pub async fn end_run(&self, run: RunId, exit_code: u8, now: Timestamp) -> Result<(), StoreError> {
        self.write(|tx| tx.execute(END_RUN, params![run.0, instant(now), exit_code]).map(drop)).await
    }

    pub async fn start_job(
        &self,
        run: RunId,
        declared: &Declared,
        partition: &Partition,
        now: Timestamp,
    ) -> Result<Job, StoreError> {
        self.write(|tx| {
            let partition_id = partition_id(tx, declared, partition)?;
            if let Some((live, live_run)) =
                tx.first(LIVE_JOB, [partition_id.0], |row| Ok((JobId(row.get(0)?), RunId(row.get(1)?))))?
            {
                if live_run == run {
                    return Err(StoreError::JobRunning { job: live, partition: partition.key() });
                }
                let why = format!("run {live_run} ended without ending it");
                tx.execute(LOSE_JOB, params![live.0, Verdict::Lost.as_str(), why, instant(now)])?;
                drop_snapshot(tx, declared, live)?;
            }
            tx.execute(NEW_JOB, params![run.0, partition_id.0, declared.definition_hash(), instant(now)])?;
            Ok(Job::new(JobId(tx.last_insert_rowid()), partition_id, partition.clone(), declared.clone()))
        })
        .await
    }

    pub async fn open_read(&self, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
        self.write(|tx| {
            if tx.execute(SET_READ, params![job.id().0, read.0])? == 0 {
                return Err(StoreError::JobOver { job: job.id() });
            }
            let older_rows = format!("delete from \"{}_rows\" where _job = ?1 and _read < ?2", job.declared().id());
            for sql in [older_rows.as_str(), DROP_OLDER_PAGES, DROP_OLDER_BODIES] {
                tx.execute(sql, params![job.id().0, read.0])?;
            }
            Ok(())
        })
        .await
    }
}

/// Drops the rows and bodies of a job; its lines in the ledger stay. Returns how many rows there were.
pub fn drop_snapshot(tx: &Tx<'_>, declared: &Declared, job: JobId) -> Result<u64, StoreError> {
    let rows = tx.execute(&format!("delete from \"{}_rows\" where _job = ?1", declared.id()), [job.0])?;
    tx.execute(DROP_BODIES, [job.0])?;
    Ok(rows as u64)
}

fn partition_id(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<PartitionId, StoreError> {
    let (dataset, key) = (declared.id().as_str(), partition.key());
    if let Some(id) = tx.first(FIND_PARTITION, params![dataset, key], |row| row.get(0))? {
        return Ok(PartitionId(id));
    }
    assert!(
        partition.values().map(|(axis, _)| axis).eq(declared.axes()),
        "a partition has the axes of its dataset, in their order"
    );
    let region = declared.region_axis().and_then(|axis| partition.value(axis.as_str()));
    let month = declared.month_axis().and_then(|axis| partition.value(axis.as_str()));
    tx.execute(NEW_PARTITION, params![dataset, key, region, month])?;
    Ok(PartitionId(tx.last_insert_rowid()))
}
