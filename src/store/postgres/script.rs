//! What begins and ends a transaction, and names in SQL.
//!
//! Nothing is set for a session: everything holds for one transaction, so that a pooler may give each of them to another
//! connection of the server.

use crate::model::name::Name;
use crate::store::param::Param;

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
         set local extra_float_digits to 3; set local bytea_output to hex; set local idle_in_transaction_session_timeout to '10s'",
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

/// A text as SQL, whatever `standard_conforming_strings` says where it is read.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// Our SQL with the values of its parameters in it: `?1` as the first. It has question marks for nothing else.
///
/// So several statements go to the server as one message, where each with parameters costs two ways there and back.
pub fn filled(sql: &str, params: &[Param<'_>]) -> String {
    let mut pieces = sql.split('?');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.len() - piece.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let number: usize = piece[..digits].parse().expect("a parameter has a number");
        filled.push_str(&spelled(&params[number - 1]));
        filled.push_str(&piece[digits..]);
    }
    filled
}

/// A value as SQL, with its type.
fn spelled(param: &Param<'_>) -> String {
    match param {
        // A sign would bind more loosely than the cast.
        Param::Integer(Some(value)) => format!("bigint '{value}'"),
        Param::Integer(None) => "null::bigint".to_owned(),
        Param::Text(Some(text)) => format!("{}::text", literal(text)),
        Param::Text(None) => "null::text".to_owned(),
        Param::Bytes(Some(bytes)) => {
            let digits = |nibble: u8| char::from_digit(nibble.into(), 16).expect("a nibble is a digit");
            let hex: String = bytes.iter().flat_map(|byte| [digits(byte >> 4), digits(byte & 15)]).collect();
            format!("decode('{hex}', 'hex')")
        }
        Param::Bytes(None) => "null::bytea".to_owned(),
        Param::Boolean(Some(value)) => value.to_string(),
        Param::Boolean(None) => "null::boolean".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::param::params;

    #[test]
    fn values_stand_in_a_statement_as_they_are() {
        let filled = filled(
            "insert into t values (?1, ?2, ?3, ?4, ?10), (?5, ?6, ?7, ?8, ?9)",
            params![
                -7_i64,
                "it's ?1",
                "a\\'; drop",
                &[0_u8, 255][..],
                true,
                None::<i64>,
                None::<&str>,
                "",
                None::<String>,
                "ten"
            ],
        );
        assert_eq!(
            filled,
            "insert into t values (bigint '-7', 'it''s ?1'::text, E'a\\\\''; drop'::text, decode('00ff', 'hex'), 'ten'::text), \
             (true, null::bigint, null::text, ''::text, null::text)"
        );
    }
}
