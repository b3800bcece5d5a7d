//! Errors of the driver as ours, and which of them pass by themselves.

use std::io::ErrorKind;

use crate::store::error::{DatabaseFailure, StoreError, StorePlace};

pub fn of_sqlx(place: &StorePlace, source: sqlx::Error) -> StoreError {
    let failure = match &source {
        sqlx::Error::Database(error) => of_code(error.code().as_deref().unwrap_or_default()),
        sqlx::Error::Io(error) if is_of_tls(error) => DatabaseFailure::TlsRefused,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => DatabaseFailure::ServerAway,
        sqlx::Error::Tls(_) => DatabaseFailure::TlsRefused,
        _ => DatabaseFailure::Unforeseen,
    };
    let told: Box<dyn std::error::Error + Send + Sync> = match (failure, detail(&source)) {
        // It names what depends on what.
        (DatabaseFailure::Depended, Some(detail)) => detail.into(),
        _ => source.into(),
    };
    StoreError::Database { place: place.clone(), failure, source: told }
}

fn detail(source: &sqlx::Error) -> Option<String> {
    let error = source.as_database_error()?.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?;
    error.detail().map(|detail| detail.lines().collect::<Vec<_>>().join(", "))
}

/// A certificate that is not trusted stays so, however often it is shown.
fn is_of_tls(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Whether the same transaction may go well in a moment, on a new connection where need be.
pub fn passes(error: &StoreError) -> bool {
    match error {
        StoreError::Database { failure, .. } => match failure {
            DatabaseFailure::ServerAway
            | DatabaseFailure::ServerBusy
            | DatabaseFailure::ServerReadOnly
            | DatabaseFailure::Locked => true,
            DatabaseFailure::DiskFull
            | DatabaseFailure::NotAllowed
            | DatabaseFailure::Damaged
            | DatabaseFailure::DiskFailed
            | DatabaseFailure::LoginRefused
            | DatabaseFailure::TlsRefused
            | DatabaseFailure::RightMissing
            | DatabaseFailure::RoleMissing
            | DatabaseFailure::Depended
            | DatabaseFailure::Unforeseen => false,
        },
        _ => false,
    }
}

/// Whether there was nobody to speak to at all.
pub fn is_absence(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let Some(sqlx::Error::Io(error)) = source.downcast_ref::<sqlx::Error>() else { return false };
    match error.kind() {
        // The server went away in the middle of a word.
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => false,
        _ => true,
    }
}

/// Whether the server said that a commit failed, rather than fell silent over it.
pub fn is_refusal(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => {
            !matches!(of_code(error.code().as_deref().unwrap_or_default()), DatabaseFailure::ServerAway)
        }
        _ => false,
    }
}

/// Source: <https://www.postgresql.org/docs/15/errcodes-appendix.html>.
fn of_code(code: &str) -> DatabaseFailure {
    match code {
        // Connections that broke, and a server that goes down, comes up, or ended a session that slept.
        _ if code.starts_with("08") => DatabaseFailure::ServerAway,
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "25P04" => DatabaseFailure::ServerAway,
        // Cancelled, by a limit on the time of a statement too; no connection or memory left; serialization, deadlock.
        "57014" | "53000" | "53200" | "53300" | "53400" | "40001" | "40P01" => DatabaseFailure::ServerBusy,
        "55P03" | "55006" => DatabaseFailure::Locked,
        "25006" => DatabaseFailure::ServerReadOnly,
        "53100" => DatabaseFailure::DiskFull,
        "28000" | "28P01" | "3D000" => DatabaseFailure::LoginRefused,
        "42501" => DatabaseFailure::RightMissing,
        "42704" => DatabaseFailure::RoleMissing,
        "2BP01" => DatabaseFailure::Depended,
        "58030" => DatabaseFailure::DiskFailed,
        "XX001" | "XX002" => DatabaseFailure::Damaged,
        _ => DatabaseFailure::Unforeseen,
    }
}
