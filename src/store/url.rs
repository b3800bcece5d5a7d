use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a store is: `sqlite://PATH`, the path relative or absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    path: PathBuf,
}

/// Why a text is no [`StoreUrl`]. Shows no more of it than the scheme, because a URL may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    #[error("the store URL names no scheme: write `sqlite://` before the path of the file")]
    NoScheme,
    #[error("stores on PostgreSQL are not built in yet: write `sqlite://` and the path of a file")]
    PostgresNotBuiltIn,
    #[error("no store has the scheme `{scheme}`: write `sqlite://` and the path of a file")]
    UnknownScheme { scheme: String },
    #[error("the store URL names no file: write `sqlite://gapless.db`, for example")]
    NoFile,
    #[error("the store URL has options behind a `?`, which SQLite stores do not take: write the path alone")]
    Options,
    #[error("a store is a file: it can not live in memory")]
    InMemory,
}

impl StoreUrl {
    /// The URL of the file at `path`.
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same file, a relative path taken from `folder`: settings are relative to their file.
    pub fn below(self, folder: &Path) -> Self {
        Self { path: folder.join(self.path) }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, path) = text.split_once("://").ok_or(StoreUrlError::NoScheme)?;
        match scheme {
            "sqlite" => (),
            "postgres" | "postgresql" => return Err(StoreUrlError::PostgresNotBuiltIn),
            _ => return Err(StoreUrlError::UnknownScheme { scheme: scheme.to_owned() }),
        }
        if path == ":memory:" {
            return Err(StoreUrlError::InMemory);
        }
        if path.contains('?') {
            return Err(StoreUrlError::Options);
        }
        let is_file = !path.is_empty() && !path.ends_with(['/', '.']) && !path.contains('\0');
        is_file.then(|| Self::of_file(path)).ok_or(StoreUrlError::NoFile)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sqlite://{}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_url_is_sqlite_and_the_path_of_a_file() {
        let check = |text: &str, path: &str| {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!((url.path(), url.to_string().as_str()), (Path::new(path), text));
        };
        check("sqlite://gapless.db", "gapless.db");
        check("sqlite:///var/lib/gapless/all.db", "/var/lib/gapless/all.db");
        check("sqlite://../night/a b.db", "../night/a b.db");
    }

    #[test]
    fn another_url_is_refused_without_showing_its_password() {
        let check = |text: &str, expected: StoreUrlError| assert_eq!(text.parse::<StoreUrl>(), Err(expected), "{text}");
        check("gapless.db", StoreUrlError::NoScheme);
        check("sqlite:gapless.db", StoreUrlError::NoScheme);
        check("postgres://user:secret@host/db", StoreUrlError::PostgresNotBuiltIn);
        check("postgresql://host/db", StoreUrlError::PostgresNotBuiltIn);
        check("mysql://user:secret@host/db", StoreUrlError::UnknownScheme { scheme: "mysql".to_owned() });
        check("sqlite://", StoreUrlError::NoFile);
        check("sqlite://folder/", StoreUrlError::NoFile);
        check("sqlite://..", StoreUrlError::NoFile);
        check("sqlite://:memory:", StoreUrlError::InMemory);
        check("sqlite://gapless.db?mode=ro", StoreUrlError::Options);
        assert!(!StoreUrlError::PostgresNotBuiltIn.to_string().contains("secret"));
    }

    #[test]
    fn a_relative_path_is_taken_from_the_folder_of_the_settings() {
        let below = |text: &str| text.parse::<StoreUrl>().unwrap().below(Path::new("/etc/gapless")).path().to_owned();
        assert_eq!(below("sqlite://all.db"), Path::new("/etc/gapless/all.db"));
        assert_eq!(below("sqlite:///srv/all.db"), Path::new("/srv/all.db"));
    }
}
