use std::path::PathBuf;

/// Why a definition or region list cannot be used. Says which file, and what to change in it.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("`{file}` cannot be read")]
    Unreadable {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{file}` is not a valid definition: {message}")]
    Syntax { file: PathBuf, message: String },
    #[error("`{file}`: {problem}")]
    Invalid { file: PathBuf, problem: String },
}
