//! The store on SQLite: one file, one writer, readers beside it.

mod backup;
#[cfg(test)]
mod defence_tests;
mod dialect;
mod failure;
mod mount;
mod open;
mod rows;
#[cfg(test)]
mod tests;
mod write;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqlitePool;

use self::write::Writer;
use super::error::{StoreError, StorePlace};
use super::lock::{CollectLock, LockError};
use super::tx::Tx;
use super::{NetworkFiles, OpenMode};

/// How long a statement waits for another program that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const CHECK: &str = "pragma quick_check(1)";

#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    place: StorePlace,
    writer: Option<Writer>,
    readers: SqlitePool,
}

impl SqliteStore {
    pub async fn open(path: &Path, mode: OpenMode, network: NetworkFiles) -> Result<Self, StoreError> {
        match network {
            NetworkFiles::Refused => mount::refuse_network(path)?,
            NetworkFiles::Allowed => (),
        }
        open::open(path, mode, BUSY_TIMEOUT).await
    }

    pub async fn close(self) {
        self.readers.close().await;
        // Last, so that it is the writer who folds the write-ahead log into the file.
        if let Some(writer) = self.writer {
            writer.close().await;
        }
    }

    pub fn try_lock(&self, holder: &str) -> Result<CollectLock, LockError> {
        CollectLock::try_take(&beside(&self.path, ".lock"), holder)
    }

    /// The run that collects into the file at `path`, whose store is not open here.
    pub fn collector(path: &Path) -> Option<LockError> {
        // A link to the file is another name of it, and the lock stands beside the file.
        let path = std::fs::canonicalize(path).ok()?;
        CollectLock::try_take(&beside(&path, ".lock"), "a look at who holds the store").err()
    }

    /// Does `work` in one transaction that has happened, to the disk, when the call returns.
    pub async fn write<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        match &self.writer {
            Some(writer) => writer.write(&self.place, work).await,
            None => Err(StoreError::OpenedReadOnly { place: self.place.clone() }),
        }
    }

    /// Reads what belongs together in one transaction, so that nothing can change under it.
    pub async fn read<T: Send>(&self, work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        let mut connection = self.readers.acquire().await.map_err(|source| self.failed(source))?;
        let read = rows::on_handle(&mut connection, |db| write::read(db, &self.place, work));
        read.await.unwrap_or_else(|source| Err(self.failed(source)))
    }

    /// The file and its log.
    pub fn bytes(&self) -> u64 {
        let length = |ending: &str| std::fs::metadata(beside(&self.path, ending)).map_or(0, |found| found.len());
        length("") + length("-wal")
    }

    pub async fn check(&self) -> Result<(), StoreError> {
        let finding: String = sqlx::query_scalar(CHECK).fetch_one(&self.readers).await.map_err(|source| self.failed(source))?;
        if finding == "ok" { Ok(()) } else { Err(StoreError::Unsound { place: self.place.clone(), finding }) }
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        failure::of_sqlx(&self.place, source)
    }
}

/// Files of a store are for their owner alone, whatever the umask.
pub fn private(options: &mut OpenOptions) -> &OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
