use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layer::Assigned;
use super::schema::{Setting, parse_duration};
use crate::model::name::Name;

/// Reads the values of settings that are known to be legal.
pub(super) struct Reader<'a> {
    pub(super) values: &'a BTreeMap<String, Assigned>,
    pub(super) folder: Option<&'a Path>,
    pub(super) file: Option<&'a Path>,
}

impl Reader<'_> {
    pub(super) fn optional(&self, path: &str) -> Option<&str> {
        debug_assert!(Setting::find(path).is_some(), "`{path}` is in the schema");
        self.values.get(path).map(|assigned| assigned.text.as_str())
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.optional(path).expect("the defaults set it; a test compares them with the schema")
    }

    /// A name; `None` when it is empty.
    pub(super) fn name(&self, path: &str) -> Option<Name> {
        Some(self.text(path)).filter(|text| !text.is_empty()).map(|text| text.parse().expect("checked by its kind"))
    }

    pub(super) fn duration(&self, path: &str) -> Duration {
        parse_duration(self.text(path)).expect("checked by its kind")
    }

    pub(super) fn optional_duration(&self, path: &str) -> Option<Duration> {
        self.optional(path).map(|text| parse_duration(text).expect("checked by its kind"))
    }

    pub(super) fn switch(&self, path: &str) -> bool {
        self.text(path) == "true"
    }

    pub(super) fn number<T: std::str::FromStr>(&self, path: &str) -> T {
        self.optional_number(path).expect("the defaults set it; a test compares them with the schema")
    }

    pub(super) fn optional_number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.optional(path).map(|text| text.parse().ok().expect("checked by its kind"))
    }

    /// A path; relative to the settings file where it was set there.
    pub(super) fn path(&self, path: &str) -> Option<PathBuf> {
        let text = self.optional(path).filter(|text| !text.is_empty())?;
        Some(self.located(path, Path::new(text)))
    }

    /// A LIST of regions; the path of an `@FILE` is relative to the settings file where it was set there.
    pub(super) fn regions(&self, path: &str) -> Option<String> {
        let text = self.optional(path)?;
        Some(match text.strip_prefix('@') {
            Some(file) => format!("@{}", self.located(path, Path::new(file)).display()),
            None => text.to_owned(),
        })
    }

    pub(super) fn store_url(&self, path: &str) -> String {
        let text = self.text(path);
        match text.strip_prefix("sqlite://") {
            Some(file) => format!("sqlite://{}", self.located(path, Path::new(file)).display()),
            None => text.to_owned(),
        }
    }

    fn located(&self, setting: &str, path: &Path) -> PathBuf {
        let shown = self.file.map(|file| format!("{}:", file.display()));
        let origin = self.values.get(setting).map(|assigned| assigned.origin.as_str()).unwrap_or_default();
        let is_from_file = shown.is_some_and(|shown| origin.starts_with(&shown));
        match self.folder {
            Some(folder) if is_from_file => folder.join(path),
            Some(_) | None => path.to_owned(),
        }
    }

    pub(super) fn named<T>(&self, section: &str, read: impl Fn(&Self, &str) -> T) -> BTreeMap<String, T> {
        let below = self.values.keys().filter_map(|path| path.strip_prefix(section)?.strip_prefix('.')?.split_once('.'));
        let names: BTreeSet<&str> = below.map(|(name, _)| name).collect();
        names.into_iter().map(|name| (name.to_owned(), read(self, &format!("{section}.{name}")))).collect()
    }
}
