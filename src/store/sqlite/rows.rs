//! The row path: a page of records into a row table, as fast as SQLite takes them.
//!
//! A statement through the driver is a message to its thread and back, which costs more than the insert itself. So the
//! handle is borrowed from the driver for the length of a transaction and rows are bound to it directly.

use rusqlite::CachedStatement;
use rusqlite::types::Null;
use sqlx::SqliteConnection;

use super::write::Handle;
use crate::model::name::Name;
use crate::store::blocking::blocking;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::StoredPage;
use crate::store::row::{Row, RowReader};
use crate::store::value::Stored;

/// Does `work` on the raw connection, off the driver's thread.
///
/// It must leave no transaction open: the driver does not know of it.
#[expect(unsafe_code, reason = "the driver lends its handle only as a pointer")]
pub async fn on_handle<T>(
    connection: &mut SqliteConnection,
    work: impl FnOnce(&rusqlite::Connection) -> T,
) -> Result<T, sqlx::Error> {
    let mut handle = connection.lock_handle().await?;
    // SAFETY: the pointer is of an open database and of the same libsqlite3-sys. While `handle` lives the driver's thread
    // does not touch it, and `db`, which does not close it, is dropped before `handle`.
    let db = unsafe { rusqlite::Connection::from_handle(handle.as_raw_handle().as_ptr()) };
    let db = db.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
    Ok(blocking(|| work(&db)))
}

/// Inserts the rows of a page.
pub fn insert(handle: &Handle<'_>, stored: &StoredPage<'_>) -> Result<(), StoreError> {
    let declared = stored.job.declared();
    let (records, hashes) = (&stored.page.records, &stored.page.row_hashes);
    assert_eq!(records.len(), hashes.len(), "a page has a hash for each record");
    let failed = |source| handle.failed(source);
    let mut insert = handle.prepare(&insert_sql(declared))?;
    let mut next = Parameters::default();
    for (_, value) in stored.job.partition().values() {
        insert.raw_bind_parameter(next.one(), value).map_err(failed)?;
    }
    insert.raw_bind_parameter(next.one(), stored.job.id().0).map_err(failed)?;
    insert.raw_bind_parameter(next.one(), stored.read.0).map_err(failed)?;
    insert.raw_bind_parameter(next.one(), stored.number.0).map_err(failed)?;
    // What is bound stays bound: only what differs from row to row is bound again.
    let reader = RowReader::new(declared, records.names());
    let mut row = reader.row();
    for (ordinal, (record, hash)) in records.iter().zip(hashes.iter()).enumerate() {
        let mut next = next;
        reader.read(record, &mut row);
        insert.raw_bind_parameter(next.one(), ordinal as i64 + 1).map_err(failed)?;
        insert.raw_bind_parameter(next.one(), &hash.0[..]).map_err(failed)?;
        bind(&mut insert, next, &row).and_then(|()| insert.raw_execute()).map_err(failed)?;
    }
    Ok(())
}

fn bind(insert: &mut CachedStatement<'_>, mut next: Parameters, row: &Row<'_>) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(next.one(), row.unparsed())?;
    insert.raw_bind_parameter(next.one(), row.extra())?;
    for cell in &row.cells {
        let at = next.one();
        match cell {
            Stored::Null | Stored::Unparsed => insert.raw_bind_parameter(at, Null)?,
            Stored::Text(text) => insert.raw_bind_parameter(at, &**text)?,
            Stored::Short(text) => insert.raw_bind_parameter(at, text.as_str())?,
            Stored::Integer(value) => insert.raw_bind_parameter(at, value)?,
            Stored::Real(value) => insert.raw_bind_parameter(at, value)?,
        }
    }
    Ok(())
}

/// Positions of parameters, counted from 1.
#[derive(Clone, Copy, Default)]
struct Parameters(usize);

impl Parameters {
    fn one(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}

fn insert_sql(declared: &Declared) -> String {
    let names = |names: &[Name]| names.iter().map(|name| format!("\"{name}\", ")).collect::<String>();
    let count = declared.axes().len() + declared.columns().len() + 7;
    let mut columns = names(declared.axes());
    columns.push_str("_job, _read, _page, _ordinal, _row_hash, _unparsed, _extra, ");
    columns.push_str(&names(declared.columns()));
    let columns = columns.trim_end_matches(", ");
    let places = vec!["?"; count].join(", ");
    format!("insert into \"{id}_rows\" ({columns}) values ({places})", id = declared.id())
}
