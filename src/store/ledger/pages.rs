//! Pages and attempts as they come in.

use std::time::Duration;

use jiff::Timestamp;

use super::jobs::open_read_of;
use super::spelling::instant;
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::store::error::StoreError;
use crate::store::job::StoredPage;
use crate::store::param::params;
use crate::store::tx::Tx;

const NEW_PAGE: &str = "insert into page (job, read, number, rows, total, rows_hash, stored_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const NEW_BODY: &str = "insert into body (job, read, page, raw_bytes, blake3, zstd) values (?1, ?2, ?3, ?4, ?5, ?6)";
const NEW_ATTEMPT: &str = "insert into attempt
    (job, read, page, try, sent, sent_at, took_ms, waited_ms, outcome, http_status, code, why, body_bytes,
     retry_ms, permit_ms, slot_ms)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
const BODY: &str = "select raw_bytes, blake3, zstd from body where job = ?1 and read = ?2 and page = ?3";

pub fn store(tx: &Tx<'_>, stored: &StoredPage<'_>) -> Result<(), StoreError> {
    let (job, page, now): (_, _, Timestamp) = (stored.job.id(), stored.page, stored.now);
    let open = open_read_of(tx, stored.job)?;
    if stored.read != open {
        return Err(StoreError::OtherRead { job, read: stored.read, open });
    }
    let digest = page.digest();
    let line = params![job.0, stored.read.0, stored.number.0, page.rows(), page.total, &digest.0[..], instant(now)];
    tx.change(NEW_PAGE, line)?;
    tx.insert_rows(stored)?;
    if let Some(body) = stored.body {
        let kept = params![job.0, stored.read.0, stored.number.0, body.raw_bytes, &body.blake3[..], &body.zstd[..]];
        tx.change(NEW_BODY, kept)?;
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
        millis(attempt.took),
        millis(attempt.waits.at_the_gates()),
        attempt.outcome.as_str(),
        attempt.http_status,
        attempt.code.as_deref(),
        attempt.why.as_deref(),
        attempt.body_bytes,
        millis(attempt.waits.retry),
        millis(attempt.waits.permit),
        millis(attempt.waits.slot),
    ];
    tx.change(NEW_ATTEMPT, line)
}

/// The body of a page that is still kept.
pub fn body(tx: &Tx<'_>, job: JobId, read: ReadNumber, page: PageNumber) -> Result<Option<KeptBody>, StoreError> {
    tx.first(BODY, params![job.0, read.0, page.0], |line| {
        Ok(KeptBody { raw_bytes: line.get(0)?, blake3: line.get(1)?, zstd: line.get(2)? })
    })
}

pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
