//! From a path to a store that can be trusted, or the reason why not.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqlSafeStr, SqliteConnection};

use super::write::Writer;
use super::{SqliteStore, beside, failure, private};
use crate::store::OpenMode;
use crate::store::error::{DatabaseFailure, StoreError, StorePlace};
use crate::store::lock::{CollectLock, LockError};

/// Older ones can lose committed writes in WAL mode: <https://www.sqlite.org/wal.html#walresetbug>.
const OLDEST_ENGINE: (i32, &str) = (3_051_003, "3.51.3");
/// `application_id` of our files, set by the first step of the schema.
const APPLICATION_ID: u32 = u32::from_be_bytes(*b"gapl");
/// Connections that read at once; each is a thread.
const READERS: u32 = 4;

/// Page of a new store, in bytes. Rows come by the thousand: a page of four times the usual size is a quarter of the calls
/// to the system for them.
pub const PAGE_BYTES: u32 = 16_384;
/// What the writer keeps in memory, in units of 1,024 bytes: what waits together is written once, at its commit.
const WRITER_CACHE_KB: u32 = 4_096;

/// Steps of the schema. One that has landed is never edited.
const STEPS: [(i64, &str, &str); 5] = [
    (1, "ledger", include_str!("../../../migrations/sqlite/0001_ledger.sql")),
    (2, "breaker", include_str!("../../../migrations/sqlite/0002_breaker.sql")),
    (3, "time", include_str!("../../../migrations/sqlite/0003_time.sql")),
    (4, "shared_limits", include_str!("../../../migrations/sqlite/0004_shared_limits.sql")),
    (5, "shared_health", include_str!("../../../migrations/sqlite/0005_shared_health.sql")),
];

pub async fn open(path: &Path, mode: OpenMode, busy_timeout: Duration) -> Result<SqliteStore, StoreError> {
    if rusqlite::version_number() < OLDEST_ENGINE.0 {
        return Err(StoreError::OldEngine { found: rusqlite::version(), needed: OLDEST_ENGINE.1 });
    }
    let unusable = |source| StoreError::File { path: path.to_owned(), source };
    if !path.try_exists().map_err(unusable)? {
        match mode {
            OpenMode::Create => create(path).await?,
            OpenMode::OpenExisting | OpenMode::ReadOnly => return Err(StoreError::Missing { place: path.into() }),
        }
    }
    // One name for one file: the lock and SQLite's own files stand beside what a link points to.
    let path = fs::canonicalize(path).map_err(unusable)?;
    inspect(&path)?;
    let place = StorePlace::from(&*path);
    let options = options(&path, busy_timeout);
    let reading = options.clone().read_only(true);
    let readers = readers().connect_lazy_with(reading.clone());
    if mode == OpenMode::ReadOnly {
        let mut connection = reading.connect().await.map_err(|source| failure::of_sqlx(&place, source))?;
        let found = schema_of(&mut connection, &place).await?;
        connection.close().await.ok();
        return if found < newest_step() {
            Err(StoreError::Older { place, found, known: newest_step() })
        } else {
            Ok(SqliteStore { path, place, writer: None, readers })
        };
    }
    let mut connection = writing(options).connect().await.map_err(|source| failure::of_sqlx(&place, source))?;
    schema_of(&mut connection, &place).await?;
    migrate(&mut connection, &place).await?;
    let store = SqliteStore { writer: Some(Writer::new(connection)), path, place, readers };
    // Now, before anything was asked of a provider, is the time to learn that we may not write.
    store.write(|_| Ok(())).await?;
    Ok(store)
}

