//! A copy of the whole store, taken beside whatever is written meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::{SqliteStore, beside, open, private};
use crate::store::error::{DatabaseFailure, StoreError};

const COPY: &str = "vacuum into ?1";

impl SqliteStore {
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let unusable = |source| StoreError::File { path: to.to_owned(), source };
        // SQLite would take a log that lies there for one of the copy.
        for ending in ["", "-wal", "-journal"] {
            let there = beside(to, ending);
            if there.try_exists().map_err(unusable)? {
                return Err(StoreError::AlreadyThere { path: there });
            }
        }
        let unfinished = beside(to, ".new");
        remove(&unfinished).map_err(unusable)?;
        let copied = self.copy_to(&unfinished).await.and_then(|()| {
            let move_there = || {
                File::open(&unfinished)?.sync_all()?;
                fs::rename(&unfinished, to)?;
                open::sync_folder(to)
            };
            move_there().map_err(unusable)
        });
        if copied.is_err() {
            // What failed is told; that half a copy could not be removed as well would only hide it.
            remove(&unfinished).ok();
        }
        copied
    }

    async fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        // An empty file is filled by SQLite, and keeps its mode.
        let made = private(OpenOptions::new().write(true).create_new(true)).open(path);
        made.map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        let name = path.to_str().ok_or_else(|| StoreError::File {
            path: path.to_owned(),
            source: io::Error::new(io::ErrorKind::InvalidInput, "its name is no UTF-8"),
        })?;
        let copied = sqlx::query(COPY).bind(name).execute(&self.readers).await;
        copied.map(drop).map_err(|source| match self.failed(source) {
            // It is the copy that found no room.
            StoreError::Database { failure: failure @ DatabaseFailure::DiskFull, source, .. } => {
                StoreError::Database { place: path.into(), failure, source }
            }
            other => other,
        })
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
