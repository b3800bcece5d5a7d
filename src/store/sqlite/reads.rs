//! What is read beside the writer.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::ledger::{
    count, optional_at, required, required_count_at, spelled, spelled_at, standing, standing_at, verdict, verdict_at,
};
use crate::model::job::{JobId, PartitionId};
use crate::model::name::Name;
use crate::store::cell::Cell;
use crate::store::error::StoreError;
use crate::store::state::{CoverageLine, LastJob, PartitionState, Snapshot};

/// A failed night counts where the same run read another partition of the dataset whole. That is asked once for each run
/// that is in question, not for each failure: a night on which nothing of a dataset came leaves a failure for each of its
/// partitions, in a run full of other datasets' jobs.
const STATES: &str = "with failure as materialized (
        select f.partition, f.run, substr(f.ended_at, 1, 10) as day
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
    iif(p.waiting_job is null, p.published_at, null),
    case when p.waiting_job is not null then 'waiting' when p.published_job is not null then 'visible' else 'replaced' end,
    (select count(*) from page where page.job = published.id and page.read = published.read)
    from partition p
    left join job published on published.id = coalesce(p.waiting_job, p.published_job, p.replaced_job)
    left join job latest on latest.id = (select max(j.id) from job j where j.partition = p.id and j.state = 'ended')
    left join strike on strike.partition = p.id
    where p.dataset = ?1
    order by p.key";
const COVERAGE: &str =
    "select dataset, partition, region, month, verdict, rows, promised, distinct_rows, checked_at, changed_at, why, held_rows, standing
    from coverage
    where ?1 is null or dataset = ?1
    order by dataset, partition";
const CHECK: &str = "pragma quick_check(1)";

impl SqliteStore {
    pub async fn states(&self, dataset: &Name) -> Result<Vec<PartitionState>, StoreError> {
        self.read(|tx| tx.all(STATES, [dataset.as_str()], state)).await
    }

    pub async fn coverage(&self, dataset: Option<&Name>) -> Result<Vec<CoverageLine>, StoreError> {
        let rows = sqlx::query(COVERAGE).bind(dataset.map(Name::as_str)).fetch_all(&self.readers).await;
        rows.and_then(|rows| rows.iter().map(coverage_line).collect()).map_err(|source| self.failed(source))
    }

    pub async fn select(&self, sql: &str, mut each: impl FnMut(&[Cell<'_>]) + Send) -> Result<Vec<String>, StoreError> {
        self.read(|tx| {
            let failed = |source| tx.failed(source);
            let mut statement = tx.prepare_fresh(sql)?;
            let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
            let mut rows = statement.query([]).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                let cells = (0..names.len()).map(|column| cell(row.get_ref(column)?));
                each(&cells.collect::<rusqlite::Result<Vec<_>>>().map_err(failed)?);
            }
            Ok(names)
        })
        .await
    }

    pub async fn check(&self) -> Result<(), StoreError> {
        let finding: String = sqlx::query_scalar(CHECK).fetch_one(&self.readers).await.map_err(|source| self.failed(source))?;
        if finding == "ok" { Ok(()) } else { Err(StoreError::Unsound { path: self.path.clone(), finding }) }
    }
}

fn cell(value: ValueRef<'_>) -> rusqlite::Result<Cell<'_>> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Integer(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(_) => Cell::Text(value.as_str()?),
        ValueRef::Blob(bytes) => Cell::Blob(bytes),
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<PartitionState> {
    let last = match row.get::<_, Option<i64>>(4)? {
        None => None,
        Some(job) => {
            Some(LastJob { job: JobId(job), verdict: verdict_at(row, 5)?, why: row.get(6)?, ended_at: spelled_at(row, 7)? })
        }
    };
    let published = match row.get::<_, Option<i64>>(9)? {
        None => None,
        Some(job) => Some(Snapshot {
            job: JobId(job),
            verdict: verdict_at(row, 10)?,
            rows: required_count_at(row, 11)?,
            definition_hash: row.get(12)?,
            published_at: optional_at(row, 13)?,
            standing: standing_at(row, 14)?,
            pages: required_count_at(row, 15)?,
        }),
    };
    Ok(PartitionState {
        id: PartitionId(row.get(0)?),
        key: row.get(1)?,
        published,
        last,
        checked_at: optional_at(row, 2)?,
        changed_at: optional_at(row, 3)?,
        strikes: row.get(8)?,
    })
}

fn coverage_line(row: &SqliteRow) -> Result<CoverageLine, sqlx::Error> {
    Ok(CoverageLine {
        dataset: row.try_get("dataset")?,
        partition: row.try_get("partition")?,
        region: row.try_get("region")?,
        month: row.try_get("month")?,
        verdict: verdict(row, "verdict")?,
        rows: required(count(row, "rows")?)?,
        promised: count(row, "promised")?,
        distinct_rows: count(row, "distinct_rows")?,
        checked_at: spelled(row, "checked_at")?,
        changed_at: spelled(row, "changed_at")?,
        why: row.try_get("why")?,
        held_rows: count(row, "held_rows")?,
        standing: standing(row, "standing")?,
    })
}
