use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::job::{JobId, ReadNumber, RunId};
use crate::model::name::Name;

/// Why the store could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at `{place}`")]
    Missing { place: StorePlace },
    #[error("`{}` is empty: it has 0 bytes, a store never has", path.display())]
    EmptyFile { path: PathBuf },
    #[error("`{}` is not a database", path.display())]
    NotADatabase { path: PathBuf },
    #[error("`{place}` is a database of another program")]
    Foreign { place: StorePlace },
    #[error("store `{}` is cut off: {found} bytes found, {expected} expected", path.display())]
    CutOff { path: PathBuf, found: u64, expected: u64 },
    #[error("store `{place}` fails its own check: {finding}")]
    Unsound { place: StorePlace, finding: String },
    #[error("store `{place}` was written by a newer program: its schema is {found}, this program knows {known}")]
    Newer { place: StorePlace, found: i64, known: i64 },
    #[error("store `{place}` has schema {found} and must be migrated to {known} before it is read")]
    Older { place: StorePlace, found: i64, known: i64 },
    #[error("step {step} of the schema of store `{place}` is half done or was changed by hand")]
    StrangeSchema { place: StorePlace, step: i64 },
    #[error("the database of store `{place}` keeps text as {found}, which has not every letter that comes")]
    OtherEncoding { place: StorePlace, found: String },
    #[error("this program is linked with SQLite {found}, which can lose committed writes; it needs {needed}")]
    OldEngine { found: &'static str, needed: &'static str },
    #[error("file `{}` can not be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("store `{place}`: {failure}")]
    Database {
        place: StorePlace,
        failure: DatabaseFailure,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("there is something at `{}` already", path.display())]
    AlreadyThere { path: PathBuf },
    #[error("store `{}` is on a network file system ({kind}), whose locks do not keep two runs apart", path.display())]
    OnNetwork { path: PathBuf, kind: String },
    #[error("a copy into store `{place}` was broken off: it is not whole yet")]
    HalfCopied { place: StorePlace },
    #[error("something is stored already where the copy is to be")]
    NotEmpty,
    #[error("run {run} is still at work on the store that is to be copied")]
    RunAtWork { run: RunId },
    #[error("the rows of job {job} are not the same in the copy")]
    CopyDiffers { job: JobId },
    #[error("the ledger is not the same in the copy")]
    LedgerDiffers,
    #[error("somebody wrote to the store while it was copied")]
    WrittenMeanwhile,
    #[error("only a store on PostgreSQL has roles")]
    NoRoles,
    #[error("only a store that is a file is copied by gapless")]
    NoFile,
    #[error("store `{place}` was opened to be read only")]
    OpenedReadOnly { place: StorePlace },
    #[error("`{dataset}` can not be the name of a dataset: the store uses it")]
    ReservedName { dataset: Name },
    #[error("column `{column}` of `{dataset}` was {old} and is now {new}")]
    DefinitionChanged { dataset: Name, column: String, old: String, new: String },
    #[error("job {job} is still collecting partition `{partition}`")]
    JobRunning { job: JobId, partition: String },
    #[error("job {job} has ended already")]
    JobOver { job: JobId },
    #[error("job {job} was taken over by another worker; nothing of this one is stored any more")]
    Replaced { job: JobId },
    #[error("nothing was heard of run {run} in store `{place}` for longer than its lease: its jobs are free for others")]
    LeaseOver { place: StorePlace, run: RunId },
    #[error("a page of read {read} came for job {job}, of which read {open} is open")]
    OtherRead { job: JobId, read: ReadNumber, open: ReadNumber },
    #[error("job {job} received {received} rows, {stored} are stored")]
    Miscounted { job: JobId, received: u64, stored: u64 },
}

/// Where a store is, as messages name it: never with a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    File(PathBuf),
    /// The URL of a store on a server.
    Server(String),
}

