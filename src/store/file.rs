use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::url::StoreUrl;

/// Which file a store was opened as, so that it can be known again.
///
/// A file that is removed or replaced stays open for its process: writing goes on without an error into what nobody will
/// ever read.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    identity: Identity,
}

/// A file as the kernel knows it, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// What was written is not where it was meant to be.
#[derive(Debug, thiserror::Error)]
pub enum StoreFileError {
    #[error("store `{}` is not there any more: what was written to it is lost", path.display())]
    Gone {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("store `{}` is another file than the one that was opened: what was written is not in it", path.display())]
    Replaced { path: PathBuf },
}

impl StoreFile {
    /// The file of a store as it stands now; a store on a server has none.
    pub fn of(url: &StoreUrl) -> Result<Option<Self>, StoreFileError> {
        url.file().map(Self::at).transpose()
    }

    /// The file that stands at `path` now.
    pub fn at(path: &Path) -> Result<Self, StoreFileError> {
        Ok(Self { path: path.to_owned(), identity: identity(path)? })
    }

    /// Whether the same file is still there.
    pub fn check(&self) -> Result<(), StoreFileError> {
        if identity(&self.path)? == self.identity { Ok(()) } else { Err(StoreFileError::Replaced { path: self.path.clone() }) }
    }
}

fn identity(path: &Path) -> Result<Identity, StoreFileError> {
    let found = fs::metadata(path).map_err(|source| StoreFileError::Gone { path: path.to_owned(), source })?;
    Ok(Identity { device: found.dev(), inode: found.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_what_it_is_not_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("gapless.db"), folder.path().join("other.db"));
        fs::write(&path, "a").unwrap();
        fs::write(&other, "b").unwrap();
        let file = StoreFile::at(&path).unwrap();
        fs::write(&path, "written to").unwrap();
        file.check().unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(matches!(file.check(), Err(StoreFileError::Replaced { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(file.check(), Err(StoreFileError::Gone { .. })));
    }
}
