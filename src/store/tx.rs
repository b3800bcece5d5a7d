//! A transaction as the rules of the ledger see it: statements, parameters and lines, whatever engine runs them.
//!
//! The rules speak one SQL, of what both databases understand, with parameters written `?1`. An engine does what is left:
//! it opens, migrates and locks, sends statements, and spells values.

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use super::bulk::{BulkColumn, Value};
use super::cell::{Cell, FromCell};
use super::dialect::Dialect;
use super::error::{DatabaseFailure, StoreError, StorePlace};
use super::job::StoredPage;
use super::layout::Layout;
use super::param::Param;
use crate::model::job::RunId;

/// A transaction that is open.
///
/// What runs in it may be run again from the start, when the transaction could not be committed.
pub struct Tx<'a> {
    session: &'a dyn Session,
}

/// What an engine does inside a transaction.
pub trait Session {
    fn place(&self) -> &StorePlace;

    fn dialect(&self) -> &'static Dialect;

    /// Returns how many lines were changed.
    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError>;

    /// [`Session::execute`] where nobody asks how many: it may be sent together with what follows, and fail with that.
    fn change(&self, sql: &str, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.execute(sql, params).map(drop)
    }

    /// Hands over the lines of a query until it is told to stop; they may all be read first.
    fn query(&self, sql: &str, params: &[Param<'_>], each: &mut Each<'_>) -> Result<(), StoreError>;

    /// [`Session::query`] of any length, without parameters: other statements may run between its lines.
    fn stream(&self, sql: &str, each: &mut Each<'_>) -> Result<(), StoreError>;

    /// [`Session::stream`] of a query that is not ours; returns the names of its columns as they are at this moment.
    fn select(&self, sql: &str, each: &mut Each<'_>) -> Result<Vec<String>, StoreError>;

    /// Inserts the rows of a page, the fast way.
    fn insert_rows(&self, page: &StoredPage<'_>) -> Result<(), StoreError>;

    /// Marks a run as alive: others leave its jobs alone until nothing is heard of it for as long as its lease.
    fn hold(&self, run: RunId) -> Result<(), StoreError>;

    /// A run has ended: it holds nothing any more.
    fn release(&self, run: RunId) -> Result<(), StoreError>;

    /// Whether somebody still works on a run: what it holds is not to be taken from it.
    fn is_alive(&self, run: RunId) -> Result<bool, StoreError>;

    /// Tells the database what the tables and columns of a dataset mean, where it has a place for that.
    fn describe(&self, layout: &Layout) -> Result<(), StoreError>;

    /// Makes a view anew, for those who may read it.
    fn replace_view(&self, view: &str, sql: &str) -> Result<(), StoreError> {
        self.change(&format!("drop view if exists \"{view}\""), &[])?;
        self.change(sql, &[])
    }

    /// Inserts lines of a table with the ids they have.
    fn insert_many(&self, table: &str, columns: &[BulkColumn], lines: &[Vec<Value>]) -> Result<(), StoreError>;

    /// The next id that the database draws for a table follows those that are there.
    fn go_on_after_ids(&self, table: &str) -> Result<(), StoreError>;
}

/// What is done with each line of a query.
pub type Each<'e> = dyn FnMut(&Line<'_>) -> Result<ControlFlow<()>, StoreError> + 'e;

/// One line of a result.
pub struct Line<'r> {
    cells: &'r dyn Cells,
}

/// The values of one line, as an engine has them.
pub trait Cells {
    /// Counted from 0; `None` where there is no such column or its value is of no kind we know.
    fn cell(&self, at: usize) -> Option<Cell<'_>>;

    fn len(&self) -> usize;
}

/// A value that is not what the ledger has at its place.
#[derive(Debug, thiserror::Error)]
pub struct Misread {
    at: usize,
    found: String,
}

impl<'a> Tx<'a> {
    pub fn new(session: &'a dyn Session) -> Self {
        Self { session }
    }

    pub fn place(&self) -> &StorePlace {
        self.session.place()
    }

    pub fn dialect(&self) -> &'static Dialect {
        self.session.dialect()
    }

    /// Returns how many lines were changed.
    pub fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.session.execute(sql, params)
    }

    /// Changes something, and nobody asks how much: where the database is far away, it is sent together with what follows.
    pub fn change(&self, sql: &str, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.session.change(sql, params)
    }

