//! What is read beside the writer.

use rusqlite::types::ValueRef;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::ledger::{count, required, spelled, standing, verdict};
use crate::model::job::{JobId, PartitionId};
use crate::model::name::Name;
use crate::store::cell::Cell;
use crate::store::error::StoreError;
use crate::store::state::{CoverageLine, LastJob, PartitionState, Snapshot};

const STATES: &str = "select p.id, p.key, p.checked_at, p.changed_at,
    iif(p.waiting_job is null, p.published_at, null) as published_at,
    case when p.waiting_job is not null then 'waiting' when p.published_job is not null then 'visible' else 'replaced' end
    as published_standing,
    published.id as published_job, published.verdict as published_verdict, published.received as published_rows,
    published.definition_hash as published_hash,
    (select count(*) from page where page.job = published.id and page.read = published.read) as published_pages,
    case when latest.verdict in ('failed', 'short') then (
        select count(distinct substr(f.ended_at, 1, 10)) from job f
        where f.partition = p.id and f.verdict in ('failed', 'short')
          and f.id > coalesce((select max(g.id) from job g where g.partition = p.id and g.verdict in ('complete', 'empty', 'unverified')), 0)
          and exists (
            select 1 from job o join partition q on q.id = o.partition
            where o.run = f.run and q.dataset = p.dataset and o.verdict in ('complete', 'empty', 'unverified'))
    ) else 0 end as strikes,
    latest.id as last_job, latest.verdict as last_verdict, latest.why as last_why, latest.ended_at as last_ended_at
    from partition p
    left join job published on published.id = coalesce(p.waiting_job, p.published_job, p.replaced_job)
    left join job latest on latest.id = (select max(j.id) from job j where j.partition = p.id and j.state = 'ended')
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
        let rows = sqlx::query(STATES).bind(dataset.as_str()).fetch_all(&self.readers).await;
        rows.and_then(|rows| rows.iter().map(state).collect()).map_err(|source| self.failed(source))
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

fn state(row: &SqliteRow) -> Result<PartitionState, sqlx::Error> {
    let published = match row.try_get::<Option<i64>, _>("published_job")? {
        None => None,
        Some(job) => Some(Snapshot {
            job: JobId(job),
            verdict: required(verdict(row, "published_verdict")?)?,
            standing: required(standing(row, "published_standing")?)?,
            published_at: spelled(row, "published_at")?,
            rows: required(count(row, "published_rows")?)?,
            pages: required(count(row, "published_pages")?)?,
            definition_hash: row.try_get("published_hash")?,
        }),
    };
    let last = match row.try_get::<Option<i64>, _>("last_job")? {
        None => None,
        Some(job) => Some(LastJob {
            job: JobId(job),
            verdict: required(verdict(row, "last_verdict")?)?,
            why: row.try_get("last_why")?,
            ended_at: required(spelled(row, "last_ended_at")?)?,
        }),
    };
    Ok(PartitionState {
        id: PartitionId(row.try_get("id")?),
        key: row.try_get("key")?,
        published,
        last,
        checked_at: spelled(row, "checked_at")?,
        changed_at: spelled(row, "changed_at")?,
        strikes: row.try_get("strikes")?,
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
