//! How the ledger spells values.

use std::str::FromStr;

use jiff::Timestamp;
use rusqlite::types::{Type, ValueRef};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::model::verdict::Verdict;
use crate::store::state::Standing;

/// RFC 3339 in UTC with milliseconds: sorts as text.
pub fn instant(timestamp: Timestamp) -> String {
    format!("{timestamp:.3}")
}

/// A value that has a spelling, read back; `None` for NULL. One that is spelled wrong is an error of decoding.
pub fn spelled<T>(row: &SqliteRow, column: &str) -> Result<Option<T>, sqlx::Error>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text: Option<&str> = row.try_get(column)?;
    text.map(str::parse)
        .transpose()
        .map_err(|source| sqlx::Error::ColumnDecode { index: column.to_owned(), source: Box::new(source) })
}

/// [`spelled`] of a row that was read on the handle, where the ledger always has a value.
pub fn spelled_at<T>(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text = row.get_ref(at)?.as_str()?;
    text.parse().map_err(|source| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(source)))
}

/// [`spelled_at`]; `None` for NULL.
pub fn optional_at<T>(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Option<T>>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => spelled_at(row, at).map(Some),
    }
}

pub fn verdict_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Verdict> {
    one_of_at(row, at, Verdict::from_spelling)
}

pub fn standing_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Standing> {
    one_of_at(row, at, Standing::from_spelling)
}

fn one_of_at<T>(row: &rusqlite::Row<'_>, at: usize, read: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    let unknown = || rusqlite::Error::FromSqlConversionFailure(at, Type::Text, format!("nothing is spelled `{text}`").into());
    read(text).ok_or_else(unknown)
}

pub fn verdict(row: &SqliteRow, column: &str) -> Result<Option<Verdict>, sqlx::Error> {
    one_of(row, column, Verdict::from_spelling)
}

pub fn standing(row: &SqliteRow, column: &str) -> Result<Option<Standing>, sqlx::Error> {
    one_of(row, column, Standing::from_spelling)
}

fn one_of<T>(row: &SqliteRow, column: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, sqlx::Error> {
    let text: Option<&str> = row.try_get(column)?;
    let known = |text: &str| {
        read(text).ok_or_else(|| sqlx::Error::ColumnDecode {
            index: column.to_owned(),
            source: format!("nothing is spelled `{text}`").into(),
        })
    };
    text.map(known).transpose()
}

/// A value the ledger always has.
pub fn required<T>(value: Option<T>) -> Result<T, sqlx::Error> {
    value.ok_or_else(|| sqlx::Error::Decode("a value is missing that the ledger always has".into()))
}

/// [`count`] of a row that was read on the handle.
pub fn count_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Option<u64>> {
    let number: Option<i64> = row.get(at)?;
    let wrong = |number| rusqlite::Error::IntegralValueOutOfRange(at, number);
    number.map(|number| u64::try_from(number).map_err(|_| wrong(number))).transpose()
}

/// [`count_at`], where the ledger always has a value.
pub fn required_count_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    count_at(row, at)?.ok_or(rusqlite::Error::InvalidColumnType(at, "count".to_owned(), Type::Null))
}

/// A count; negative ones, which only a hand can have written, are an error of decoding.
pub fn count(row: &SqliteRow, column: &str) -> Result<Option<u64>, sqlx::Error> {
    let number: Option<i64> = row.try_get(column)?;
    number
        .map(u64::try_from)
        .transpose()
        .map_err(|source| sqlx::Error::ColumnDecode { index: column.to_owned(), source: source.into() })
}
