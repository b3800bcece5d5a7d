//! Transactions.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, Params, Row, Statement, Transaction, TransactionBehavior};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::Mutex;

use super::{failure, rows};
use crate::store::error::StoreError;

/// The one connection that writes.
#[derive(Debug)]
pub struct Writer {
    connection: Mutex<SqliteConnection>,
}

/// A transaction that is open.
pub struct Tx<'a> {
    db: &'a Connection,
    path: &'a Path,
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
        path: &Path,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.lock().await;
        rows::on_handle(&mut connection, |db| {
            let failed = |source| failure::of_rusqlite(path, source);
            let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate).map_err(failed)?;
            let done = work(&Tx { db, path })?;
            transaction.commit().map_err(failed)?;
            Ok(done)
        })
        .await
        .unwrap_or_else(|source| Err(failure::of_sqlx(path, source)))
    }

    pub async fn close(self) {
        // Nothing can be lost by it: whatever was committed is in the log, and the next to open folds it in.
        self.connection.into_inner().close().await.ok();
    }
}

impl Tx<'_> {
    /// Does `work` in one transaction that only reads.
    pub fn read<T>(db: &Connection, path: &Path, work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let failed = |source| failure::of_rusqlite(path, source);
        let transaction = Transaction::new_unchecked(db, TransactionBehavior::Deferred).map_err(failed)?;
        let done = work(&Tx { db, path })?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.prepare(sql)?.execute(params).map_err(|source| self.failed(source))
    }

    /// The first row, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        match statement.query_row(params, read) {
            Ok(row) => Ok(Some(row)),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    pub fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(params, read).and_then(Iterator::collect);
        rows.map_err(|source| self.failed(source))
    }

    /// A statement that is prepared once for the whole transaction.
    pub fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        self.db.prepare_cached(sql).map_err(|source| self.failed(source))
    }

    /// A statement whose columns are those of this moment.
    ///
    /// A connection learns that a view has changed only when it runs something, and a statement that was prepared before
    /// has the names of before.
    pub fn prepare_fresh(&self, sql: &str) -> Result<Statement<'_>, StoreError> {
        self.first("select 1 from sqlite_schema limit 1", [], |_| Ok(()))?;
        self.db.prepare(sql).map_err(|source| self.failed(source))
    }

    pub fn last_insert_rowid(&self) -> i64 {
        self.db.last_insert_rowid()
    }

    pub fn failed(&self, source: rusqlite::Error) -> StoreError {
        failure::of_rusqlite(self.path, source)
    }
}