/// What a statement failed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseFailure {
    #[error("another program holds it locked")]
    Locked,
    #[error("the disk is full")]
    DiskFull,
    #[error("it can not be opened or written: permissions, or too many open files")]
    NotAllowed,
    #[error("it is damaged")]
    Damaged,
    #[error("the disk failed; what was being written is not stored")]
    DiskFailed,
    #[error("its server can not be reached, or is not ready")]
    ServerAway,
    #[error("its server is too busy, or ended the statement")]
    ServerBusy,
    #[error("its server takes no writes")]
    ServerReadOnly,
    #[error("its server refuses the login, or has no such database")]
    LoginRefused,
    #[error("no trusted connection to its server can be made")]
    TlsRefused,
    #[error("a role that is named is not there")]
    RoleMissing,
    #[error("the role lacks a right")]
    RightMissing,
    #[error("something of yours depends on what must be changed")]
    Depended,
    #[error("a statement failed that never should")]
    Unforeseen,
}

/// Which way out an error leaves: the command line turns it into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// It can not be had now, or its disk can not be trusted.
    Unreachable,
    Damaged,
    Newer,
    /// Nothing is wrong, but a person must say how to go on.
    NeedsDecision,
    /// Disk space, descriptors, permissions.
    LocalResource,
    /// Our own fault.
    Bug,
}

impl From<&Path> for StorePlace {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(url) => f.write_str(url),
        }
    }
}

