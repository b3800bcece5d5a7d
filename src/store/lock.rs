use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The right to collect into a store: of a file one run has it at a time.
///
/// A lock of the kernel: held means its process is alive, gone means dead, in containers too. The text in the file is
/// for messages only.
#[derive(Debug)]
#[must_use = "dropping it lets another run collect"]
pub struct CollectLock {
    _file: Option<File>,
}

/// Why the lock can not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another run is collecting into this store: {holder}")]
    Held { holder: String },
    #[error("lock file `{}` can not be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl CollectLock {
    /// Of a store that several runs collect into at once: leases keep them apart.
    pub(super) fn shared() -> Self {
        Self { _file: None }
    }

    /// Takes the lock at once or not at all. `holder` is what others are told of us.
    pub(super) fn try_take(path: &Path, holder: &str) -> Result<Self, LockError> {
        let unusable = |source| LockError::File { path: path.to_owned(), source };
        let mut file = open(path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Only a message hangs on it.
                file.read_to_string(&mut text).ok();
                let holder = if text.trim().is_empty() { "it has not said who it is".to_owned() } else { text.trim().to_owned() };
                return Err(LockError::Held { holder });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes())).map_err(unusable)?;
        Ok(Self { _file: Some(file) })
    }
}

fn open(path: &Path) -> io::Result<File> {
    super::sqlite::private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)
}
