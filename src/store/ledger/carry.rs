//! A store carried over to another: what is read on one side and written on the other, piece by piece.
//!
//! Each piece is one transaction at its end, so that a copy that was broken off goes on after the last whole piece.

use super::carry_tables::{BODY, Keyed, PAGE, TABLES, Table};
use super::tables;
use crate::definition::column::ColumnType;
use crate::store::bulk::ValueKind::{Boolean, Bytes, Date, Integer, Real, Text};
use crate::store::bulk::{BulkColumn, Value, ValueKind};
use crate::store::error::StoreError;
use crate::store::layout::Layout;
use crate::store::param::params;
use crate::store::tx::Tx;

/// Lines of one piece.
const AT_ONCE: i64 = 5_000;
/// Says, in a store that is being made by a copy, that it is not whole yet.
const MARK: &str = "half_copied";
const SET_MARK: &str = "insert into meta (name, value) values (?1, ?2) on conflict (name) do nothing";
const READ_MARK: &str = "select value from meta where name = ?1";
const DROP_MARK: &str = "delete from meta where name = ?1";
const SET_SALT: &str = "update meta set value = ?1 where name = 'salt'";
const IS_USED: &str = "select 1 from dataset union all select 1 from run limit 1";
const JOBS_WITH_PAGES: &str = "select distinct job from page order by job";
const DATASET_OF: &str = "select p.dataset from job j join partition p on p.id = j.partition where j.id = ?1";
const POINTERS: &str = "select id, published_job, waiting_job, replaced_job from partition
    where coalesce(published_job, waiting_job, replaced_job) is not null order by id";
const SET_POINTERS: &str = "update partition set published_job = ?2, waiting_job = ?3, replaced_job = ?4 where id = ?1";
const DATASETS: &str = "select id from dataset order by id";
const UNENDED: &str = "select id from run where ended_at is null";

/// What one job stores: lines of tables with their columns.
pub struct Snapshot {
    parts: Vec<Part>,
}

struct Part {
    table: String,
    columns: Vec<BulkColumn>,
    lines: Vec<Vec<Value>>,
}

/// What a partition shows, waits with, or showed.
pub type Pointers = (i64, [Option<i64>; 3]);

/// Whether a copy was begun into this store and has not come to its end.
fn is_half_copied(tx: &Tx<'_>) -> Result<bool, StoreError> {
    Ok(begun_from(tx)?.is_some())
}

pub fn refuse_half_copied(tx: &Tx<'_>) -> Result<(), StoreError> {
    if is_half_copied(tx)? { Err(StoreError::HalfCopied { place: tx.place().clone() }) } else { Ok(()) }
}

/// The [`fingerprint`] of the store that a copy into this one was begun from and has not come to its end.
pub fn begun_from(tx: &Tx<'_>) -> Result<Option<Vec<u8>>, StoreError> {
    tx.first(READ_MARK, params![MARK], |line| line.get(0))
}

/// Whether anything was ever stored here.
pub fn is_used(tx: &Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.first(IS_USED, &[], |_| Ok(()))?.is_some())
}

