//! Transactions.

use std::ops::ControlFlow;

use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Rows, Statement, ToSql, Transaction, TransactionBehavior};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::Mutex;

use super::{dialect, failure, rows};
use crate::model::job::RunId;
use crate::store::bulk::{BulkColumn, Value};
use crate::store::cell::Cell;
use crate::store::dialect::Dialect;
use crate::store::error::{StoreError, StorePlace};
use crate::store::job::StoredPage;
use crate::store::layout::Layout;
use crate::store::param::Param;
use crate::store::tx::{Cells, Each, Line, Session, Tx};

/// The one connection that writes.
#[derive(Debug)]
pub struct Writer {
    connection: Mutex<SqliteConnection>,
}

/// The handle of a transaction that is open.
pub struct Handle<'a> {
    db: &'a Connection,
    place: &'a StorePlace,
}

impl Writer {
    pub fn new(connection: SqliteConnection) -> Self {
        Self { connection: Mutex::new(connection) }
    }

    /// Does `work` in one transaction and commits it.
    ///
    /// From begin to commit there is no point to wait at, so a dropped future can't leave half of it open; and it begins
    /// as a writer, because a reader that turns writer is refused at once when another wrote meanwhile.
    pub async fn write<T>(
        &self,
        place: &StorePlace,
        work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.lock().await;
        rows::on_handle(&mut connection, |db| transaction(db, place, TransactionBehavior::Immediate, work))
            .await
            .unwrap_or_else(|source| Err(failure::of_sqlx(place, source)))
    }

    pub async fn close(self) {
        // Nothing can be lost by it: whatever was committed is in the log, and the next to open folds it in.
        self.connection.into_inner().close().await.ok();
    }
}

/// Does `work` in one transaction that only reads.
pub fn read<T>(
    db: &Connection,
    place: &StorePlace,
    work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    transaction(db, place, TransactionBehavior::Deferred, work)
}

fn transaction<T>(
    db: &Connection,
    place: &StorePlace,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let failed = |source| failure::of_rusqlite(place, source);
    let transaction = Transaction::new_unchecked(db, behavior).map_err(failed)?;
    let done = work(&Tx::new(&Handle { db, place }))?;
    transaction.commit().map_err(failed)?;
    Ok(done)
}

impl Handle<'_> {
    /// A statement that is prepared once for the whole connection.
    pub fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        self.db.prepare_cached(sql).map_err(|source| self.failed(source))
    }

    pub fn failed(&self, source: rusqlite::Error) -> StoreError {
        failure::of_rusqlite(self.place, source)
    }

    fn hand_over(&self, mut rows: Rows<'_>, each: &mut Each<'_>) -> Result<(), StoreError> {
        while let Some(row) = rows.next().map_err(|source| self.failed(source))? {
            match each(&Line::new(row))? {
                ControlFlow::Continue(()) => (),
                ControlFlow::Break(()) => break,
            }
        }
        Ok(())
    }

    /// A statement whose columns are those of this moment.
    ///
    /// A connection learns that a view has changed only when it runs something, and a statement that was prepared before
    /// has the names of before.
    fn prepare_fresh(&self, sql: &str) -> rusqlite::Result<Statement<'_>> {
        self.db.query_row("select 1 from sqlite_schema limit 1", [], |_| Ok(())).or_else(none_is_fine)?;
        self.db.prepare(sql)
    }
}

impl Session for Handle<'_> {
    fn place(&self) -> &StorePlace {
        self.place
    }

    fn dialect(&self) -> &'static Dialect {
        &dialect::SQLITE
    }

    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let changed = self.prepare(sql)?.execute(rusqlite::params_from_iter(params));
        changed.map(|lines| lines as u64).map_err(|source| self.failed(source))
    }

    fn query(&self, sql: &str, params: &[Param<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query(rusqlite::params_from_iter(params)).map_err(|source| self.failed(source))?;
        self.hand_over(rows, each)
    }

    fn stream(&self, sql: &str, each: &mut Each<'_>) -> Result<(), StoreError> {
        self.query(sql, &[], each)
    }

    fn select(&self, sql: &str, each: &mut Each<'_>) -> Result<Vec<String>, StoreError> {
        let mut statement = self.prepare_fresh(sql).map_err(|source| self.failed(source))?;
        let names = statement.column_names().into_iter().map(str::to_owned).collect();
        let rows = statement.query([]).map_err(|source| self.failed(source))?;
        self.hand_over(rows, each)?;
        Ok(names)
    }

    fn insert_rows(&self, page: &StoredPage<'_>) -> Result<(), StoreError> {
        rows::insert(self, page)
    }

    /// The lock of a run holds all of it.
    fn hold(&self, _run: RunId) -> Result<(), StoreError> {
        Ok(())
    }

    fn release(&self, _run: RunId) -> Result<(), StoreError> {
        Ok(())
    }

    /// The lock of a run says who is alive: this is asked only by who holds it.
    fn is_alive(&self, _run: RunId) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// SQLite has no place for it but the view `columns`.
    fn describe(&self, _layout: &Layout) -> Result<(), StoreError> {
        Ok(())
    }

    fn insert_many(&self, table: &str, columns: &[BulkColumn], lines: &[Vec<Value>]) -> Result<(), StoreError> {
        let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
        let places = vec!["?"; columns.len()].join(", ");
        let mut insert = self.prepare(&format!("insert into \"{table}\" ({}) values ({places})", names.join(", ")))?;
        for line in lines {
            insert.execute(rusqlite::params_from_iter(line)).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// It follows the largest by itself.
    fn go_on_after_ids(&self, _table: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

fn none_is_fine(error: rusqlite::Error) -> rusqlite::Result<()> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(()),
        other => Err(other),
    }
}

impl Cells for rusqlite::Row<'_> {
    fn cell(&self, at: usize) -> Option<Cell<'_>> {
        Some(match self.get_ref(at).ok()? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Integer(value),
            ValueRef::Real(value) => Cell::Real(value),
            ValueRef::Text(text) => Cell::Text(str::from_utf8(text).ok()?),
            ValueRef::Blob(bytes) => Cell::Blob(bytes),
        })
    }

    fn len(&self) -> usize {
        self.as_ref().column_count()
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Integer(Some(value)) => value.to_sql(),
            Self::Text(Some(text)) => Ok(ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))),
            Self::Bytes(Some(bytes)) => Ok(ToSqlOutput::Borrowed(ValueRef::Blob(bytes))),
            Self::Boolean(Some(value)) => value.to_sql(),
            Self::Integer(None) | Self::Text(None) | Self::Bytes(None) | Self::Boolean(None) => Null.to_sql(),
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Real(value) => ValueRef::Real(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
