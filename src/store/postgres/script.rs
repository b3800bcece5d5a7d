//! What begins and ends a transaction, and names in SQL.
//!
//! Nothing is set for a session: everything holds for one transaction, so that a pooler may give each of them to another
//! connection of the server.

use crate::model::name::Name;

/// "gapl", the first half of the keys of our locks.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"gapl");

/// What a transaction does to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Pages and attempts of jobs that we hold: beside those of others.
    Pages,
    /// Whatever the rules look at: one at a time in a store, as on SQLite.
    Rules,
}

/// Begins a transaction.
///
/// A process that stops in the middle of one would keep others waiting: the server ends it. Locks are those of the
/// transaction, never of the session.
pub fn begin(schema: &Name, access: Access) -> String {
    let settings = format!(
        "set local search_path to {schema}; set local standard_conforming_strings to on; \
         set local extra_float_digits to 3; set local idle_in_transaction_session_timeout to '10s'",
        schema = quoted(schema),
    );
    let lock = |function: &str| {
        format!(
            "begin isolation level read committed; {settings}; set local synchronous_commit to on; \
             set local lock_timeout to '20s'; select {function}({LOCK_CLASS}, hashtext('{schema}'))"
        )
    };
    match access {
        Access::Read => format!("begin isolation level repeatable read read only; {settings}"),
        Access::Pages => lock("pg_advisory_xact_lock_shared"),
        Access::Rules => lock("pg_advisory_xact_lock"),
    }
}

/// Counts a transaction of a writer and commits it, in one message.
pub fn commit(writer: &str, mark: i64) -> String {
    format!("update writer set mark = {mark}, seen_at = clock_timestamp() where id = '{writer}'; commit")
}

pub fn quoted(name: &Name) -> String {
    format!("\"{name}\"")
}

/// A text as SQL.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Our SQL with the parameters as this engine writes them: `?1` as `$1`. It has question marks for nothing else.
pub fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}
