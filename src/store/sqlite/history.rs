//! What the ledger tells of one partition.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::ledger::{count, required, spelled, verdict};
use crate::model::job::{JobId, PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::store::error::StoreError;
use crate::store::history::{AttemptLine, History, JobLine, PageLine};

const PARTITION: &str =
    "select id, published_job, published_at, checked_at, changed_at from partition where dataset = ?1 and key = ?2";
const JOBS: &str =
    "select id, run, verdict, why, claims, promised_first, promised_last, received, distinct_rows, started_at, ended_at
    from job where partition = ?1 order by id desc";
const PAGES: &str = "select read, number, rows, total, lower(hex(rows_hash)) as rows_hash, stored_at
    from page where job = ?1 order by read, number";
const ATTEMPTS: &str = "select read, page, try, sent, sent_at, took_ms, waited_ms, outcome, http_status, code, why, body_bytes
    from attempt where job = ?1 order by id";

impl SqliteStore {
    pub async fn history(&self, dataset: &Name, partition: &Partition) -> Result<Option<History>, StoreError> {
        let found = sqlx::query(PARTITION).bind(dataset.as_str()).bind(partition.key()).fetch_optional(&self.readers).await;
        let Some(found) = found.map_err(|source| self.failed(source))? else { return Ok(None) };
        self.read_history(&found).await.map(Some).map_err(|source| self.failed(source))
    }

    async fn read_history(&self, found: &SqliteRow) -> Result<History, sqlx::Error> {
        let id: i64 = found.try_get("id")?;
        let jobs = sqlx::query(JOBS).bind(id).fetch_all(&self.readers).await?;
        let jobs = jobs.iter().map(job_line).collect::<Result<Vec<_>, _>>()?;
        let latest = jobs.first().map(|job| job.id.0);
        let pages = sqlx::query(PAGES).bind(latest).fetch_all(&self.readers).await?;
        let attempts = sqlx::query(ATTEMPTS).bind(latest).fetch_all(&self.readers).await?;
        Ok(History {
            published_job: found.try_get::<Option<i64>, _>("published_job")?.map(JobId),
            published_at: spelled(found, "published_at")?,
            checked_at: spelled(found, "checked_at")?,
            changed_at: spelled(found, "changed_at")?,
            jobs,
            pages: pages.iter().map(page_line).collect::<Result<_, _>>()?,
            attempts: attempts.iter().map(attempt_line).collect::<Result<_, _>>()?,
        })
    }
}

fn job_line(row: &SqliteRow) -> Result<JobLine, sqlx::Error> {
    Ok(JobLine {
        id: JobId(row.try_get("id")?),
        run: RunId(row.try_get("run")?),
        verdict: verdict(row, "verdict")?,
        why: row.try_get("why")?,
        claims: row.try_get("claims")?,
        promised_first: count(row, "promised_first")?,
        promised_last: count(row, "promised_last")?,
        received: count(row, "received")?,
        distinct_rows: count(row, "distinct_rows")?,
        started_at: required(spelled(row, "started_at")?)?,
        ended_at: spelled(row, "ended_at")?,
    })
}

fn page_line(row: &SqliteRow) -> Result<PageLine, sqlx::Error> {
    Ok(PageLine {
        read: ReadNumber(row.try_get("read")?),
        number: PageNumber(row.try_get("number")?),
        rows: required(count(row, "rows")?)?,
        total: count(row, "total")?,
        rows_hash: row.try_get("rows_hash")?,
        stored_at: required(spelled(row, "stored_at")?)?,
    })
}

fn attempt_line(row: &SqliteRow) -> Result<AttemptLine, sqlx::Error> {
    Ok(AttemptLine {
        read: ReadNumber(row.try_get("read")?),
        page: PageNumber(row.try_get("page")?),
        number: row.try_get("try")?,
        sent: row.try_get("sent")?,
        sent_at: required(spelled(row, "sent_at")?)?,
        took_ms: required(count(row, "took_ms")?)?,
        waited_ms: required(count(row, "waited_ms")?)?,
        outcome: row.try_get("outcome")?,
        http_status: row.try_get("http_status")?,
        code: row.try_get("code")?,
        why: row.try_get("why")?,
        body_bytes: required(count(row, "body_bytes")?)?,
    })
}