/// Makes the store under another name first, so that a kill leaves all of it or nothing at its place.
async fn create(path: &Path) -> Result<(), StoreError> {
    let unusable = |source| StoreError::File { path: path.to_owned(), source };
    let _lock = CollectLock::try_take(&beside(path, ".lock"), "making the store").map_err(|error| match error {
        LockError::Held { .. } => {
            StoreError::Database { place: path.into(), failure: DatabaseFailure::Locked, source: error.into() }
        }
        LockError::File { path, source } => StoreError::File { path, source },
    })?;
    // Another may have made it between the look and the lock.
    if path.try_exists().map_err(unusable)? {
        return Ok(());
    }
    let unfinished = beside(path, ".new");
    for ending in ["", "-wal", "-shm"] {
        match fs::remove_file(beside(&unfinished, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
            Ok(()) | Err(_) => (),
        }
    }
    // SQLite gives its other files the mode of this one.
    private(OpenOptions::new().write(true).create_new(true)).open(&unfinished).map_err(unusable)?;
    let place = StorePlace::from(path);
    let failed = |source| failure::of_sqlx(&place, source);
    let mut connection = writing(options(&unfinished, super::BUSY_TIMEOUT)).connect().await.map_err(failed)?;
    migrate(&mut connection, &place).await?;
    connection.close().await.map_err(failed)?;
    fs::rename(&unfinished, path).and_then(|()| sync_folder(path)).map_err(unusable)
}

pub fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Connections to a file do not age. Without an age the pool needs no task that looks after them, which has been seen to
/// spin for ever when the program ended: its count of idle connections can fall below zero.
fn readers() -> SqlitePoolOptions {
    SqlitePoolOptions::new().max_connections(READERS).test_before_acquire(false).idle_timeout(None).max_lifetime(None)
}

fn options(path: &Path, busy_timeout: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(busy_timeout).foreign_keys(true).disable_statement_logging()
}

fn writing(options: SqliteConnectOptions) -> SqliteConnectOptions {
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    options.page_size(PAGE_BYTES).pragma("cache_size", format!("-{WRITER_CACHE_KB}"))
}

/// Looks at the head of the file before SQLite does, which would make files beside it and take an empty one for new.
///
/// Source: <https://www.sqlite.org/fileformat2.html#the_database_header>.
fn inspect(path: &Path) -> Result<(), StoreError> {
    let unusable = |source| StoreError::File { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unusable)?;
    let mut head = Vec::with_capacity(100);
    file.by_ref().take(100).read_to_end(&mut head).map_err(unusable)?;
    if head.is_empty() {
        return Err(StoreError::EmptyFile { path: path.to_owned() });
    }
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::NotADatabase { path: path.to_owned() });
    }
    let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if number(68) != APPLICATION_ID {
        return Err(StoreError::Foreign { place: path.into() });
    }
    let page_size = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let is_size_known = number(24) == number(92);
    let expected = u64::from(number(28)) * page_size;
    let found = file.metadata().map_err(unusable)?.len();
    // With a log beside it the file may be behind; SQLite completes it.
    let has_log = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if is_size_known && found < expected && !has_log {
        return Err(StoreError::CutOff { path: path.to_owned(), found, expected });
    }
    Ok(())
}

fn newest_step() -> i64 {
    STEPS[STEPS.len() - 1].0
}

/// The newest step that was done on this store. Reads only.
async fn schema_of(connection: &mut SqliteConnection, place: &StorePlace) -> Result<i64, StoreError> {
    const STEPS_DONE: &str = "select version, success from _sqlx_migrations order by version";
    let done: Result<Vec<(i64, bool)>, _> = sqlx::query_as(STEPS_DONE).fetch_all(connection).await;
    let done = done.map_err(|source| match failure::of_sqlx(place, source) {
        // The file is ours by its mark, but the table is not there.
        StoreError::Database { failure: DatabaseFailure::Unforeseen, .. } => {
            StoreError::StrangeSchema { place: place.clone(), step: 0 }
        }
        other => other,
    })?;
    if let Some((step, _)) = done.iter().find(|(_, is_whole)| !is_whole) {
        return Err(StoreError::StrangeSchema { place: place.clone(), step: *step });
    }
    let found = done.last().map_or(0, |(step, _)| *step);
    if found > newest_step() {
        return Err(StoreError::Newer { place: place.clone(), found, known: newest_step() });
    }
    Ok(found)
}

async fn migrate(connection: &mut SqliteConnection, place: &StorePlace) -> Result<(), StoreError> {
    let step = |(version, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(STEPS.into_iter().map(step).collect());
    migrator.run(connection).await.map_err(|error| strange(place.clone(), error))
}

fn strange(place: StorePlace, error: MigrateError) -> StoreError {
    match error {
        MigrateError::VersionMissing(found) if found > newest_step() => StoreError::Newer { place, found, known: newest_step() },
        MigrateError::VersionMissing(step) | MigrateError::VersionMismatch(step) | MigrateError::Dirty(step) => {
            StoreError::StrangeSchema { place, step }
        }
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => failure::of_sqlx(&place, source),
        other => StoreError::Database { place, failure: DatabaseFailure::Unforeseen, source: other.into() },
    }
}
