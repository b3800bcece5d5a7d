//! How the ledger spells values.

use std::str::FromStr;

use jiff::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::model::verdict::Verdict;

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

pub fn verdict(row: &SqliteRow, column: &str) -> Result<Option<Verdict>, sqlx::Error> {
    let text: Option<&str> = row.try_get(column)?;
    let read = |text: &str| {
        Verdict::from_spelling(text).ok_or_else(|| sqlx::Error::ColumnDecode {
            index: column.to_owned(),
            source: format!("no verdict is spelled `{text}`").into(),
        })
    };
    text.map(read).transpose()
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

/// A count; negative ones, which only a hand can have written, are an error of decoding.
pub fn count(row: &SqliteRow, column: &str) -> Result<Option<u64>, sqlx::Error> {
    let number: Option<i64> = row.try_get(column)?;
    number
        .map(u64::try_from)
        .transpose()
        .map_err(|source| sqlx::Error::ColumnDecode { index: column.to_owned(), source: source.into() })
}
