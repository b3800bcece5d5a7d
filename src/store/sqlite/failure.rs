//! Errors of the two libraries as ours.

use rusqlite::ffi;

use crate::store::error::{DatabaseFailure, StoreError, StorePlace};

pub fn of_rusqlite(place: &StorePlace, source: rusqlite::Error) -> StoreError {
    let failure = match &source {
        rusqlite::Error::SqliteFailure(error, _) => of_code(error.extended_code),
        _ => DatabaseFailure::Unforeseen,
    };
    StoreError::Database { place: place.clone(), failure, source: source.into() }
}

pub fn of_sqlx(place: &StorePlace, source: sqlx::Error) -> StoreError {
    let failure = match &source {
        sqlx::Error::Database(error) => {
            error.code().and_then(|code| code.parse().ok()).map_or(DatabaseFailure::Unforeseen, of_code)
        }
        sqlx::Error::Io(_) => DatabaseFailure::NotAllowed,
        _ => DatabaseFailure::Unforeseen,
    };
    StoreError::Database { place: place.clone(), failure, source: source.into() }
}

/// Source: <https://www.sqlite.org/rescode.html>; the low byte of an extended code is its primary one.
fn of_code(extended: i32) -> DatabaseFailure {
    match extended & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => DatabaseFailure::Locked,
        ffi::SQLITE_FULL => DatabaseFailure::DiskFull,
        ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM | ffi::SQLITE_AUTH => DatabaseFailure::NotAllowed,
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => DatabaseFailure::Damaged,
        ffi::SQLITE_IOERR => DatabaseFailure::DiskFailed,
        _ => DatabaseFailure::Unforeseen,
    }
}
