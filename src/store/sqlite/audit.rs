//! Whether everything in the store fits together. Reads only.

use rusqlite::{Row, params};

use super::SqliteStore;
use super::reforms;
use super::write::Tx;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::store::audit::{Fault, Finding, Pointer};
use crate::store::error::StoreError;

/// Length of a page digest.
const DIGEST_BYTES: usize = 16;
const DATASETS: &str = "select id, axes from dataset order by id";
/// Each begins with dataset and partition.
const JOBS_MISCOUNTED: &str = "select p.dataset, p.key, j.id, coalesce(j.received, 0), coalesce(sum(g.rows), 0) as pages
    from job j join partition p on p.id = j.partition left join page g on g.job = j.id and g.read = j.read
    where j.snapshot = 'kept' and j.verdict in ('complete', 'empty', 'unverified', 'held')
    group by j.id having coalesce(j.received, 0) <> pages order by j.id";
const DANGLING: &str = "with pointer as (
        select id, dataset, key, 'published' as kind, published_job as job from partition
        union all select id, dataset, key, 'waiting', waiting_job from partition
        union all select id, dataset, key, 'replaced', replaced_job from partition
    )
    select q.dataset, q.key, q.kind, q.job from pointer q left join job j on j.id = q.job
    where q.job is not null and (j.id is null or j.partition <> q.id or j.state <> 'ended' or j.snapshot <> 'kept'
        or j.verdict not in ('complete', 'empty', 'unverified'))
    order by q.id, q.kind";
const TWO_LIVE: &str = "select p.dataset, p.key, count(*) as jobs from job j join partition p on p.id = j.partition
    where j.state <> 'ended' group by p.id having jobs > 1 order by p.id";
const OTHER_READS: &str = "select p.dataset, p.key, g.job, g.read, g.number, j.read
    from page g join job j on j.id = g.job join partition p on p.id = j.partition
    where g.read > j.read or (j.state = 'ended' and g.read <> j.read)
    order by g.job, g.read, g.number";
const BODIES: &str = "select p.dataset, p.key, b.job, b.page, b.raw_bytes, b.blake3, b.zstd,
    g.job is not null and j.snapshot = 'kept'
    from body b
    left join job j on j.id = b.job
    left join partition p on p.id = j.partition
    left join page g on g.job = b.job and g.read = b.read and g.number = b.page
    order by b.job, b.read, b.page";

impl SqliteStore {
    pub async fn audit(&self) -> Result<Vec<Finding>, StoreError> {
        self.read(|tx| {
            let mut findings = Vec::new();
            for (dataset, axes) in tx.all(DATASETS, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))? {
                audit_rows(tx, &dataset, &axes, &mut findings)?;
            }
            audit_bodies(tx, &mut findings)?;
            audit_ledger(tx, &mut findings)?;
            findings.extend(reforms::seen_twice(tx)?);
            Ok(findings)
        })
        .await
    }
}

/// The rows of a page as they are stored.
struct StoredPage {
    job: JobId,
    read: ReadNumber,
    page: PageNumber,
    rows: u64,
    elsewhere: u64,
    hashes: blake3::Hasher,
}

/// What the ledger says of a page whose rows are kept.
struct Line {
    rows: u64,
    digest: Vec<u8>,
}