    /// The first line, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&Line<'_>) -> Result<T, Misread>,
    ) -> Result<Option<T>, StoreError> {
        let mut first = None;
        self.session.query(sql, params, &mut |line| {
            first = Some(read(line).map_err(|source| self.misread(source))?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    pub fn all<T>(
        &self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&Line<'_>) -> Result<T, Misread>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.session.query(sql, params, &mut |line| {
            all.push(read(line).map_err(|source| self.misread(source))?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// Reads a result that may be as long as the store.
    pub fn stream(&self, sql: &str, mut each: impl FnMut(&Line<'_>) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.session.stream(sql, &mut |line| each(line).map(ControlFlow::Continue))
    }

    /// Runs a query that is not ours; returns the names of its columns.
    pub fn select(&self, sql: &str, mut each: impl FnMut(&[Cell<'_>])) -> Result<Vec<String>, StoreError> {
        self.session.select(sql, &mut |line| {
            let cells: Result<Vec<_>, _> = (0..line.cells.len()).map(|at| line.cell(at)).collect();
            each(&cells.map_err(|source| self.misread(source))?);
            Ok(ControlFlow::Continue(()))
        })
    }

    pub fn replace_view(&self, view: &str, sql: &str) -> Result<(), StoreError> {
        self.session.replace_view(view, sql)
    }

    pub fn insert_many(&self, table: &str, columns: &[BulkColumn], lines: &[Vec<Value>]) -> Result<(), StoreError> {
        if lines.is_empty() { Ok(()) } else { self.session.insert_many(table, columns, lines) }
    }

    pub fn go_on_after_ids(&self, table: &str) -> Result<(), StoreError> {
        self.session.go_on_after_ids(table)
    }

    pub fn insert_rows(&self, page: &StoredPage<'_>) -> Result<(), StoreError> {
        self.session.insert_rows(page)
    }

    pub fn hold(&self, run: RunId) -> Result<(), StoreError> {
        self.session.hold(run)
    }

    pub fn release(&self, run: RunId) -> Result<(), StoreError> {
        self.session.release(run)
    }

    /// Whether somebody still works on a run.
    pub fn is_alive(&self, run: RunId) -> Result<bool, StoreError> {
        self.session.is_alive(run)
    }

    pub fn describe(&self, layout: &Layout) -> Result<(), StoreError> {
        self.session.describe(layout)
    }

    /// 32 hexadecimal digits nobody can guess, of the database's own randomness.
    pub fn random_token(&self) -> Result<String, StoreError> {
        let token = self.first(self.dialect().random_token, &[], |line| line.get(0))?;
        Ok(token.expect("a constant query brings one line"))
    }

    /// A value of ours that is not there or not what we write.
    pub fn misread(&self, source: Misread) -> StoreError {
        let place = self.session.place().clone();
        StoreError::Database { place, failure: DatabaseFailure::Unforeseen, source: source.into() }
    }
}

impl<'r> Line<'r> {
    pub fn new(cells: &'r dyn Cells) -> Self {
        Self { cells }
    }

    pub fn get<T: FromCell>(&self, at: usize) -> Result<T, Misread> {
        let cell = self.cell(at)?;
        T::from_cell(cell).ok_or_else(|| Misread { at, found: format!("{cell:?}") })
    }

    pub fn cell(&self, at: usize) -> Result<Cell<'_>, Misread> {
        self.cells.cell(at).ok_or_else(|| Misread { at, found: "a value of no known kind".to_owned() })
    }

    /// A value that has a spelling.
    pub fn spelled<T: FromStr>(&self, at: usize) -> Result<T, Misread> {
        self.spelled_as(at, |text| text.parse().ok())
    }

    /// [`Line::spelled`] of a value that may be NULL.
    pub fn spelled_or_null<T: FromStr>(&self, at: usize) -> Result<Option<T>, Misread> {
        self.spelled_as_or_null(at, |text| text.parse().ok())
    }

    pub fn spelled_as<T>(&self, at: usize, read: impl Fn(&str) -> Option<T>) -> Result<T, Misread> {
        self.spelled_as_or_null(at, read)?.ok_or_else(|| Misread { at, found: "NULL".to_owned() })
    }

    pub fn spelled_as_or_null<T>(&self, at: usize, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Misread> {
        let cell = self.cell(at)?;
        let wrong = || Misread { at, found: format!("{cell:?}") };
        match cell {
            Cell::Null => Ok(None),
            Cell::Text(text) => read(text).map(Some).ok_or_else(wrong),
            Cell::Integer(_) | Cell::Real(_) | Cell::Blob(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {} of a result has {}, which is never stored there", self.at + 1, self.found)
    }
}
