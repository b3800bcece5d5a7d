use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::definition::catalog::Catalog;
use crate::model::name::Name;

use super::breaker::Breakers;
use super::error::{Problem, SettingsError};
use super::http::HttpSettings;
use super::layer::{Assigned, Layer, merge};
use super::overrides::ProviderOverrides;
use super::pace::LimitSettings;
use super::reader::Reader;
use super::retry::{RetryAfterRule, RetrySettings};
use super::schema::{Kind, SETTINGS, Setting, parse_bytes, parse_duration};

/// The reference of all settings, compiled in.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Every setting in force.
#[derive(Clone, Debug)]
pub struct Settings {
    pub store: StoreSettings,
    /// Folder of the user's definitions.
    pub definitions: PathBuf,
    pub http: HttpSettings,
    pub retry: RetrySettings,
    pub breakers: Breakers,
    /// Whether the runs of a store that several hosts share keep its limits together.
    pub shared_limits: bool,
    pub limits: LimitSettings,
    /// A partition that would need more pages is not begun.
    pub max_pages: u32,
    /// Pages of one partition that may be asked for side by side once its total is known; 0 is one by one.
    pub pages_ahead: u32,
    pub refresh: RefreshSettings,
    /// What each dataset is meant to have.
    pub targets: BTreeMap<String, Target>,
    pub providers: BTreeMap<String, ProviderOverrides>,
    pub log_format: LogFormat,
    /// The settings file that was read.
    pub file: Option<PathBuf>,
    values: BTreeMap<String, Assigned>,
    /// What probes saved, whether it is in force or not.
    pub(super) saved: BTreeMap<String, Assigned>,
}

/// The files that settings are read from: each with its path as shown, and its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    pub own: Option<(&'a Path, &'a str)>,
    /// What probes saved.
    pub saved: Option<(&'a Path, &'a str)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    pub url: String,
    /// On PostgreSQL, like the two below.
    pub schema: Name,
    pub reader_role: Option<Name>,
    /// How long a host may be silent.
    pub lease: Duration,
    pub keep_snapshots: bool,
    pub keep_bodies: bool,
    /// How long the ledger keeps a line for each request.
    pub keep_attempts: Duration,
    pub network_files: bool,
}

/// Which whole partitions are read again, by the age of their month; the current month has age 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshSettings {
    /// Younger months are read in every run.
    pub every_run: u32,
    /// Younger months are read when their last reading is a week old.
    pub weekly: u32,
}

