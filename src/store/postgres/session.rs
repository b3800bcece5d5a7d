//! An open transaction as the rules see it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgRow};

use super::lease::millis;
use super::link::{Answer, Link, Order};
use super::script::{filled, literal, quoted};
use super::values::{BinaryLine, ToldLine, names};
use super::{bulk, describe, dialect, failure, lease, rows};
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::bulk::{BulkColumn, Value};
use crate::store::dialect::Dialect;
use crate::store::error::{DatabaseFailure, StoreError, StorePlace};
use crate::store::job::StoredPage;
use crate::store::layout::Layout;
use crate::store::param::{Param, params};
use crate::store::tx::{Cells, Each, Line, Session};

/// Lines that are read at once of a result that may be as long as the store.
const LINES_AT_ONCE: usize = 500;
/// Bytes of statements that wait for the next one to be sent with.
const MOST_UNSENT: usize = 1 << 20;

/// The connection of a transaction that is open.
pub struct Handle<'a> {
    pub link: &'a Link,
    pub place: &'a StorePlace,
    /// Who is to read the tables, where somebody is named.
    pub reader_role: Option<&'a Name>,
    pub lease: Duration,
    /// Statements that are sent with the next one.
    pub unsent: RefCell<String>,
}

impl Handle<'_> {
    pub fn script(&self, sql: String) -> Result<Answer, StoreError> {
        self.ask(Order::Script(sql))
    }

    /// Sends what is not sent yet, then the order; as one message, where that has no parameters.
    fn ask(&self, order: Order) -> Result<Answer, StoreError> {
        let unsent = self.unsent.take();
        let order = match order {
            Order::Script(sql) => Order::Script(unsent + &sql),
            Order::Count(..) | Order::Change(..) | Order::Query(..) if unsent.is_empty() => order,
            Order::Count(..) | Order::Change(..) | Order::Query(..) => {
                self.link.ask(Order::Script(unsent)).map_err(|source| self.failed(source))?;
                order
            }
        };
        self.link.ask(order).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        failure::of_sqlx(self.place, source)
    }

    /// Sends what is not sent yet.
    fn send(&self) -> Result<(), StoreError> {
        if self.unsent.borrow().is_empty() { Ok(()) } else { self.script(String::new()).map(drop) }
    }

    fn told(&self, rows: &[PgRow]) -> Result<Vec<ToldLine>, StoreError> {
        let lines: Option<Vec<ToldLine>> = rows.iter().map(ToldLine::of).collect();
        lines.ok_or_else(|| self.misread("the server sent a value it never sends"))
    }

    /// Opens a cursor, which takes one query and nothing that writes.
    fn open_cursor(&self, cursor: &str, sql: &str) -> Result<(), StoreError> {
        self.script(format!("declare {cursor} no scroll cursor for {sql}")).map(drop)
    }

    fn misread(&self, what: &'static str) -> StoreError {
        StoreError::Database { place: self.place.clone(), failure: DatabaseFailure::Unforeseen, source: what.into() }
    }

    /// The names of the columns of a query that brings no line.
    fn names_of(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let answer = self.script(format!("select q.* from (select) as one left join ({sql}) as q on false"))?;
        Ok(answer.rows.first().map(names).unwrap_or_default())
    }
}

