use std::path::PathBuf;
use std::time::Duration;

use super::resolved::Settings;

/// Limits of one HTTP attempt. `connect < read < total`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    pub connect_timeout: Duration,
    /// From sending to the first byte of the answer, then between two pieces of it.
    pub read_timeout: Duration,
    /// One whole attempt.
    pub total_timeout: Duration,
    /// Bytes of an answer, counted after decompression.
    pub max_body: u64,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    pub user_agent: String,
    /// Certificates (PEM) trusted besides the public ones.
    pub ca_file: Option<PathBuf>,
}

impl Default for HttpSettings {
    /// The values of `config/default.toml`.
    fn default() -> Self {
        Settings::defaults().http
    }
}