/// The partitions a dataset is meant to have, as the user wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub months: Option<String>,
    pub regions: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl Settings {
    /// Settings from the default, what probes saved, the user's file, the environment and flags, the last uppermost.
    /// Flags are (setting path, value, flag name).
    ///
    /// Errors: every unknown name and illegal value, and combinations that cannot work.
    pub fn load(
        files: Files<'_>,
        environment: impl IntoIterator<Item = (String, String)>,
        flags: impl IntoIterator<Item = (String, String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut layers = vec![Layer::defaults(DEFAULTS)];
        let mut problems = Vec::new();
        let mut add = |layer: Result<Layer, SettingsError>| match layer {
            Ok(layer) => layers.push(layer),
            Err(error) => problems.extend(error.problems),
        };
        let read = |(path, text): (&Path, &str)| Layer::from_toml(text, &path.display().to_string());
        let saved = files.saved.map(read);
        let kept = saved.iter().flatten().cloned().collect::<Vec<_>>();
        for layer in saved.into_iter().chain(files.own.map(read)) {
            add(layer);
        }
        add(Layer::from_environment(environment));
        add(Layer::from_flags(flags));
        if !problems.is_empty() {
            return Err(SettingsError { problems });
        }
        let settings = Self { saved: merge(kept), ..Self::from_values(merge(layers), files.own.map(|(path, _)| path)) };
        settings.check_combinations()?;
        Ok(settings)
    }

    /// The defaults alone.
    pub fn defaults() -> Self {
        Self::load(Files::default(), [], []).expect("the defaults are legal; a test loads them")
    }

    /// Whether every dataset and provider named in the settings is one of the catalog's, and every provider can be used.
    pub fn check_names(&self, catalog: &Catalog) -> Result<(), SettingsError> {
        let mut problems = Vec::new();
        for (path, assigned) in &self.values {
            let mut parts = path.split('.');
            let (section, name, is_named) = (parts.next(), parts.next().unwrap_or_default(), parts.next().is_some());
            let known: Vec<&str> = match section {
                Some("collect") if is_named => catalog.datasets().map(|dataset| dataset.id.as_str()).collect(),
                Some("providers") => catalog.providers().map(|provider| provider.id.as_str()).collect(),
                Some("breaker") if is_named => {
                    let providers = catalog.providers().map(|provider| provider.id.as_str());
                    providers.chain(catalog.datasets().map(|dataset| dataset.id.as_str())).collect()
                }
                _ => continue,
            };
            if !known.contains(&name) {
                let what = match section {
                    Some("collect") => "dataset",
                    Some("breaker") => "provider or dataset",
                    _ => "provider",
                };
                problems.push(Problem { place: assigned.origin.clone(), what: unknown_name(what, name, &known) });
            }
        }
        for (name, overrides) in &self.providers {
            let provider = name.parse::<Name>().ok().and_then(|id| catalog.provider(&id));
            let Some(provider) = provider else { continue };
            // One by one, so that each problem is told with its own place.
            let base_url = ProviderOverrides { base_url: overrides.base_url.clone(), ..Default::default() };
            let zone = ProviderOverrides { zone: overrides.zone.clone(), ..Default::default() };
            for (key, alone) in [("base_url", base_url), ("zone", zone)] {
                if let Err(what) = alone.apply(provider) {
                    let place = self.origin(&format!("providers.{name}.{key}")).unwrap_or("providers").to_owned();
                    problems.push(Problem { place, what });
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }

    /// Every setting by its path, with its value as text and where it was set.
    pub fn values(&self) -> &BTreeMap<String, Assigned> {
        &self.values
    }

    /// Where a setting was set.
    pub fn origin(&self, path: &str) -> Option<&str> {
        self.values.get(path).map(|assigned| assigned.origin.as_str())
    }

    /// Whether the user set it.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.own_origin(path).is_some()
    }

    /// Where the user set it: the defaults and what probes saved are not the user's.
    pub fn own_origin(&self, path: &str) -> Option<&str> {
        let saved = self.saved.get(path).map(|assigned| assigned.origin.as_str());
        self.origin(path).filter(|origin| *origin != "default" && Some(*origin) != saved)
    }

    fn from_values(values: BTreeMap<String, Assigned>, file: Option<&Path>) -> Self {
        let read = Reader { values: &values, folder: file.and_then(Path::parent), file };
        Self {
            store: StoreSettings {
                url: read.store_url("store.url"),
                keep_snapshots: read.switch("store.keep_snapshots"),
                keep_bodies: read.switch("store.keep_bodies"),
                keep_attempts: read.duration("store.keep_attempts"),
                network_files: read.switch("store.network_files"),
                schema: read.name("store.schema").expect("the defaults set it; a test compares them with the schema"),
                reader_role: read.name("store.reader_role"),
                lease: read.duration("store.lease"),
            },
            definitions: read.path("paths.definitions").unwrap_or_default(),
            http: HttpSettings {
                connect_timeout: read.duration("http.connect_timeout"),
                read_timeout: read.duration("http.read_timeout"),
                total_timeout: read.duration("http.total_timeout"),
                max_body: parse_bytes(read.text("http.max_body")).expect("checked by its kind"),
                idle_timeout: read.duration("http.idle_timeout"),
                user_agent: read.text("http.user_agent").replace("{version}", env!("CARGO_PKG_VERSION")),
                ca_file: read.path("http.ca_file"),
            },
            retry: RetrySettings {
                max_retries: read.number("retry.max_retries"),
                delay: read.duration("retry.delay"),
                multiplier: read.number("retry.multiplier"),
                max_delay: read.duration("retry.max_delay"),
                jitter: read.duration("retry.jitter"),
                total_timeout: parse_duration(read.text("retry.total_timeout")),
                retry_after: RetryAfterRule::from_spelling(read.text("retry.retry_after")).expect("checked by its kind"),
                error_pause: read.duration("retry.error_pause"),
                throttle_patience: read.duration("retry.throttle_patience"),
            },
            breakers: Breakers::read(&read),
            shared_limits: read.switch("limits.shared"),
            limits: LimitSettings {
                is_auto: read.text("limits.concurrency") == "auto",
                max_concurrency: read.number("limits.max_concurrency"),
            },
            max_pages: read.number("collect.max_pages"),
            pages_ahead: read.number("collect.pages_ahead"),
            refresh: RefreshSettings { every_run: read.number("refresh.every_run"), weekly: read.number("refresh.weekly") },
            targets: read.named("collect", |read, path| Target {
                months: read.optional(&format!("{path}.months")).map(str::to_owned),
                regions: read.regions(&format!("{path}.regions")),
            }),
            providers: read.named("providers", |read, path| {
                let at = |key: &str| format!("{path}.{key}");
                ProviderOverrides {
                    base_url: read.optional(&at("base_url")).map(str::to_owned),
                    key_param: read.optional(&at("key_param")).map(str::to_owned),
                    key_file: read.path(&at("key_file")),
                    concurrency: read.optional_number(&at("concurrency")),
                    max_concurrency: read.optional_number(&at("max_concurrency")),
                    rps: read.optional_number(&at("rps")),
                    documented_rps: read.optional_number(&at("documented_rps")),
                    daily_calls: read.optional_number(&at("daily_calls")),
                    reserve_calls: read.optional_number(&at("reserve_calls")),
                    zone: read.optional(&at("zone")).map(str::to_owned),
                    invalid_in_a_row: read.optional_number(&at("invalid_in_a_row")),
                }
            }),
            log_format: if read.text("log.format") == "json" { LogFormat::Json } else { LogFormat::Text },
            file: file.map(Path::to_owned),
            values,
            saved: BTreeMap::new(),
        }
    }
}

/// One sentence for a name that is none of the known ones, with the nearest of them.
pub fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let scored = known.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((score, nearest)) if score > 0.7 => format!("no {what} is called `{name}`; did you mean `{nearest}`?"),
        _ => format!("no {what} is called `{name}`; known are {}", known.join(", ")),
    }
}

/// The settings a file may hold that the defaults do not set: those of named tables.
pub fn named_settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.path.contains('*'))
}

/// Whether a setting holds a file or folder.
pub fn is_path(setting: &Setting) -> bool {
    matches!(setting.kind, Kind::Path | Kind::StoreUrl)
}

#[cfg(test)]
#[path = "resolved_tests.rs"]
mod tests;
