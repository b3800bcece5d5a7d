//! What a snapshot holds.

use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::partition::Partition;
use crate::model::record::RowHash;
use crate::reconcile::guard::Content;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::Tx;

const PUBLISHED: &str = "select j.id, j.read from partition p join job j on j.id = coalesce(p.waiting_job, p.published_job)
    where p.dataset = ?1 and p.key = ?2";
const PAGES: &str = "select number from page where job = ?1 and read = ?2 order by number";

/// The row hashes of what is published of a partition.
pub fn published_hashes(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<Vec<RowHash>, StoreError> {
    match published(tx, declared, partition)? {
        Some((job, read)) => row_hashes(tx, declared, job, read),
        None => Ok(Vec::new()),
    }
}

/// The pages of what is published of a partition.
pub fn kept_pages(
    tx: &Tx<'_>,
    declared: &Declared,
    partition: &Partition,
) -> Result<Option<(JobId, ReadNumber, Vec<PageNumber>)>, StoreError> {
    let Some((job, read)) = published(tx, declared, partition)? else { return Ok(None) };
    let pages = tx.all(PAGES, params![job.0, read.0], |line| line.get(0).map(PageNumber))?;
    Ok(Some((job, read, pages)))
}

pub fn row_count(tx: &Tx<'_>, declared: &Declared, job: JobId, read: ReadNumber) -> Result<u64, StoreError> {
    let sql = format!("select count(*) from \"{}_rows\" where _job = ?1 and _read = ?2", declared.id());
    let count = tx.first(&sql, params![job.0, read.0], |line| line.get(0))?;
    Ok(count.expect("counting brings one row"))
}

/// The row hashes of a snapshot, sorted: equal lists are equal multisets.
pub fn row_hashes(tx: &Tx<'_>, declared: &Declared, job: JobId, read: ReadNumber) -> Result<Vec<RowHash>, StoreError> {
    let sql = format!("select _row_hash from \"{}_rows\" where _job = ?1 and _read = ?2", declared.id());
    let mut hashes = tx.all(&sql, params![job.0, read.0], |line| line.get(0).map(RowHash))?;
    hashes.sort_unstable();
    Ok(hashes)
}

/// The snapshot that a new one of the partition would take the place of.
pub fn published(tx: &Tx<'_>, declared: &Declared, partition: &Partition) -> Result<Option<(JobId, ReadNumber)>, StoreError> {
    let named = params![declared.id().as_str(), partition.key()];
    tx.first(PUBLISHED, named, |line| Ok((JobId(line.get(0)?), ReadNumber(line.get(1)?))))
}

/// What a snapshot holds, as the guards compare it.
pub fn content(tx: &Tx<'_>, declared: &Declared, job: JobId, read: ReadNumber) -> Result<Content, StoreError> {
    let counts: String = declared.columns().iter().map(|column| format!(", count(\"{column}\")")).collect();
    let sql = format!(
        "select count(*), count(distinct _row_hash){counts} from \"{}_rows\" where _job = ?1 and _read = ?2",
        declared.id()
    );
    let content = tx.first(&sql, params![job.0, read.0], |line| {
        let rows: u64 = line.get(0)?;
        let mut empty_columns = Vec::new();
        for (position, column) in declared.columns().iter().enumerate() {
            if rows > 0 && line.get::<u64>(position + 2)? == 0 {
                empty_columns.push(column.clone());
            }
        }
        Ok(Content { rows, distinct: line.get(1)?, empty_columns })
    })?;
    Ok(content.expect("counting brings one row"))
}
