use std::path::{Path, PathBuf};

use crate::model::name::Name;
use crate::model::secret::{KeyError, ServiceKey};

use super::text::read_text;

/// Why a provider's key cannot be used. Holds no part of it.
#[derive(Debug, thiserror::Error)]
pub enum KeyProblem {
    #[error("no key for `{provider}`: neither {variable} nor `providers.{provider}.key_file` is set")]
    Missing { provider: Name, variable: String },
    #[error("the key for `{provider}` in {place} cannot be used")]
    Broken {
        provider: Name,
        place: String,
        #[source]
        source: KeyError,
    },
    #[error("the key file `{file}` cannot be read")]
    Unreadable {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// The environment variable of a provider's key: `GAPLESS_KEY_DATA_GO_KR`.
pub fn variable(provider: &Name) -> String {
    format!("GAPLESS_KEY_{}", provider.as_str().to_ascii_uppercase())
}

/// Whether a key file may be read by others of this machine.
#[cfg(unix)]
pub fn is_open_to_others(key_file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(key_file).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

/// The key of a provider: from the environment, else from its key file.
pub fn key_of(provider: &Name, in_environment: Option<&str>, key_file: Option<&Path>) -> Result<ServiceKey, KeyProblem> {
    let variable = variable(provider);
    let (pasted, place) = match (in_environment, key_file) {
        (Some(value), _) => (value.to_owned(), variable),
        (None, Some(file)) => {
            let unreadable = |source| KeyProblem::Unreadable { file: file.to_owned(), source };
            (read_text(file).map_err(unreadable)?, format!("`{}`", file.display()))
        }
        (None, None) => return Err(KeyProblem::Missing { provider: provider.clone(), variable }),
    };
    ServiceKey::from_pasted(&pasted).map_err(|source| KeyProblem::Broken { provider: provider.clone(), place, source })
}
