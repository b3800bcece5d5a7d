use std::time::Duration;

use super::error::{Problem, SettingsError};
use super::http::HttpSettings;
use super::resolved::Settings;

/// A network and a busy server take this long to answer now and then.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

impl Settings {
    /// Combinations that cannot work, each with its arithmetic.
    pub(super) fn check_combinations(&self) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        // Of the settings that do not fit together, the one that somebody set is to be mended.
        let mut object_to = |paths: &[&str], what: String| {
            let set = paths.iter().filter_map(|path| self.origin(path)).find(|origin| *origin != "default");
            problems.push(Problem { place: set.unwrap_or("default").to_owned(), what });
        };
        let HttpSettings { connect_timeout, read_timeout, total_timeout, .. } = self.http;
        if connect_timeout.is_zero() {
            object_to(&["http.connect_timeout"], "`http.connect_timeout` must be longer than 0s".to_owned());
        }
        if connect_timeout >= read_timeout {
            let what = format!(
                "`http.connect_timeout` ({connect_timeout:?}) must be shorter than `http.read_timeout` ({read_timeout:?}), else a failed connection is taken for a silent server"
            );
            object_to(&["http.connect_timeout", "http.read_timeout"], what);
        }
        if read_timeout >= total_timeout {
            let what = format!(
                "`http.read_timeout` ({read_timeout:?}) must be shorter than `http.total_timeout` ({total_timeout:?}), else it can never fire"
            );
            object_to(&["http.read_timeout", "http.total_timeout"], what);
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
            object_to(&["retry.total_timeout", "retry.max_retries", "retry.delay", "retry.multiplier"], what);
        }
        if self.refresh.weekly < self.refresh.every_run {
            let what = format!(
                "`refresh.weekly` ({}) is less than `refresh.every_run` ({})",
                self.refresh.weekly, self.refresh.every_run
            );
            object_to(&["refresh.weekly", "refresh.every_run"], what);
        }
        if self.retry.delay > self.retry.max_delay {
            let what =
                format!("`retry.delay` ({:?}) is longer than `retry.max_delay` ({:?})", self.retry.delay, self.retry.max_delay);
            object_to(&["retry.delay", "retry.max_delay"], what);
        }
        if self.store.lease < SHORTEST_LEASE {
            let what = format!(
                "`store.lease` ({:?}) must be {SHORTEST_LEASE:?} or longer: it is renewed at each third, and a run that cannot do so in time loses its jobs",
                self.store.lease
            );
            object_to(&["store.lease"], what);
        }
        self.check_breakers(|path, what| object_to(&[path], what));
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }
}