/// Goes through the rows of a dataset page by page, then through the pages that have no row.
fn audit_rows(tx: &Tx<'_>, dataset: &str, axes: &str, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    let key: Vec<String> = axes.split(',').map(|axis| format!("'{axis}=' || r.\"{axis}\"")).collect();
    let rows = format!(
        "select r._job, r._read, r._page, r._row_hash, {key} is p.key
         from \"{dataset}_rows\" r left join job j on j.id = r._job left join partition p on p.id = j.partition
         order by r._job, r._read, r._page, r._ordinal",
        key = key.join(" || ',' || ")
    );
    let failed = |source| tx.failed(source);
    let mut statement = tx.prepare(&rows)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut open: Option<StoredPage> = None;
    while let Some(row) = rows.next().map_err(failed)? {
        let (job, read, page, is_here) = row_of(row).map_err(failed)?;
        if open.as_ref().is_none_or(|open| (open.job, open.read, open.page) != (job, read, page)) {
            if let Some(done) = open.take() {
                audit_page(tx, dataset, &done, findings)?;
            }
            open = Some(StoredPage { job, read, page, rows: 0, elsewhere: 0, hashes: blake3::Hasher::new() });
        }
        let open = open.as_mut().expect("it was just opened");
        open.rows += 1;
        open.elsewhere += u64::from(!is_here);
        open.hashes.update(row.get_ref(3).and_then(|hash| Ok(hash.as_blob()?)).map_err(failed)?);
    }
    if let Some(done) = open {
        audit_page(tx, dataset, &done, findings)?;
    }
    let without_rows = format!(
        "select p.dataset, p.key, g.job, g.number, g.rows from page g
         join job j on j.id = g.job join partition p on p.id = j.partition
         where p.dataset = ?1 and j.snapshot = 'kept' and g.rows > 0 and not exists (
            select 1 from \"{dataset}_rows\" r where r._job = g.job and r._read = g.read and r._page = g.number
         ) order by g.job, g.number"
    );
    findings.extend(tx.all(&without_rows, [dataset], |row| {
        let (job, page) = (JobId(row.get(2)?), PageNumber(row.get(3)?));
        let ledger = at_least_zero(row, 4)?;
        finding(row, Fault::RowsMiscounted { job, page, ledger, stored: 0 })
    })?);
    Ok(())
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<(JobId, ReadNumber, PageNumber, bool)> {
    Ok((JobId(row.get(0)?), ReadNumber(row.get(1)?), PageNumber(row.get(2)?), row.get(4)?))
}

fn audit_page(tx: &Tx<'_>, dataset: &str, stored: &StoredPage, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    const PARTITION: &str = "select p.key from job j join partition p on p.id = j.partition where j.id = ?1 and p.dataset = ?2";
    const LINE: &str = "select g.rows, g.rows_hash from page g join job j on j.id = g.job
        where g.job = ?1 and g.read = ?2 and g.number = ?3 and j.snapshot = 'kept'";
    let StoredPage { job, read, page, rows, elsewhere, .. } = *stored;
    let partition: Option<String> = tx.first(PARTITION, params![job.0, dataset], |row| row.get(0))?;
    let line =
        tx.first(LINE, params![job.0, read.0, page.0], |row| Ok(Line { rows: at_least_zero(row, 0)?, digest: row.get(1)? }))?;
    let digest = stored.hashes.finalize();
    let mut found = Vec::new();
    match line {
        None => found.push(Fault::RowsOfNoPage { job, page, stored: rows }),
        Some(line) if line.rows != rows => {
            found.push(Fault::RowsMiscounted { job, page, ledger: line.rows, stored: rows });
        }
        Some(line) if line.digest != digest.as_bytes()[..DIGEST_BYTES] => found.push(Fault::RowsChanged { job, page }),
        Some(_) => (),
    }
    if elsewhere > 0 && partition.is_some() {
        found.push(Fault::RowsElsewhere { job, page, stored: elsewhere });
    }
    let finding = |fault| Finding { dataset: dataset.to_owned(), partition: partition.clone(), fault };
    findings.extend(found.into_iter().map(finding));
    Ok(())
}

fn audit_bodies(tx: &Tx<'_>, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    let failed = |source| tx.failed(source);
    let mut statement = tx.prepare(BODIES)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        findings.extend(body_finding(row).map_err(failed)?);
    }
    Ok(())
}

fn body_finding(row: &Row<'_>) -> rusqlite::Result<Option<Finding>> {
    let (job, page) = (JobId(row.get(2)?), PageNumber(row.get(3)?));
    let has_page: bool = row.get(7)?;
    if !has_page {
        return finding(row, Fault::BodyOfNoPage { job, page }).map(Some);
    }
    let blake3 = row.get::<_, Vec<u8>>(5)?.try_into().ok();
    let body = blake3
        .zip(row.get::<_, i64>(4)?.try_into().ok())
        .map(|(blake3, raw_bytes)| -> rusqlite::Result<_> { Ok(KeptBody { zstd: row.get(6)?, raw_bytes, blake3 }) });
    let is_whole = body.transpose()?.is_some_and(|body| body.raw().is_some());
    if is_whole { Ok(None) } else { finding(row, Fault::BodyDamaged { job, page }).map(Some) }
}

fn audit_ledger(tx: &Tx<'_>, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    findings.extend(tx.all(JOBS_MISCOUNTED, [], |row| {
        let (received, pages) = (at_least_zero(row, 3)?, at_least_zero(row, 4)?);
        finding(row, Fault::JobMiscounted { job: JobId(row.get(2)?), received, pages })
    })?);
    findings.extend(tx.all(DANGLING, [], |row| {
        let pointer = match row.get_ref(2)?.as_str()? {
            "published" => Pointer::Published,
            "waiting" => Pointer::Waiting,
            _ => Pointer::Replaced,
        };
        finding(row, Fault::Dangling { pointer, job: JobId(row.get(3)?) })
    })?);
    findings.extend(tx.all(TWO_LIVE, [], |row| finding(row, Fault::TwoLiveJobs { jobs: at_least_zero(row, 2)? }))?);
    findings.extend(tx.all(OTHER_READS, [], |row| {
        let (job, read) = (JobId(row.get(2)?), ReadNumber(row.get(3)?));
        let (page, open) = (PageNumber(row.get(4)?), ReadNumber(row.get(5)?));
        finding(row, Fault::PageOfOtherRead { job, read, page, open })
    })?);
    Ok(())
}

/// A count that a hand may have made negative.
fn at_least_zero(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}

/// Dataset and partition are the first two columns.
fn finding(row: &Row<'_>, fault: Fault) -> rusqlite::Result<Finding> {
    let dataset: Option<String> = row.get(0)?;
    Ok(Finding { dataset: dataset.unwrap_or_else(|| "?".to_owned()), partition: row.get(1)?, fault })
}
