//! The store on SQLite: one file, one writer, readers beside it.

mod audit;
mod backup;
mod batch;
mod content;
#[cfg(test)]
mod defence_tests;
mod failure;
mod held;
mod history;
mod jobs;
mod ledger;
mod meta;
mod mount;
mod open;
mod pages;
mod publish;
mod quota;
mod reads;
mod reforms;
mod regions;
mod retention;
mod rows;
mod settle;
mod tables;
mod takeover;
#[cfg(test)]
mod tests;
mod write;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqlitePool;

use self::write::{Tx, Writer};
use super::error::StoreError;
use super::lock::{CollectLock, LockError};
use super::{NetworkFiles, OpenMode};

/// How long a statement waits for another program that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
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

    async fn write<T>(&self, work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        match &self.writer {
            Some(writer) => writer.write(&self.path, work).await,
            None => Err(StoreError::OpenedReadOnly { path: self.path.clone() }),
        }
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        failure::of_sqlx(&self.path, source)
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
