use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::definition::provider::Provider;
use crate::model::secret::ServiceKey;
use crate::report::exit::Exit;

use super::error::CliError;
use super::setup::Setup;

/// The right of one user of this host to ask a provider with one key: two runs with a pacer each would together be too fast.
///
/// A lock of the kernel, so it ends with its process.
pub struct KeyLock {
    _file: File,
}

/// Not a secret, and the same for every store: it only keeps the file name from being the key's digest in other places.
const CONTEXT: &[u8; 32] = b"gapless: one pacer for each key.";

impl KeyLock {
    /// Takes the lock at once or not at all.
    pub fn try_take(provider: &Provider, key: Option<&ServiceKey>, setup: &Setup) -> Result<Self, CliError> {
        // Another folder for each place a run is begun in would be another lock.
        let folder = setup.variable("TMPDIR").map(Path::new).filter(|folder| folder.is_absolute());
        let folder = folder.unwrap_or(Path::new("/tmp"));
        let key_id = ServiceKey::id_of(key, CONTEXT);
        let host = blake3::hash(provider.base_url.as_bytes()).to_hex();
        // A file of another user in a shared folder could not be opened.
        let user = std::fs::metadata("/proc/self").map_or(0, |own| own.uid());
        let path: PathBuf = folder.join(format!("gapless-{user}-{}-{}-{key_id}.lock", provider.id, &host[..8]));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(|error| CliError::local(&format!("lock file `{}` cannot be used", path.display()), error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another run on this host asks {} with the same key", provider.id);
                let error = CliError { exit: Exit::Locked, what, hint: None };
                Err(error.with_hint("wait until it has ended, then run again"))
            }
            Err(TryLockError::Error(error)) => {
                Err(CliError::local(&format!("lock file `{}` cannot be locked", path.display()), error))
            }
        }
    }
}