impl StoreError {
    pub fn kind(&self) -> StoreErrorKind {
        match self {
            Self::EmptyFile { .. }
            | Self::NotADatabase { .. }
            | Self::CutOff { .. }
            | Self::Unsound { .. }
            | Self::CopyDiffers { .. }
            | Self::LedgerDiffers
            | Self::StrangeSchema { .. } => StoreErrorKind::Damaged,
            Self::Newer { .. } => StoreErrorKind::Newer,
            Self::Missing { .. }
            | Self::Foreign { .. }
            | Self::OtherEncoding { .. }
            | Self::Older { .. }
            | Self::DefinitionChanged { .. }
            | Self::AlreadyThere { .. }
            | Self::OnNetwork { .. }
            | Self::NoFile
            | Self::NoRoles
            | Self::HalfCopied { .. }
            | Self::NotEmpty
            | Self::WrittenMeanwhile
            | Self::RunAtWork { .. }
            | Self::ReservedName { .. } => StoreErrorKind::NeedsDecision,
            Self::File { .. } | Self::OldEngine { .. } => StoreErrorKind::LocalResource,
            Self::Database { failure, .. } => match failure {
                DatabaseFailure::Locked
                | DatabaseFailure::DiskFailed
                | DatabaseFailure::ServerAway
                | DatabaseFailure::ServerBusy
                | DatabaseFailure::ServerReadOnly => StoreErrorKind::Unreachable,
                DatabaseFailure::LoginRefused
                | DatabaseFailure::TlsRefused
                | DatabaseFailure::RightMissing
                | DatabaseFailure::RoleMissing
                | DatabaseFailure::Depended => StoreErrorKind::NeedsDecision,
                DatabaseFailure::DiskFull | DatabaseFailure::NotAllowed => StoreErrorKind::LocalResource,
                DatabaseFailure::Damaged => StoreErrorKind::Damaged,
                DatabaseFailure::Unforeseen => StoreErrorKind::Bug,
            },
            Self::Replaced { .. } | Self::LeaseOver { .. } => StoreErrorKind::Unreachable,
            Self::OpenedReadOnly { .. }
            | Self::JobRunning { .. }
            | Self::JobOver { .. }
            | Self::OtherRead { .. }
            | Self::Miscounted { .. } => StoreErrorKind::Bug,
        }
    }

    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing { place: StorePlace::Server(_) } => {
                Some("check database and schema; `gapless collect --create` or `gapless store migrate` makes a new store there")
            }
            Self::Foreign { place: StorePlace::Server(_) } => {
                Some("name a schema of its own with `store.schema`, or `?schema=NAME`")
            }
            Self::StrangeSchema { place: StorePlace::Server(_), .. } => Some("restore a copy of the schema; nothing was changed"),
            Self::Database { place: StorePlace::Server(_), failure: DatabaseFailure::Locked, .. } => {
                Some("see in `pg_stat_activity` who keeps it locked, or run again later")
            }
            Self::Database { place: StorePlace::Server(_), failure: DatabaseFailure::DiskFull, .. } => {
                Some("free some space on the server and run again; what was stored is safe")
            }
            Self::Database { place: StorePlace::Server(_), failure: DatabaseFailure::Damaged, .. } => {
                Some("look into the log of the server, and restore a copy of the schema")
            }
            Self::Database { place: StorePlace::Server(_), failure: DatabaseFailure::DiskFailed, .. } => {
                Some("check the disk of the server, then the store with `gapless doctor`")
            }
            Self::OtherEncoding { .. } => {
                Some("make another database, with `create database NAME encoding 'UTF8' template template0`")
            }
            Self::Missing { .. } => Some("check the path; `gapless collect --create` makes a new store where there is none"),
            Self::EmptyFile { .. } => {
                Some("check the disk and restore a copy; if nothing was ever in it, remove the file and run `gapless init`")
            }
            Self::NotADatabase { .. } | Self::Foreign { .. } => Some("name another file with `--store sqlite://PATH`"),
            Self::CutOff { .. } | Self::Unsound { .. } | Self::StrangeSchema { .. } => {
                Some("move the file away and restore a copy; nothing was changed")
            }
            Self::Newer { .. } => Some("use the newer program; nothing was changed"),
            Self::Older { .. } => Some("run `gapless store migrate`"),
            Self::OldEngine { .. } => Some("build with the bundled SQLite"),
            Self::File { .. } => Some("check that the folder exists and that you may write in it"),
            Self::Database { failure, .. } => match failure {
                DatabaseFailure::Locked => Some("end the program that holds the file, or run again later"),
                DatabaseFailure::DiskFull => Some("free some space and run again; what was stored is safe"),
                DatabaseFailure::NotAllowed => Some("check owner and mode of the file and its folder, and `ulimit -n`"),
                DatabaseFailure::Damaged => Some("move the file away and restore a copy"),
                DatabaseFailure::DiskFailed => Some("check the disk, then the store with `gapless doctor`"),
                DatabaseFailure::ServerAway => {
                    Some("check that the server runs and is reached by this URL, and run again; what was stored is safe")
                }
                DatabaseFailure::ServerBusy => Some("check the server's limits on connections and time, and run again"),
                DatabaseFailure::ServerReadOnly => Some("name the server that takes writes, or run again when this one does"),
                DatabaseFailure::LoginRefused => {
                    Some("check user, database and password: PGPASSWORD, ~/.pgpass, or the URL in a settings file")
                }
                DatabaseFailure::TlsRefused => Some("check `sslmode` and `sslrootcert` of the URL and the server's certificate"),
                DatabaseFailure::RoleMissing => {
                    Some("check the spelling of the role, or make it with `create role NAME login`, and run again")
                }
                DatabaseFailure::RightMissing => Some(
                    "let the owner of the tables run `gapless store migrate DATASET --collector ROLE`, with this role as ROLE",
                ),
                DatabaseFailure::Depended => Some("drop your view or rule on it, run again, and make it anew"),
                DatabaseFailure::Unforeseen => None,
            },
            Self::DefinitionChanged { .. } => {
                Some("give the column a new name, or begin a new store with `--store URL`; nothing was changed")
            }
            Self::AlreadyThere { .. } => Some("name a file that is not there yet: a copy takes the place of nothing"),
            Self::HalfCopied { .. } => Some("run the same `gapless store copy` again: it goes on where it was broken off"),
            Self::NotEmpty => Some("name an empty place: a copy takes the place of nothing"),
            Self::RunAtWork { .. } => Some("wait until it has ended, then copy again"),
            Self::WrittenMeanwhile => Some("let no run begin until the copy has ended, and run the same line again"),
            Self::CopyDiffers { .. } | Self::LedgerDiffers => {
                Some("look for damage with `gapless audit` on both, then copy again into an empty place")
            }
            Self::NoRoles => Some("leave out `--collector`: whoever may write the file may collect"),
            Self::NoFile => Some("copy a store on PostgreSQL with `pg_dump --schema=gapless DATABASE`"),
            Self::OnNetwork { .. } => Some("move the store to a local disk, or allow it with `store.network_files = true`"),
            Self::ReservedName { .. } => Some("give the dataset another `id`"),
            Self::LeaseOver { .. } => {
                Some("run again: what was stored until then is safe; `store.lease` says how long a host may be silent")
            }
            Self::Replaced { .. } => Some("leave the other run alone; what this one stored until then is safe"),
            Self::OpenedReadOnly { .. }
            | Self::JobRunning { .. }
            | Self::JobOver { .. }
            | Self::OtherRead { .. }
            | Self::Miscounted { .. } => None,
        }
    }
}
