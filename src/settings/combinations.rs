use std::time::Duration;

use super::error::{Problem, SettingsError};
use super::http::HttpSettings;
use super::resolved::Settings;

impl Settings {
    /// Combinations that cannot work, each with its arithmetic.
    pub(super) fn check_combinations(&self) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        let mut object = |path: &str, what: String| {
            problems.push(Problem { place: self.origin(path).unwrap_or("default").to_owned(), what });
        };
        let HttpSettings { connect_timeout, read_timeout, total_timeout, .. } = self.http;
        if connect_timeout.is_zero() {
            object("http.connect_timeout", "`http.connect_timeout` must be longer than 0s".to_owned());
        }
        if connect_timeout >= read_timeout {
            let what = format!(
                "`http.connect_timeout` ({connect_timeout:?}) must be shorter than `http.read_timeout` ({read_timeout:?}), else a failed connection is taken for a silent server"
            );
            object("http.connect_timeout", what);
        }
        if read_timeout >= total_timeout {
            let what = format!(
                "`http.read_timeout` ({read_timeout:?}) must be shorter than `http.total_timeout` ({total_timeout:?}), else it can never fire"
            );
            object("http.read_timeout", what);
        }
        let waits = self.retry.waits();
        let together: Duration = waits.iter().sum();
        if self.retry.total_timeout.is_some_and(|limit| limit <= together) {
            let shown: Vec<String> = waits.iter().map(|wait| format!("{wait:?}")).collect();
            let what = format!(
                "`retry.total_timeout` ({:?}) is not longer than the waits together ({} = {together:?}): the last tries would never be made",
                self.retry.total_timeout.unwrap_or_default(),
                shown.join(" + "),
            );
            object("retry.total_timeout", what);
        }
        if self.refresh.weekly < self.refresh.every_run {
            let what = format!(
                "`refresh.weekly` ({}) is less than `refresh.every_run` ({})",
                self.refresh.weekly, self.refresh.every_run
            );
            object("refresh.weekly", what);
        }
        if self.retry.delay > self.retry.max_delay {
            let what =
                format!("`retry.delay` ({:?}) is longer than `retry.max_delay` ({:?})", self.retry.delay, self.retry.max_delay);
            object("retry.delay", what);
        }
        self.check_breakers(&mut object);
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }
}
