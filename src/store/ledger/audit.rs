//! Whether everything in the store fits together. Reads only.

use super::reforms;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::store::audit::{Fault, Finding, Pointer};
use crate::store::cell::Cell;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::{Line, Misread, Tx};

/// Length of a page digest.
const DIGEST_BYTES: usize = 16;
const DATASETS: &str = "select id, axes from dataset order by id";
/// Each begins with dataset and partition.
const JOBS_MISCOUNTED: &str = "select p.dataset, p.key, j.id, coalesce(j.received, 0), cast(coalesce(sum(g.rows), 0) as bigint)
    from job j join partition p on p.id = j.partition left join page g on g.job = j.id and g.read = j.read
    where j.snapshot = 'kept' and j.verdict in ('complete', 'empty', 'unverified', 'held')
    group by j.id, p.id having coalesce(j.received, 0) <> coalesce(sum(g.rows), 0) order by j.id";
const DANGLING: &str = "with pointer as (
        select id, dataset, key, 'published' as kind, published_job as job from partition
        union all select id, dataset, key, 'waiting', waiting_job from partition
        union all select id, dataset, key, 'replaced', replaced_job from partition
    )
    select q.dataset, q.key, q.kind, q.job from pointer q left join job j on j.id = q.job
    where q.job is not null and (j.id is null or j.partition <> q.id or j.state <> 'ended' or j.snapshot <> 'kept'
        or j.verdict not in ('complete', 'empty', 'unverified'))
    order by q.id, q.kind";
const TWO_LIVE: &str = "select p.dataset, p.key, count(*) from job j join partition p on p.id = j.partition
    where j.state <> 'ended' group by p.id having count(*) > 1 order by p.id";
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

pub fn audit(tx: &Tx<'_>) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for (dataset, axes) in tx.all(DATASETS, &[], |line| Ok((line.get::<String>(0)?, line.get::<String>(1)?)))? {
        audit_rows(tx, &dataset, &axes, &mut findings)?;
    }
    audit_bodies(tx, &mut findings)?;
    audit_ledger(tx, &mut findings)?;
    findings.extend(reforms::seen_twice(tx)?);
    Ok(findings)
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

impl StoredPage {
    fn add(&mut self, line: &Line<'_>) -> Result<(), Misread> {
        let is_here: bool = line.get(4)?;
        self.rows += 1;
        self.elsewhere += u64::from(!is_here);
        match line.cell(3)? {
            Cell::Blob(hash) => self.hashes.update(hash),
            // What is no hash is not the hash that was stored.
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Text(_) => &mut self.hashes,
        };
        Ok(())
    }
}

/// What the ledger says of a page whose rows are kept.
struct PageLine {
    rows: u64,
    digest: Vec<u8>,
}

/// Goes through the rows of a dataset page by page, then through the pages that have no row.
fn audit_rows(tx: &Tx<'_>, dataset: &str, axes: &str, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    let key: Vec<String> = axes.split(',').map(|axis| format!("'{axis}=' || r.\"{axis}\"")).collect();
    let rows = format!(
        "select r._job, r._read, r._page, r._row_hash, ({key}) is not distinct from p.key
         from \"{dataset}_rows\" r left join job j on j.id = r._job left join partition p on p.id = j.partition
         order by r._job, r._read, r._page, r._ordinal",
        key = key.join(" || ',' || ")
    );
    let mut open: Option<StoredPage> = None;
    tx.stream(&rows, |line| {
        let (job, read, page) = place_of(line).map_err(|source| tx.misread(source))?;
        if open.as_ref().is_none_or(|open| (open.job, open.read, open.page) != (job, read, page)) {
            if let Some(done) = open.take() {
                audit_page(tx, dataset, &done, findings)?;
            }
            open = Some(StoredPage { job, read, page, rows: 0, elsewhere: 0, hashes: blake3::Hasher::new() });
        }
        let open = open.as_mut().expect("it was just opened");
        open.add(line).map_err(|source| tx.misread(source))
    })?;
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
    findings.extend(tx.all(&without_rows, params![dataset], |line| {
        let (job, page) = (JobId(line.get(2)?), PageNumber(line.get(3)?));
        let ledger = at_least_zero(line, 4)?;
        finding(line, Fault::RowsMiscounted { job, page, ledger, stored: 0 })
    })?);
    Ok(())
}