/// A run that is still at work on this store.
pub fn living_run(tx: &Tx<'_>) -> Result<Option<i64>, StoreError> {
    for run in tx.all(UNENDED, &[], |line| line.get(0))? {
        if tx.is_alive(crate::model::job::RunId(run))? {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// What a ledger says, as a digest: whoever writes to a store changes it, and a copy has the same.
///
/// Lines of attempts are counted alone: no other line of theirs is ever changed, and they are the bulk of a ledger.
pub fn fingerprint(tx: &Tx<'_>) -> Result<[u8; 32], StoreError> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |sql: &str, columns: usize| {
        hasher.update(&[0]);
        tx.stream(sql, |line| {
            for at in 0..columns {
                Value::from(line.cell(at).map_err(|source| tx.misread(source))?).digest(&mut hasher);
            }
            Ok(())
        })
    };
    for table in TABLES.iter().filter(|table| table.name != "attempt") {
        let columns = bulk(table.columns);
        add(&select(table.name, &columns, "order by 1, 2"), columns.len())?;
    }
    add("select count(*), min(id), max(id) from attempt", 3)?;
    add(POINTERS, 4)?;
    Ok(*hasher.finalize().as_bytes())
}

/// Takes everything out of a store that was half made, so that its copy begins anew.
pub fn clear(tx: &Tx<'_>) -> Result<(), StoreError> {
    for layout in layouts(tx)? {
        tx.change(&format!("drop view if exists \"{}\"", layout.id), &[])?;
        tx.change(&format!("drop table if exists \"{}_rows\"", layout.id), &[])?;
    }
    tx.change("update partition set published_job = null, waiting_job = null, replaced_job = null", &[])?;
    let ledger = TABLES.iter().rev().map(|table| table.name);
    ["body", "page"].into_iter().chain(ledger).try_for_each(|table| tx.change(&format!("delete from {table}"), &[]))?;
    end(tx)
}

/// Marks a store as half made; key ids of the other store mean the same in it from now on.
pub fn begin(tx: &Tx<'_>, fingerprint: &[u8; 32], salt: &[u8]) -> Result<(), StoreError> {
    tx.change(SET_MARK, params![MARK, &fingerprint[..]])?;
    tx.change(SET_SALT, params![salt])
}

/// The next lines of a table, after those the other side has; none when it has all.
pub fn next_lines(tx: &Tx<'_>, table: &Table, known: Option<i64>) -> Result<Vec<Vec<Value>>, StoreError> {
    let columns = bulk(table.columns);
    match table.keyed {
        Keyed::Whole if known.is_some() => Ok(Vec::new()),
        Keyed::Whole => read(tx, table.name, &columns, ""),
        Keyed::ById => {
            let after = format!("where id > {} order by id limit {AT_ONCE}", known.unwrap_or(0));
            read(tx, table.name, &columns, &after)
        }
    }
}

/// How far a table has come: its latest id, or that it has lines at all.
pub fn known(tx: &Tx<'_>, table: &Table) -> Result<Option<i64>, StoreError> {
    let sql = match table.keyed {
        Keyed::Whole => format!("select 1 from {} limit 1", table.name),
        Keyed::ById => format!("select max(id) from {}", table.name),
    };
    Ok(tx.first(&sql, &[], |line| line.get::<Option<i64>>(0))?.flatten())
}

pub fn write_lines(tx: &Tx<'_>, table: &Table, lines: &[Vec<Value>]) -> Result<(), StoreError> {
    tx.insert_many(table.name, &bulk(table.columns), lines)
}

/// Makes the tables and views of all datasets that have none yet.
pub fn make_tables(tx: &Tx<'_>) -> Result<(), StoreError> {
    for layout in layouts(tx)? {
        tables::make(tx, &layout)?;
    }
    Ok(())
}

pub fn jobs_with_pages(tx: &Tx<'_>) -> Result<Vec<i64>, StoreError> {
    tx.all(JOBS_WITH_PAGES, &[], |line| line.get(0))
}

/// Pages, bodies and rows of one job.
pub fn snapshot(tx: &Tx<'_>, job: i64) -> Result<Snapshot, StoreError> {
    let of_job = format!("where job = {job}");
    let mut parts = Vec::new();
    for (table, columns) in [("page", PAGE), ("body", BODY)] {
        let columns = bulk(columns);
        parts.push(Part { table: table.to_owned(), lines: read(tx, table, &columns, &of_job)?, columns });
    }
    let dataset: Option<String> = tx.first(DATASET_OF, params![job], |line| line.get(0))?;
    if let Some(layout) = dataset.map(|dataset| tables::layout(tx, &dataset)).transpose()?.flatten() {
        let (table, columns) = (format!("{}_rows", layout.id), row_columns(&layout));
        let lines = read(tx, &table, &columns, &format!("where _job = {job} order by _read, _page, _ordinal"))?;
        parts.push(Part { table, columns, lines });
    }
    Ok(Snapshot { parts })
}

pub fn write_snapshot(tx: &Tx<'_>, snapshot: &Snapshot) -> Result<(), StoreError> {
    snapshot.parts.iter().try_for_each(|part| tx.insert_many(&part.table, &part.columns, &part.lines))
}

pub fn pointers(tx: &Tx<'_>) -> Result<Vec<Pointers>, StoreError> {
    tx.all(POINTERS, &[], |line| Ok((line.get(0)?, [line.get(1)?, line.get(2)?, line.get(3)?])))
}

/// Lets partitions show what they show on the other side.
pub fn write_pointers(tx: &Tx<'_>, pointers: &[Pointers]) -> Result<(), StoreError> {
    for (partition, [published, waiting, replaced]) in pointers {
        let one = |job: &Option<i64>| crate::store::param::Param::Integer(*job);
        tx.change(SET_POINTERS, &[(*partition).into(), one(published), one(waiting), one(replaced)])?;
    }
    for table in TABLES.iter().filter(|table| table.keyed == Keyed::ById) {
        tx.go_on_after_ids(table.name)?;
    }
    Ok(())
}

pub fn end(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.change(DROP_MARK, params![MARK])
}

/// A digest of every value of the rows of each job that has some, by job.
pub fn digests(tx: &Tx<'_>) -> Result<Vec<(i64, [u8; 32])>, StoreError> {
    let mut digests: Vec<(i64, blake3::Hasher)> = Vec::new();
    for layout in layouts(tx)? {
        let columns = row_columns(&layout);
        let at = columns.iter().position(|column| column.name == "_job").expect("every row has a job");
        let order = "order by _job, _read, _page, _ordinal";
        tx.stream(&select(&format!("{}_rows", layout.id), &columns, order), |line| {
            let job = line.get(at).map_err(|source| tx.misread(source))?;
            if digests.last().is_none_or(|(last, _)| *last != job) {
                digests.push((job, blake3::Hasher::new()));
            }
            let hasher = &mut digests.last_mut().expect("one was pushed").1;
            for at in 0..columns.len() {
                Value::from(line.cell(at).map_err(|source| tx.misread(source))?).digest(hasher);
            }
            Ok(())
        })?;
    }
    let mut digests: Vec<_> = digests.into_iter().map(|(job, hasher)| (job, *hasher.finalize().as_bytes())).collect();
    digests.sort_unstable();
    Ok(digests)
}

fn layouts(tx: &Tx<'_>) -> Result<Vec<Layout>, StoreError> {
    let ids: Vec<String> = tx.all(DATASETS, &[], |line| line.get(0))?;
    let layouts = ids.iter().map(|id| tables::layout(tx, id)).collect::<Result<Vec<_>, _>>()?;
    Ok(layouts.into_iter().flatten().collect())
}

fn row_columns(layout: &Layout) -> Vec<BulkColumn> {
    let axes = layout.axes.iter().map(|axis| BulkColumn::new(axis, Text));
    let columns = layout.columns.iter().map(|column| BulkColumn::new(&column.id, kind_of(column.kind)));
    let own = [
        ("_unparsed", Text),
        ("_extra", Text),
        ("_row_hash", Bytes),
        ("_job", Integer),
        ("_read", Integer),
        ("_page", Integer),
        ("_ordinal", Integer),
    ];
    axes.chain(columns).chain(bulk(&own)).collect()
}

pub(super) fn kind_of(kind: ColumnType) -> ValueKind {
    match kind {
        ColumnType::Text | ColumnType::Code | ColumnType::Month | ColumnType::Time | ColumnType::Json => Text,
        ColumnType::Date => Date,
        ColumnType::Integer => Integer,
        ColumnType::Decimal => Real,
        ColumnType::Boolean => Boolean,
    }
}

fn bulk(columns: &[(&str, ValueKind)]) -> Vec<BulkColumn> {
    columns.iter().map(|(name, kind)| BulkColumn::new(name, *kind)).collect()
}

/// A query whose cells are as values are told, dates as texts.
pub(super) fn select(table: &str, columns: &[BulkColumn], rest: &str) -> String {
    let names = columns.iter().map(|column| match column.kind {
        Date => format!("cast(\"{}\" as text)", column.name),
        Text | Integer | Real | Boolean | Bytes => format!("\"{}\"", column.name),
    });
    format!("select {} from \"{table}\" {rest}", names.collect::<Vec<_>>().join(", "))
}

fn read(tx: &Tx<'_>, table: &str, columns: &[BulkColumn], rest: &str) -> Result<Vec<Vec<Value>>, StoreError> {
    tx.all(&select(table, columns, rest), &[], |line| (0..columns.len()).map(|at| line.cell(at).map(Value::from)).collect())
}
