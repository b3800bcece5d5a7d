use std::path::Path;

use super::cell::Cell;
use super::error::StoreError;
use super::ledger::states;
use super::lock::{CollectLock, LockError};
use super::postgres::{Access, PostgresStore};
use super::sqlite::SqliteStore;
use super::tx::Tx;
use super::url::{Place, StoreUrl};
use super::{OpenMode, StoreOptions};
use crate::model::job::RunId;
use crate::model::name::Name;

/// The database that a store is in.
#[derive(Debug)]
pub enum Engine {
    Sqlite(SqliteStore),
    Postgres(Box<PostgresStore>),
}

impl Engine {
    pub async fn open(url: &StoreUrl, mode: OpenMode, options: StoreOptions) -> Result<Self, StoreError> {
        Ok(match url.place() {
            Place::File(path) => Self::Sqlite(SqliteStore::open(path, mode, options.network_files).await?),
            Place::Server(server) => Self::Postgres(Box::new(PostgresStore::open(server, mode, options).await?)),
        })
    }

    pub async fn exists(url: &StoreUrl) -> Result<bool, StoreError> {
        match url.place() {
            Place::File(path) => Ok(path.exists()),
            Place::Server(server) => match PostgresStore::open(server, OpenMode::ReadOnly, StoreOptions::default()).await {
                Ok(store) => {
                    store.close().await;
                    Ok(true)
                }
                Err(StoreError::Missing { .. }) => Ok(false),
                // There is one, and who opens it to write brings it up to date.
                Err(StoreError::Older { .. }) => Ok(true),
                Err(error) => Err(error),
            },
        }
    }

    pub async fn close(self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }

    /// Whether one run at a time writes: then whatever an earlier one left is dead.
    pub fn is_of_one_run(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(_) => false,
        }
    }

    pub fn collector(url: &StoreUrl) -> Option<LockError> {
        match url.place() {
            Place::File(path) => SqliteStore::collector(path),
            // Any number of runs may be at work there.
            Place::Server(_) => None,
        }
    }

    pub fn try_lock(&self, holder: &str) -> Result<CollectLock, LockError> {
        match self {
            Self::Sqlite(store) => store.try_lock(holder),
            Self::Postgres(_) => Ok(CollectLock::shared()),
        }
    }

    /// Keeps a run alive for others to see.
    pub async fn hold(&self, run: RunId) {
        match self {
            Self::Sqlite(_) => (),
            Self::Postgres(store) => store.hold(run).await,
        }
    }

    pub async fn release(&self) {
        match self {
            Self::Sqlite(_) => (),
            Self::Postgres(store) => store.release().await,
        }
    }

    pub async fn bytes(&self) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(store) => Ok(store.bytes()),
            Self::Postgres(store) => store.bytes().await,
        }
    }

    pub async fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.check().await,
            // Its pages are the server's to check.
            Self::Postgres(store) => store.read(states::salt).await.map(drop),
        }
    }

    pub async fn admit_reader(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(store) => store.admit_reader().await,
        }
    }

    pub async fn admit(&self, role: &Name) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Err(StoreError::NoRoles),
            Self::Postgres(store) => store.admit(role).await,
        }
    }

    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.backup(to).await,
            Self::Postgres(_) => Err(StoreError::NoFile),
        }
    }

    /// One transaction that looks at more than the jobs it holds: no other writes meanwhile.
    pub async fn write<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.write(work).await,
            Self::Postgres(store) => store.write(Access::Rules, work).await,
        }
    }

    /// One transaction that touches nothing but jobs it holds.
    pub async fn write_pages<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.write(work).await,
            Self::Postgres(store) => store.write(Access::Pages, work).await,
        }
    }

    /// Reads what belongs together as it is at one moment; it may be read again from the start.
    pub async fn read<T: Send>(&self, work: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(store) => store.read(work).await,
            Self::Postgres(store) => store.read(work).await,
        }
    }

    pub async fn select(&self, sql: &str, mut each: impl FnMut(&[Cell<'_>]) + Send) -> Result<Vec<String>, StoreError> {
        let work = |tx: &Tx<'_>| tx.select(sql, &mut each);
        match self {
            Self::Sqlite(store) => store.read(work).await,
            Self::Postgres(store) => store.read_once(work).await,
        }
    }
}