fn place_of(line: &Line<'_>) -> Result<(JobId, ReadNumber, PageNumber), Misread> {
    Ok((JobId(line.get(0)?), ReadNumber(line.get(1)?), PageNumber(line.get(2)?)))
}

fn audit_page(tx: &Tx<'_>, dataset: &str, stored: &StoredPage, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    const PARTITION: &str = "select p.key from job j join partition p on p.id = j.partition where j.id = ?1 and p.dataset = ?2";
    const LINE: &str = "select g.rows, g.rows_hash from page g join job j on j.id = g.job
        where g.job = ?1 and g.read = ?2 and g.number = ?3 and j.snapshot = 'kept'";
    let StoredPage { job, read, page, rows, elsewhere, .. } = *stored;
    let partition: Option<String> = tx.first(PARTITION, params![job.0, dataset], |line| line.get(0))?;
    let line = tx.first(LINE, params![job.0, read.0, page.0], |line| {
        Ok(PageLine { rows: at_least_zero(line, 0)?, digest: line.get(1)? })
    })?;
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
    tx.stream(BODIES, |line| {
        findings.extend(body_finding(line).map_err(|source| tx.misread(source))?);
        Ok(())
    })
}

fn body_finding(line: &Line<'_>) -> Result<Option<Finding>, Misread> {
    let (job, page) = (JobId(line.get(2)?), PageNumber(line.get(3)?));
    let has_page: bool = line.get(7)?;
    if !has_page {
        return finding(line, Fault::BodyOfNoPage { job, page }).map(Some);
    }
    let blake3 = line.get::<Vec<u8>>(5)?.try_into().ok();
    let raw_bytes = line.get::<i64>(4)?.try_into().ok();
    let body = match blake3.zip(raw_bytes) {
        Some((blake3, raw_bytes)) => Some(KeptBody { zstd: line.get(6)?, raw_bytes, blake3 }),
        None => None,
    };
    let is_whole = body.is_some_and(|body| body.raw().is_some());
    if is_whole { Ok(None) } else { finding(line, Fault::BodyDamaged { job, page }).map(Some) }
}

fn audit_ledger(tx: &Tx<'_>, findings: &mut Vec<Finding>) -> Result<(), StoreError> {
    findings.extend(tx.all(JOBS_MISCOUNTED, &[], |line| {
        let (received, pages) = (at_least_zero(line, 3)?, at_least_zero(line, 4)?);
        finding(line, Fault::JobMiscounted { job: JobId(line.get(2)?), received, pages })
    })?);
    findings.extend(tx.all(DANGLING, &[], |line| {
        let pointer = line.spelled_as(2, |text| {
            Some(match text {
                "published" => Pointer::Published,
                "waiting" => Pointer::Waiting,
                _ => Pointer::Replaced,
            })
        })?;
        finding(line, Fault::Dangling { pointer, job: JobId(line.get(3)?) })
    })?);
    findings.extend(tx.all(TWO_LIVE, &[], |line| finding(line, Fault::TwoLiveJobs { jobs: at_least_zero(line, 2)? }))?);
    findings.extend(tx.all(OTHER_READS, &[], |line| {
        let (job, read) = (JobId(line.get(2)?), ReadNumber(line.get(3)?));
        let (page, open) = (PageNumber(line.get(4)?), ReadNumber(line.get(5)?));
        finding(line, Fault::PageOfOtherRead { job, read, page, open })
    })?);
    Ok(())
}

/// A count that a hand may have made negative.
fn at_least_zero(line: &Line<'_>, at: usize) -> Result<u64, Misread> {
    Ok(u64::try_from(line.get::<i64>(at)?).unwrap_or(0))
}

/// Dataset and partition are the first two columns.
fn finding(line: &Line<'_>, fault: Fault) -> Result<Finding, Misread> {
    let dataset: Option<String> = line.get(0)?;
    Ok(Finding { dataset: dataset.unwrap_or_else(|| "?".to_owned()), partition: line.get(1)?, fault })
}
