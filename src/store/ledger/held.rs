//! Snapshots that are whole but suspicious: kept until they are decided on.

use jiff::Timestamp;
use jiff::civil::Date;

use super::content::row_hashes;
use super::jobs::find_partition;
use super::publish::{Snapshot, publish};
use super::spelling::instant;
use crate::model::job::{JobId, PartitionId, ReadNumber};
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::store::HELD_DAYS;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Decision, JobEnd, Settled};
use crate::store::param::params;
use crate::store::tx::Tx;

/// What was held last and is still there: the next whole snapshot takes it away.
const PENDING: &str = "select id, read, definition_hash, held_on, held_days, received, promised_last, why from job
    where partition = ?1 and id <> ?2 and verdict = 'held' and snapshot = 'kept' order by id desc limit 1";
const SET_DAYS: &str = "update job set held_on = ?2, held_days = ?3 where id = ?1";
const ACCEPT: &str = "update job set verdict = ?2, why = ?3 where id = ?1";
const NEW_DECISION: &str =
    "insert into decision (partition, job, decided_at, who, why, held_why) values (?1, ?2, ?3, ?4, ?5, ?6)";
/// Job ids begin at 1.
const NO_JOB: JobId = JobId(0);

struct Pending {
    job: JobId,
    read: ReadNumber,
    definition_hash: String,
    /// The latest of its days.
    day: Option<Date>,
    days: u32,
    facts: Facts,
}

/// What decides what a held job comes to when it is accepted.
struct Facts {
    received: u64,
    promised: Option<u64>,
    held_why: Option<String>,
}

struct Acceptance<'a> {
    who: &'a str,
    why: &'a str,
    now: Timestamp,
}

/// Decides on the snapshot that is held of a partition; `None` when none is held.
pub fn decide(
    tx: &Tx<'_>,
    declared: &Declared,
    partition: &Partition,
    decision: Decision<'_>,
) -> Result<Option<Settled>, StoreError> {
    let Decision::Accept { who, why, superseded, now } = decision;
    let Some(partition) = find_partition(tx, declared, partition)? else { return Ok(None) };
    let Some(pending) = pending(tx, partition, NO_JOB)? else { return Ok(None) };
    let (job, read, definition_hash) = (pending.job, pending.read, pending.definition_hash.as_str());
    let snapshot = Snapshot { declared, partition, job, read, definition_hash, superseded, now };
    accept(tx, &snapshot, &pending.facts, &Acceptance { who, why, now }).map(|(_, settled)| Some(settled))
}

/// Keeps a snapshot for a decision, or publishes it because it was read the same on enough days.
pub fn hold(tx: &Tx<'_>, end: &JobEnd<'_>, snapshot: &Snapshot<'_>) -> Result<Settled, StoreError> {
    let (mut day, mut days) = (end.day, 1);
    if let Some(before) = pending(tx, snapshot.partition, snapshot.job)?
        && is_same(tx, &before, snapshot)?
    {
        // A clock that runs backwards makes no new day.
        let latest = before.day.unwrap_or(end.day);
        days = before.days + u32::from(end.day > latest);
        day = day.max(latest);
    }
    tx.change(SET_DAYS, params![snapshot.job.0, day.to_string(), days])?;
    if days < HELD_DAYS || end.received == 0 {
        return Ok(Settled::Kept);
    }
    let facts = Facts { received: end.received, promised: end.promised_last, held_why: end.why.map(str::to_owned) };
    let why = format!("the same rows were read on {days} days");
    let (verdict, settled) = accept(tx, snapshot, &facts, &Acceptance { who: "gapless", why: &why, now: end.now })?;
    Ok(match settled {
        Settled::Published { superseded_rows } => Settled::Accepted { verdict, superseded_rows },
        Settled::Unchanged | Settled::Waiting | Settled::Accepted { .. } | Settled::Kept => settled,
    })
}

fn pending(tx: &Tx<'_>, partition: PartitionId, except: JobId) -> Result<Option<Pending>, StoreError> {
    tx.first(PENDING, params![partition.0, except.0], |line| {
        Ok(Pending {
            job: JobId(line.get(0)?),
            read: ReadNumber(line.get(1)?),
            definition_hash: line.get(2)?,
            day: line.get::<Option<String>>(3)?.and_then(|day| day.parse().ok()),
            days: line.get::<Option<u32>>(4)?.unwrap_or(1),
            facts: Facts { received: line.get::<Option<u64>>(5)?.unwrap_or(0), promised: line.get(6)?, held_why: line.get(7)? },
        })
    })
}

fn is_same(tx: &Tx<'_>, before: &Pending, snapshot: &Snapshot<'_>) -> Result<bool, StoreError> {
    Ok(before.definition_hash == snapshot.definition_hash
        && row_hashes(tx, snapshot.declared, before.job, before.read)?
            == row_hashes(tx, snapshot.declared, snapshot.job, snapshot.read)?)
}

/// Publishes a held snapshot as what it came to but for the suspicion, and leaves a trace.
fn accept(
    tx: &Tx<'_>,
    snapshot: &Snapshot<'_>,
    facts: &Facts,
    acceptance: &Acceptance<'_>,
) -> Result<(Verdict, Settled), StoreError> {
    let Acceptance { who, why, now } = acceptance;
    let verdict = match (facts.received, facts.promised) {
        (0, _) => Verdict::Empty,
        (_, None) => Verdict::Unverified,
        (_, Some(_)) => Verdict::Complete,
    };
    tx.change(ACCEPT, params![snapshot.job.0, verdict.as_str(), format!("accepted by {who}: {why}")])?;
    let trace = params![snapshot.partition.0, snapshot.job.0, instant(*now), *who, *why, facts.held_why.as_deref()];
    tx.change(NEW_DECISION, trace)?;
    Ok((verdict, publish(tx, snapshot)?))
}
