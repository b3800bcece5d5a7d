//! Pages and attempts as they come in.

use jiff::Timestamp;
use rusqlite::params;
use sqlx::Row;

use super::jobs::open_read_of;
use super::ledger::instant;
use super::write::Tx;
use super::{SqliteStore, rows};
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::store::error::StoreError;
use crate::store::job::StoredPage;

const NEW_PAGE: &str = "insert into page (job, read, number, rows, total, rows_hash, stored_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const NEW_BODY: &str = "insert into body (job, read, page, raw_bytes, blake3, zstd) values (?1, ?2, ?3, ?4, ?5, ?6)";
const NEW_ATTEMPT: &str = "insert into attempt
    (job, read, page, try, sent, sent_at, took_ms, waited_ms, outcome, http_status, code, why, body_bytes)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const BODY: &str = "select raw_bytes, blake3, zstd from body where job = ?1 and read = ?2 and page = ?3";

impl SqliteStore {
    pub async fn commit_page(&self, page: StoredPage<'_>) -> Result<(), StoreError> {
        self.write(|tx| store(tx, &page)).await
    }

    pub async fn record_attempts(&self, attempts: &[Attempt]) -> Result<(), StoreError> {
        self.write(|tx| record(tx, attempts)).await
    }

    pub async fn body(&self, job: JobId, read: ReadNumber, page: PageNumber) -> Result<Option<KeptBody>, StoreError> {
        let query = sqlx::query(BODY).bind(job.0).bind(read.0).bind(page.0);
        let row = query.fetch_optional(&self.readers).await.map_err(|source| self.failed(source))?;
        let body = row.map(|row| -> Result<KeptBody, sqlx::Error> {
            let blake3: Vec<u8> = row.try_get("blake3")?;
            let blake3 = blake3.try_into().map_err(|_| sqlx::Error::Decode("a digest of another length".into()))?;
            let raw_bytes: i64 = row.try_get("raw_bytes")?;
            Ok(KeptBody { zstd: row.try_get("zstd")?, raw_bytes: raw_bytes.unsigned_abs(), blake3 })
        });
        body.transpose().map_err(|source| self.failed(source))
    }
}

pub fn store(tx: &Tx<'_>, stored: &StoredPage<'_>) -> Result<(), StoreError> {
    let (job, page, now): (_, _, Timestamp) = (stored.job.id(), stored.page, stored.now);
    let open = open_read_of(tx, stored.job)?;
    if stored.read != open {
        return Err(StoreError::OtherRead { job, read: stored.read, open });
    }
    let digest = page.digest();
    let line =
        params![job.0, stored.read.0, stored.number.0, page.rows() as i64, optional(page.total), &digest.0[..], instant(now)];
    tx.execute(NEW_PAGE, line)?;
    rows::insert(tx, stored)?;
    if let Some(body) = stored.body {
        let kept = params![job.0, stored.read.0, stored.number.0, number(body.raw_bytes), &body.blake3[..], body.zstd];
        tx.execute(NEW_BODY, kept)?;
    }
    record(tx, stored.attempts)
}

pub fn record(tx: &Tx<'_>, attempts: &[Attempt]) -> Result<(), StoreError> {
    attempts.iter().try_for_each(|attempt| record_one(tx, attempt))
}

fn record_one(tx: &Tx<'_>, attempt: &Attempt) -> Result<(), StoreError> {
    let label = &attempt.label;
    let line = params![
        label.job.0,
        label.read.0,
        label.page.0,
        attempt.number,
        attempt.sent,
        instant(attempt.sent_at),
        attempt.took.as_millis() as i64,
        attempt.waited.as_millis() as i64,
        attempt.outcome.as_str(),
        attempt.http_status,
        attempt.code,
        attempt.why,
        number(attempt.body_bytes),
    ];
    tx.execute(NEW_ATTEMPT, line).map(drop)
}

/// Counts above 2⁶³ exist only in answers that lie; they are stored as the largest number there is.
pub fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub fn optional(count: Option<u64>) -> Option<i64> {
    count.map(number)
}
