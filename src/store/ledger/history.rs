//! What the ledger tells of one partition.

use crate::model::job::{JobId, PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::history::{AttemptLine, History, JobLine, JobTime, PageLine};
use crate::store::param::params;
use crate::store::tx::{Line, Misread, Tx};

const PARTITION: &str =
    "select id, published_job, published_at, checked_at, changed_at from partition where dataset = ?1 and key = ?2";
const JOBS: &str =
    "select id, run, verdict, why, claims, promised_first, promised_last, received, distinct_rows, started_at, ended_at,
        coalesce(store_ms, 0), coalesce(cast(time.network as bigint), 0), coalesce(cast(time.slot as bigint), 0),
        coalesce(cast(time.permit as bigint), 0), coalesce(cast(time.pause as bigint), 0), coalesce(cast(time.retry as bigint), 0)
    from job
    left join (select attempt.job as job, sum(took_ms) as network, sum(coalesce(slot_ms, 0)) as slot,
            sum(coalesce(permit_ms, 0)) as permit,
            sum(waited_ms - coalesce(slot_ms, 0) - coalesce(permit_ms, 0)) as pause, sum(coalesce(retry_ms, 0)) as retry
        from attempt join job of_it on of_it.id = attempt.job
        where of_it.partition = ?1
        group by attempt.job) time on time.job = job.id
    where partition = ?1
    order by id desc";
const PAGES: &str = "select read, number, rows, total, rows_hash, stored_at
    from page where job = ?1 order by read, number";
const ATTEMPTS: &str = "select read, page, try, sent, sent_at, took_ms, waited_ms, outcome, http_status, code, why, body_bytes
    from attempt where job = ?1 order by id";

pub fn history(tx: &Tx<'_>, dataset: &Name, partition: &Partition) -> Result<Option<History>, StoreError> {
    let found = tx.first(PARTITION, params![dataset.as_str(), partition.key()], |line| {
        let history = History {
            published_job: line.get::<Option<i64>>(1)?.map(JobId),
            published_at: line.spelled_or_null(2)?,
            checked_at: line.spelled_or_null(3)?,
            changed_at: line.spelled_or_null(4)?,
            jobs: Vec::new(),
            pages: Vec::new(),
            attempts: Vec::new(),
        };
        Ok((line.get::<i64>(0)?, history))
    })?;
    let Some((id, mut history)) = found else { return Ok(None) };
    history.jobs = tx.all(JOBS, params![id], job_line)?;
    if let Some(latest) = history.jobs.first() {
        history.pages = tx.all(PAGES, params![latest.id.0], page_line)?;
        history.attempts = tx.all(ATTEMPTS, params![latest.id.0], attempt_line)?;
    }
    Ok(Some(history))
}

fn job_line(line: &Line<'_>) -> Result<JobLine, Misread> {
    Ok(JobLine {
        id: JobId(line.get(0)?),
        run: RunId(line.get(1)?),
        verdict: line.spelled_as_or_null(2, Verdict::from_spelling)?,
        why: line.get(3)?,
        claims: line.get(4)?,
        promised_first: line.get(5)?,
        promised_last: line.get(6)?,
        received: line.get(7)?,
        distinct_rows: line.get(8)?,
        started_at: line.spelled(9)?,
        ended_at: line.spelled_or_null(10)?,
        time: JobTime {
            store_ms: line.get(11)?,
            network_ms: line.get(12)?,
            slot_ms: line.get(13)?,
            permit_ms: line.get(14)?,
            pause_ms: line.get(15)?,
            retry_ms: line.get(16)?,
        },
    })
}

fn page_line(line: &Line<'_>) -> Result<PageLine, Misread> {
    Ok(PageLine {
        read: ReadNumber(line.get(0)?),
        number: PageNumber(line.get(1)?),
        rows: line.get(2)?,
        total: line.get(3)?,
        rows_hash: line.get::<Vec<u8>>(4)?.iter().map(|byte| format!("{byte:02x}")).collect(),
        stored_at: line.spelled(5)?,
    })
}

fn attempt_line(line: &Line<'_>) -> Result<AttemptLine, Misread> {
    Ok(AttemptLine {
        read: ReadNumber(line.get(0)?),
        page: PageNumber(line.get(1)?),
        number: line.get(2)?,
        sent: line.get(3)?,
        sent_at: line.spelled(4)?,
        took_ms: line.get(5)?,
        waited_ms: line.get(6)?,
        outcome: line.get(7)?,
        http_status: line.get(8)?,
        code: line.get(9)?,
        why: line.get(10)?,
        body_bytes: line.get(11)?,
    })
}
