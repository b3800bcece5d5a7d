//! What is read beside the writer.

use jiff::Timestamp;

use crate::model::job::{JobId, PartitionId};
use crate::model::name::Name;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::state::{LastJob, PartitionState, RegionYield, Snapshot, Standing};
use crate::store::tx::{Line, Misread, Tx};

/// A failed night counts where the same run read another partition of the dataset whole. That is asked once for each run
/// that is in question, not for each failure: a night on which nothing of a dataset came leaves a failure for each of its
/// partitions, in a run full of other datasets' jobs.
const STATES: &str = "with failure as materialized (
        select f.partition, f.run, coalesce(f.ended_on, substr(f.ended_at, 1, 10)) as day
        from partition p
        join job latest on latest.id = (select max(j.id) from job j where j.partition = p.id and j.state = 'ended')
        join job f on f.partition = p.id and f.state = 'ended' and f.verdict in ('failed', 'short')
        where p.dataset = ?1 and latest.verdict in ('failed', 'short')
          and f.id > coalesce((
            select max(g.id) from job g
            where g.partition = p.id and g.state = 'ended' and g.verdict in ('complete', 'empty', 'unverified')), 0)),
    fruitful as materialized (
        select q.run from (select distinct run from failure) q
        where exists (
            select 1 from job o join partition other on other.id = o.partition
            where o.run = q.run and other.dataset = ?1 and o.verdict in ('complete', 'empty', 'unverified'))),
    strike as materialized (
        select partition, count(distinct day) as days from failure
        where run in (select run from fruitful)
        group by partition)
    select p.id, p.key, p.checked_at, p.changed_at,
    latest.id, latest.verdict, latest.why, latest.ended_at, coalesce(strike.days, 0),
    published.id, published.verdict, published.received, published.definition_hash,
    case when p.waiting_job is null then p.published_at end,
    case when p.waiting_job is not null then 'waiting' when p.published_job is not null then 'visible' else 'replaced' end,
    (select count(*) from page where page.job = published.id and page.read = published.read)
    from partition p
    left join job published on published.id = coalesce(p.waiting_job, p.published_job, p.replaced_job)
    left join job latest on latest.id = (select max(j.id) from job j where j.partition = p.id and j.state = 'ended')
    left join strike on strike.partition = p.id
    where p.dataset = ?1
    order by p.key";
const WITH_ROWS: &str = "select 1 from partition p
    join job j on j.id = coalesce(p.waiting_job, p.published_job, p.replaced_job)
    where p.dataset = ?1 and j.received > 0
    limit 1";
const YIELDS: &str = "select p.dataset, p.region, count(*), cast(coalesce(sum(published.received), 0) as bigint)
    from partition p
    left join job published on published.id = p.published_job
    where p.checked_at is not null and p.region is not null
    group by p.dataset, p.region
    order by p.dataset, p.region";
const LAST_CHECKED: &str = "select max(checked_at) from partition";
const SALT: &str = "select value from meta where name = 'salt'";

pub fn states(tx: &Tx<'_>, dataset: &Name) -> Result<Vec<PartitionState>, StoreError> {
    tx.all(STATES, params![dataset.as_str()], state)
}

/// What the regions of every dataset have in the partitions that were ever whole.
pub fn yields(tx: &Tx<'_>) -> Result<Vec<RegionYield>, StoreError> {
    tx.all(YIELDS, &[], |line| {
        Ok(RegionYield { dataset: line.spelled(0)?, region: line.get(1)?, partitions: line.get(2)?, rows: line.get(3)? })
    })
}

/// When any partition was read as a whole last.
pub fn last_checked(tx: &Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    tx.first(LAST_CHECKED, &[], |line| line.spelled_or_null(0)).map(Option::flatten)
}

/// Whether any partition of a dataset has a whole snapshot with rows.
pub fn has_rows(tx: &Tx<'_>, dataset: &Name) -> Result<bool, StoreError> {
    let found: Option<i64> = tx.first(WITH_ROWS, params![dataset.as_str()], |line| line.get(0))?;
    Ok(found.is_some())
}

/// The datasets that have tables.
pub fn datasets(tx: &Tx<'_>) -> Result<Vec<String>, StoreError> {
    tx.all("select id from dataset order by id", &[], |line| line.get(0))
}

/// The random bytes of this store.
pub fn salt(tx: &Tx<'_>) -> Result<[u8; 32], StoreError> {
    let salt = tx.first(SALT, &[], |line| line.get(0))?;
    Ok(salt.expect("the first step of the schema draws it"))
}

fn state(line: &Line<'_>) -> Result<PartitionState, Misread> {
    let last = match line.get::<Option<i64>>(4)? {
        None => None,
        Some(job) => Some(LastJob {
            job: JobId(job),
            verdict: line.spelled_as(5, Verdict::from_spelling)?,
            why: line.get(6)?,
            ended_at: line.spelled(7)?,
        }),
    };
    let published = match line.get::<Option<i64>>(9)? {
        None => None,
        Some(job) => Some(Snapshot {
            job: JobId(job),
            verdict: line.spelled_as(10, Verdict::from_spelling)?,
            rows: line.get(11)?,
            definition_hash: line.get(12)?,
            published_at: line.spelled_or_null(13)?,
            standing: line.spelled_as(14, Standing::from_spelling)?,
            pages: line.get(15)?,
        }),
    };
    Ok(PartitionState {
        id: PartitionId(line.get(0)?),
        key: line.get(1)?,
        published,
        last,
        checked_at: line.spelled_or_null(2)?,
        changed_at: line.spelled_or_null(3)?,
        strikes: line.get(8)?,
    })
}
