use std::error::Error;

use crate::definition::error::DefinitionError;
use crate::report::exit::Exit;
use crate::settings::error::SettingsError;
use crate::settings::key::KeyProblem;
use crate::store::error::{StoreError, StoreErrorKind};
use crate::store::file::StoreFileError;
use crate::store::lock::LockError;

/// An error as the user is told it: what, on which thing, and what to do next.
#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    pub what: String,
    pub hint: Option<String>,
}

impl CliError {
    pub fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), hint: None }
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Something of this machine failed.
    pub fn local(what: &str, source: std::io::Error) -> Self {
        Self { exit: Exit::LocalResource, what: format!("{what}: {source}"), hint: None }
    }

    /// An error with all its causes, in one line.
    pub(super) fn told(exit: Exit, error: &dyn Error) -> Self {
        let mut what = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            // Some libraries say their cause themselves.
            let told = format!(": {error}");
            if !what.ends_with(&told) {
                what.push_str(&told);
            }
            cause = error.source();
        }
        Self { exit, what, hint: None }
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        let told = Self::told(Exit::Usage, &error);
        // A flag is mended where it was typed.
        match error.problems.iter().all(|problem| problem.place.starts_with("--")) {
            true => told,
            false => told.with_hint("mend it, then run `gapless config check`; `gapless config default` explains every setting"),
        }
    }
}

impl From<DefinitionError> for CliError {
    fn from(error: DefinitionError) -> Self {
        Self::told(Exit::Usage, &error).with_hint("mend the file, then run `gapless datasets check`")
    }
}

impl From<KeyProblem> for CliError {
    fn from(error: KeyProblem) -> Self {
        let told = Self::told(Exit::Usage, &error);
        match error {
            KeyProblem::Missing { provider, variable } => told.with_hint(format!(
                "put the key into a file and set `providers.{provider}.key_file`, or into the environment as {variable}"
            )),
            KeyProblem::Broken { .. } => told.with_hint("paste the key as the portal shows it; either of its two forms will do"),
            KeyProblem::Unreadable { .. } => told,
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let exit = match error.kind() {
            StoreErrorKind::Unreachable | StoreErrorKind::Damaged | StoreErrorKind::Newer | StoreErrorKind::NeedsDecision => {
                Exit::Store
            }
            StoreErrorKind::LocalResource => Exit::LocalResource,
            StoreErrorKind::Bug => Exit::OwnFault,
        };
        let told = Self::told(exit, &error);
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}

impl From<StoreFileError> for CliError {
    fn from(error: StoreFileError) -> Self {
        Self::told(Exit::Store, &error).with_hint("find out who moves files there, put the store back, then run again")
    }
}

impl From<LockError> for CliError {
    fn from(error: LockError) -> Self {
        match &error {
            LockError::Held { .. } => Self::told(Exit::Locked, &error).with_hint("wait until it has ended, then run again"),
            LockError::File { .. } => Self::told(Exit::LocalResource, &error),
        }
    }
}
