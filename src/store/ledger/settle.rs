//! The end of a job.

use super::content::{content, published, row_count};
use super::held::hold;
use super::jobs::{drop_snapshot, open_read_of};
use super::pages::millis;
use super::publish::{Snapshot, publish};
use super::spelling::instant;
use crate::model::job::{JobId, ReadNumber};
use crate::model::verdict::Verdict;
use crate::reconcile::guard::{Suspicion, Tolerance, suspicion};
use crate::store::error::StoreError;
use crate::store::job::{Ended, Job, JobEnd, Settled};
use crate::store::param::params;
use crate::store::tx::Tx;

const END_JOB: &str = "update job
    set state = 'ended', verdict = ?2, why = ?3, read = ?4, promised_first = ?5, promised_last = ?6, received = ?7,
        distinct_rows = ?8, ended_at = ?9, ended_on = ?10, store_ms = ?11
    where id = ?1";
/// Two ranges of an index: an inequality would look at every row of the read that stays.
const DROP_OTHER_PAGES: [&str; 2] =
    ["delete from page where job = ?1 and read < ?2", "delete from page where job = ?1 and read > ?2"];
const DROP_OTHER_BODIES: [&str; 2] =
    ["delete from body where job = ?1 and read < ?2", "delete from body where job = ?1 and read > ?2"];
/// What earlier jobs left that were not published, of a kind nobody has to decide on.
const LEFT_BEHIND: &str = "select id from job
    where partition = ?1 and state = 'ended' and id <> ?2 and snapshot = 'kept'
    and verdict in ('short', 'failed', 'deferred', 'lost')";
/// A newer whole snapshot settles what was to be decided.
const HELD: &str = "select id from job where partition = ?1 and id <> ?2 and snapshot = 'kept' and verdict = 'held'";

pub fn settle(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<Ended, StoreError> {
    open_read_of(tx, end.job)?;
    let suspicion = suspicion_of(tx, end)?;
    let (verdict, why) = match &suspicion {
        Some(suspicion) => (Verdict::Held, Some(suspicion.to_string())),
        None => (end.verdict, end.why.map(str::to_owned)),
    };
    let settled = settle_as(tx, &JobEnd { verdict, why: why.as_deref(), ..end.clone() })?;
    let verdict = match settled {
        Settled::Accepted { verdict, .. } => verdict,
        Settled::Published { .. } | Settled::Unchanged | Settled::Waiting | Settled::Kept => verdict,
    };
    Ok(Ended { verdict, why, settled, suspicion })
}

/// Why what a job brought is not to take the place of what is published.
fn suspicion_of(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<Option<Suspicion>, StoreError> {
    if !end.verdict.is_published() {
        return Ok(None);
    }
    let (declared, partition) = (end.job.declared(), end.job.partition());
    let Some((job, read)) = published(tx, declared, partition)? else { return Ok(None) };
    let before = content(tx, declared, job, read)?;
    let now = content(tx, declared, end.job.id(), end.read)?;
    let month = partition.value("month").and_then(|month| month.parse().ok());
    Ok(suspicion(&before, &now, Tolerance::of(month, end.day)))
}

fn settle_as(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<Settled, StoreError> {
    let job = end.job;
    let line = params![
        job.id().0,
        end.verdict.as_str(),
        end.why,
        end.read.0,
        end.promised_first,
        end.promised_last,
        end.received,
        end.distinct,
        instant(end.now),
        end.day.to_string(),
        millis(end.store_wait),
    ];
    tx.change(END_JOB, line)?;
    drop_other_reads(tx, job, end.read)?;
    drop_all(tx, job, LEFT_BEHIND)?;
    match end.verdict {
        Verdict::Complete | Verdict::Empty | Verdict::Unverified => {
            refuse_miscount(tx, end)?;
            drop_all(tx, job, HELD)?;
            publish(tx, &snapshot(end))
        }
        Verdict::Held => {
            refuse_miscount(tx, end)?;
            let settled = hold(tx, end, &snapshot(end))?;
            drop_all(tx, job, HELD)?;
            Ok(settled)
        }
        Verdict::Short | Verdict::Failed | Verdict::Deferred | Verdict::Lost => Ok(Settled::Kept),
    }
}

fn snapshot<'a>(end: &JobEnd<'a>) -> Snapshot<'a> {
    let declared = end.job.declared();
    Snapshot {
        declared,
        partition: end.job.partition_id(),
        job: end.job.id(),
        read: end.read,
        definition_hash: declared.definition_hash(),
        superseded: end.superseded,
        now: end.now,
    }
}

fn refuse_miscount(tx: &Tx<'_>, end: &JobEnd<'_>) -> Result<(), StoreError> {
    let stored = row_count(tx, end.job.declared(), end.job.id(), end.read)?;
    if stored == end.received {
        return Ok(());
    }
    Err(StoreError::Miscounted { job: end.job.id(), received: end.received, stored })
}

fn drop_all(tx: &Tx<'_>, job: &Job, which: &str) -> Result<(), StoreError> {
    let jobs = tx.all(which, params![job.partition_id().0, job.id().0], |line| line.get(0).map(JobId))?;
    jobs.into_iter().try_for_each(|left| drop_snapshot(tx, job.declared().id(), left).map(drop))
}

fn drop_other_reads(tx: &Tx<'_>, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
    let table = job.declared().id();
    let rows = ["<", ">"].map(|other| format!("delete from \"{table}_rows\" where _job = ?1 and _read {other} ?2"));
    for sql in rows.iter().map(String::as_str).chain(DROP_OTHER_PAGES).chain(DROP_OTHER_BODIES) {
        tx.change(sql, params![job.id().0, read.0])?;
    }
    Ok(())
}