impl Session for Handle<'_> {
    fn place(&self) -> &StorePlace {
        self.place
    }

    fn dialect(&self) -> &'static Dialect {
        &dialect::POSTGRES
    }

    fn execute(&self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        Ok(self.ask(Order::Count(filled(sql, params)))?.changed)
    }

    fn change(&self, sql: &str, params: &[Param<'_>]) -> Result<(), StoreError> {
        let mut unsent = self.unsent.borrow_mut();
        unsent.push_str(&filled(sql, params));
        unsent.push_str("; ");
        let is_much = unsent.len() > MOST_UNSENT;
        drop(unsent);
        if is_much { self.send() } else { Ok(()) }
    }

    fn query(&self, sql: &str, params: &[Param<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        let rows = self.script(filled(sql, params))?.rows;
        hand_over(self.told(&rows)?.into_iter(), each).map(drop)
    }

    fn stream(&self, sql: &str, each: &mut Each<'_>) -> Result<(), StoreError> {
        const CURSOR: &str = "gapless_stream";
        self.open_cursor(CURSOR, sql)?;
        loop {
            let fetch = format!("fetch {LINES_AT_ONCE} from {CURSOR}");
            let rows = self.ask(Order::Query(fetch, PgArguments::default()))?.rows;
            let is_last = rows.len() < LINES_AT_ONCE;
            if hand_over(rows.iter().map(BinaryLine), each)?.is_break() || is_last {
                break;
            }
        }
        self.script(format!("close {CURSOR}")).map(drop)
    }

    fn select(&self, sql: &str, each: &mut Each<'_>) -> Result<Vec<String>, StoreError> {
        const CURSOR: &str = "gapless_select";
        let sql = sql.trim().trim_end_matches(';');
        self.open_cursor(CURSOR, sql)?;
        let mut columns: Option<Vec<String>> = None;
        loop {
            let rows = self.script(format!("fetch {LINES_AT_ONCE} from {CURSOR}"))?.rows;
            let is_last = rows.len() < LINES_AT_ONCE;
            columns = columns.or_else(|| rows.first().map(names));
            if hand_over(self.told(&rows)?.into_iter(), each)?.is_break() || is_last {
                break;
            }
        }
        self.script(format!("close {CURSOR}"))?;
        columns.map_or_else(|| self.names_of(sql), Ok)
    }

    fn insert_rows(&self, page: &StoredPage<'_>) -> Result<(), StoreError> {
        if page.page.records.is_empty() {
            return Ok(());
        }
        let insertion = rows::insertion(page).map_err(|source| self.failed(source))?;
        self.ask(insertion).map(drop)
    }

    fn describe(&self, layout: &Layout) -> Result<(), StoreError> {
        self.script(describe::comments(layout))?;
        match self.reader_role {
            Some(role) => self.script(describe::grants(layout, role)).map(drop),
            None => Ok(()),
        }
    }

    fn replace_view(&self, view: &str, sql: &str) -> Result<(), StoreError> {
        let mut grants = String::new();
        self.query(describe::GRANTS, params![format!("\"{view}\"")], &mut |line| {
            grants.push_str(&line.get::<String>(0).map_err(|_| self.misread("a grant that is no text"))?);
            Ok(ControlFlow::Continue(()))
        })?;
        self.script(format!("drop view if exists \"{view}\"; {sql}; {grants}")).map(drop)
    }

    fn insert_many(&self, table: &str, columns: &[BulkColumn], lines: &[Vec<Value>]) -> Result<(), StoreError> {
        let insertion = bulk::insertion(table, columns, lines).map_err(|source| self.failed(source))?;
        self.ask(insertion).map(drop)
    }

    fn go_on_after_ids(&self, table: &str) -> Result<(), StoreError> {
        let sequence = format!("pg_get_serial_sequence('\"{table}\"', 'id')");
        self.script(format!("select setval({sequence}, greatest((select max(id) from \"{table}\"), 1))")).map(drop)
    }

    fn hold(&self, run: RunId) -> Result<(), StoreError> {
        self.change(lease::HOLD, &[run.0.into(), millis(self.lease).into()])
    }

    fn release(&self, run: RunId) -> Result<(), StoreError> {
        lease::RELEASE.into_iter().try_for_each(|sql| self.change(sql, &[run.0.into()]))
    }

    fn is_alive(&self, run: RunId) -> Result<bool, StoreError> {
        let mut is_alive = false;
        self.query(lease::ALIVE, &[run.0.into()], &mut |line| {
            is_alive = line.get(0).map_err(|_| self.misread("a truth that is neither true nor false"))?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_alive)
    }
}

fn hand_over<C: Cells>(lines: impl Iterator<Item = C>, each: &mut Each<'_>) -> Result<ControlFlow<()>, StoreError> {
    for line in lines {
        if each(&Line::new(&line))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Rights to read the views and tables of a schema.
pub fn grant_reading(schema: &Name, role: &Name) -> [String; 2] {
    let (schema, role) = (quoted(schema), quoted(role));
    [format!("grant usage on schema {schema} to {role}"), format!("grant select on all tables in schema {schema} to {role}")]
}

/// A comment as SQL.
pub fn comment(on: &str, text: &str) -> String {
    format!("comment on {on} is {};", literal(text))
}
