//! Going on with what a dead run left.

use jiff::{SignedDuration, Timestamp};

use super::jobs::{drop_snapshot, partition_id};
use super::spelling::instant;
use crate::model::job::{JobId, PageNumber, PartitionId, ReadNumber, RunId};
use crate::model::page::PageDigest;
use crate::model::record::RowHash;
use crate::model::verdict::Verdict;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Claim, Elsewhere, Job, JobStart, Planned, Started, StoredPageFacts};
use crate::store::param::params;
use crate::store::tx::Tx;

const LAST_ENDED: &str = "select id, verdict, why, promised_last, received from job
    where partition = ?1 and state = 'ended' order by id desc limit 1";
/// The age of a job is that of the oldest page it would go on from.
const LIVE_JOB: &str = "select id, run, read, definition_hash,
    coalesce((select min(stored_at) from page where page.job = job.id and page.read = job.read), started_at) as since
    from job where partition = ?1 and state <> 'ended'";
const CLAIM_JOB: &str = "update job set run = ?2, claims = claims + 1, token = ?3 where id = ?1";
/// Without a token: whoever held it is told that it was replaced.
const LOSE_JOB: &str = "update job set state = 'ended', verdict = ?2, why = ?3, token = null, ended_at = ?4 where id = ?1";
const PAGES: &str = "select number, rows, total, rows_hash from page where job = ?1 and read = ?2 order by number";

struct Left {
    job: JobId,
    run: RunId,
    read: ReadNumber,
    definition_hash: String,
    since: String,
}

pub fn start(tx: &Tx<'_>, start: &JobStart<'_>) -> Result<Claim, StoreError> {
    let JobStart { run, declared, partition, planned, max_age, now } = *start;
    let id = partition_id(tx, declared, partition)?;
    if let Planned::After(planned) = planned
        && let Some((last, done)) = last_ended(tx, id)?
        && planned != Some(last)
        && !done.was_put_off()
    {
        return Ok(Claim::Elsewhere(done));
    }
    let claimed = |job, token| Job::new(job, token, id, partition.clone(), declared.clone());
    if let Some(left) = left_of(tx, id)? {
        if left.run == run {
            return Err(StoreError::JobRunning { job: left.job, partition: partition.key() });
        }
        if tx.is_alive(left.run)? {
            return Ok(Claim::Elsewhere(Elsewhere::InWork { run: left.run }));
        }
        match objection(&left, declared, max_age, now) {
            None => {
                let token = tx.random_token()?;
                tx.change(CLAIM_JOB, params![left.job.0, run.0, token.as_str()])?;
                let job = claimed(left.job, token);
                let stored = stored(tx, declared, left.job, left.read)?;
                return Ok(Claim::Started(Started { job, read: left.read, stored }));
            }
            Some(objection) => {
                let why = format!("run {} ended without ending it, and {objection}", left.run);
                tx.change(LOSE_JOB, params![left.job.0, Verdict::Lost.as_str(), why, instant(now)])?;
                drop_snapshot(tx, declared.id(), left.job)?;
            }
        }
    }
    let new_job = format!(
        "insert into job (run, partition, state, token, definition_hash, started_at)
         values (?1, ?2, 'running', ({}), ?3, ?4) returning id, token",
        tx.dialect().random_token
    );
    let values = params![run.0, id.0, declared.definition_hash(), instant(now)];
    let inserted = tx.first(&new_job, values, |line| Ok((JobId(line.get(0)?), line.get::<String>(1)?)))?;
    let (job, token) = inserted.expect("an inserted line is returned");
    Ok(Claim::Started(Started { job: claimed(job, token), read: ReadNumber::FIRST, stored: Vec::new() }))
}

fn last_ended(tx: &Tx<'_>, partition: PartitionId) -> Result<Option<(JobId, Elsewhere)>, StoreError> {
    tx.first(LAST_ENDED, params![partition.0], |line| {
        let verdict = line.spelled_as(1, Verdict::from_spelling)?;
        let done = Elsewhere::Done {
            verdict,
            why: line.get(2)?,
            promised: line.get(3)?,
            received: line.get::<Option<u64>>(4)?.unwrap_or(0),
        };
        Ok((JobId(line.get(0)?), done))
    })
}

fn left_of(tx: &Tx<'_>, partition: PartitionId) -> Result<Option<Left>, StoreError> {
    tx.first(LIVE_JOB, params![partition.0], |line| {
        Ok(Left {
            job: JobId(line.get(0)?),
            run: RunId(line.get(1)?),
            read: ReadNumber(line.get(2)?),
            definition_hash: line.get(3)?,
            since: line.get(4)?,
        })
    })
}

/// Why a job can not be gone on with.
fn objection(left: &Left, declared: &Declared, max_age: SignedDuration, now: Timestamp) -> Option<String> {
    if left.definition_hash != declared.definition_hash() {
        return Some("its definition has changed since".to_owned());
    }
    // An instant that does not read is as good as none.
    let is_young = left.since.parse().is_ok_and(|since| now.duration_since(since) <= max_age);
    (!is_young).then(|| format!("what it stored is older than {max_age:#}"))
}

fn stored(tx: &Tx<'_>, declared: &Declared, job: JobId, read: ReadNumber) -> Result<Vec<StoredPageFacts>, StoreError> {
    let of_page = format!(
        "select _row_hash from \"{}_rows\" where _job = ?1 and _read = ?2 and _page = ?3 order by _ordinal",
        declared.id()
    );
    let mut pages = tx.all(PAGES, params![job.0, read.0], |line| {
        Ok(StoredPageFacts {
            number: PageNumber(line.get(0)?),
            rows: line.get(1)?,
            total: line.get(2)?,
            digest: PageDigest(line.get(3)?),
            row_hashes: Vec::new(),
        })
    })?;
    for page in &mut pages {
        page.row_hashes = tx.all(&of_page, params![job.0, read.0, page.number.0], |line| line.get(0).map(RowHash))?;
    }
    Ok(pages)
}
