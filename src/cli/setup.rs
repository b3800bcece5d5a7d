use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::definition::catalog::Catalog;
use crate::definition::dataset::Dataset;
use crate::definition::provider::Provider;
use crate::model::month::Month;
use crate::model::name::Name;
use crate::model::secret::ServiceKey;
use crate::settings::error::SettingsError;
use crate::settings::key::{is_open_to_others, key_of, variable};
use crate::settings::layer::read_file;
use crate::settings::resolved::{Files, Settings, StoreSettings, unknown_name};
use crate::settings::saved::saved_beside;
use crate::settings::search::Search;
use crate::store::error::{DatabaseFailure, StoreError};
use crate::store::url::{StoreUrl, StoreUrlError, schema_of};
use crate::store::{NetworkFiles, OpenMode, Store, StoreOptions};

use super::error::CliError;

/// Settings and definitions in force.
pub struct Setup {
    pub settings: Settings,
    pub catalog: Catalog,
    providers: HashMap<Name, Arc<Provider>>,
    environment: HashMap<String, String>,
}

impl Setup {
    /// Loads settings and definitions; `flags` are (setting path, value, flag name).
    pub fn load(
        config: Option<&Path>,
        environment: HashMap<String, String>,
        flags: impl Fn(&Catalog) -> Result<Vec<(String, String, String)>, CliError>,
    ) -> Result<Self, CliError> {
        let variable = |name: &str| environment.get(name).map(String::as_str);
        let search = Search::new(config, variable("GAPLESS_CONFIG"), variable("HOME"));
        let own = match search.found() {
            Some(path) => Some((path, read_file(path)?)),
            None => None,
        };
        let saved_path = saved_beside(search.found());
        let saved = if saved_path.exists() { Some(read_file(&saved_path)?) } else { None };
        let files = Files {
            own: own.as_ref().map(|(path, text)| (*path, text.as_str())),
            saved: saved.as_ref().map(|text| (saved_path.as_path(), text.as_str())),
        };
        Self::of(files, environment, flags)
    }

    /// As [`Setup::load`], with the settings files given.
    pub fn of(
        files: Files<'_>,
        environment: HashMap<String, String>,
        flags: impl Fn(&Catalog) -> Result<Vec<(String, String, String)>, CliError>,
    ) -> Result<Self, CliError> {
        let first = Settings::load(files, environment.clone(), Vec::new())?;
        let catalog = Catalog::with_folder(&first.definitions)?;
        first.check_names(&catalog)?;
        let flags = flags(&catalog)?;
        for (_, url, _) in flags.iter().filter(|(path, ..)| path == "store.url") {
            // One that can not be read is refused with the other settings.
            url.parse().map_or(Ok(()), |url| refuse_password(&url))?;
        }
        let settings = Settings::load(files, environment.clone(), flags)?;
        let mut providers = HashMap::new();
        for provider in catalog.providers() {
            let provider = match settings.providers.get(provider.id.as_str()) {
                Some(overrides) => overrides.apply(provider).map_err(CliError::usage)?,
                None => Provider::clone(provider),
            };
            providers.insert(provider.id.clone(), Arc::new(settings.paced(provider)));
        }
        let apis = catalog.datasets().map(|dataset| (&*providers[&dataset.provider], &dataset.id));
        let problems = settings.check_windows(apis);
        if !problems.is_empty() {
            return Err(SettingsError { problems }.into());
        }
        Ok(Self { settings, catalog, providers, environment })
    }

    /// The environment of this process. What is not text is taken with marks in the places of its broken bytes, so that a
    /// setting of ours is refused for them and not passed over.
    pub fn environment() -> HashMap<String, String> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
    }

    /// A variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// Every provider, with the user's settings in front.
    pub fn providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    pub fn dataset(&self, name: &str) -> Result<&Arc<Dataset>, CliError> {
        dataset_of(&self.catalog, name)
    }

    /// The provider of a dataset, with the user's settings in front.
    pub fn provider_of(&self, dataset: &Dataset) -> &Arc<Provider> {
        &self.providers[&dataset.provider]
    }

    /// Where the store is.
    pub fn store_url(&self) -> Result<StoreUrl, CliError> {
        let url: StoreUrl = self.settings.store.url.parse().map_err(|error: StoreUrlError| CliError::usage(error.to_string()))?;
        let schema = schema_of(self.settings.store.schema.as_str()).map_err(|error| CliError::usage(error.to_string()))?;
        self.completed(url.in_schema(&schema))
    }

    /// The same place, with what PGSSLMODE, PGHOST and PGHOSTADDR say of it where the URL says nothing.
    pub fn completed(&self, url: StoreUrl) -> Result<StoreUrl, CliError> {
        url.completed_by(|name| self.variable(name)).map_err(|error| CliError::usage(format!("PGSSLMODE: {error}")))
    }

    /// Opens the store at `url`, on a network file system only where the settings allow it.
    ///
    /// Errors: a run that was stopped within a write keeps others from even opening a file; then it is named.
    pub async fn open_store(&self, url: &StoreUrl, mode: OpenMode) -> Result<Store, CliError> {
        let StoreSettings { network_files, reader_role, lease, .. } = &self.settings.store;
        let network_files = if *network_files { NetworkFiles::Allowed } else { NetworkFiles::Refused };
        let options = StoreOptions { network_files, reader_role: reader_role.clone(), lease: *lease };
        let opened = Store::open_as(url, mode, options).await;
        let is_locked = matches!(opened, Err(StoreError::Database { failure: DatabaseFailure::Locked, .. }));
        match is_locked.then(|| Store::collector(url)).flatten() {
            Some(held) => Err(held.into()),
            None => Ok(opened?),
        }
    }

    /// The key of a provider; none for a provider that asks for none.
    pub fn key(&self, provider: &Provider) -> Result<Option<ServiceKey>, CliError> {
        if provider.key_param.is_none() {
            return Ok(None);
        }
        Ok(Some(key_of(&provider.id, self.variable(&variable(&provider.id)), self.key_file(provider))?))
    }

    /// What to know of the key file in use: a file that others may read gives the key away.
    pub fn key_file_warning(&self, provider: &Provider) -> Option<String> {
        let is_in_use = provider.key_param.is_some() && self.variable(&variable(&provider.id)).is_none();
        let file = self.key_file(provider).filter(|file| is_in_use && is_open_to_others(file))?;
        let file = file.display();
        Some(format!("others of this machine may read the key file `{file}`; `chmod 600 {file}` ends that"))
    }

    fn key_file(&self, provider: &Provider) -> Option<&Path> {
        self.settings.providers.get(provider.id.as_str())?.key_file.as_deref()
    }
}

/// Whoever may list the processes of a machine reads their command lines.
pub fn refuse_password(url: &StoreUrl) -> Result<(), CliError> {
    if !url.has_password() {
        return Ok(());
    }
    let what = format!("the URL of {url} was given with a password on the command line, where others can read it");
    Err(CliError::usage(what).with_hint("set it in the environment as GAPLESS__STORE__URL or PGPASSWORD, or in a settings file"))
}

/// A dataset of the catalog by its name as typed.
pub fn dataset_of<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Arc<Dataset>, CliError> {
    catalog.dataset(name).ok_or_else(|| {
        let known: Vec<&str> = catalog.datasets().map(|dataset| dataset.id.as_str()).collect();
        CliError::usage(unknown_name("dataset", name, &known)).with_hint("see `gapless datasets list`")
    })
}

/// The current month in a provider's zone.
pub fn current_month(provider: &Provider, now: Timestamp) -> Month {
    let zone = TimeZone::get(&provider.zone).expect("checked with the definitions and settings");
    Month::containing(now.to_zoned_datetime(zone).date())
}

/// Settings for values given as `N` for the one provider of the run or as `PROVIDER=N`.
pub fn provider_flags(
    values: &[String],
    flag: &str,
    setting: &str,
    providers: &BTreeSet<&Name>,
) -> Result<Vec<(String, String, String)>, CliError> {
    let known: Vec<&str> = providers.iter().map(|name| name.as_str()).collect();
    let mut flags = Vec::new();
    for value in values {
        let (meant, number) = match (value.split_once('='), known.as_slice()) {
            (Some((provider, number)), _) => (vec![provider], number),
            (None, [only]) => (vec![*only], value.as_str()),
            // It means for each what that one bears.
            (None, all) if value == "auto" => (all.to_vec(), value.as_str()),
            (None, _) => {
                let what = format!("{flag} {value} could mean several providers: {}", known.join(", "));
                return Err(
                    CliError::usage(what).with_hint(format!("write `{flag} {}={value}`", known.first().unwrap_or(&"PROVIDER")))
                );
            }
        };
        for provider in meant {
            if !known.contains(&provider) {
                return Err(CliError::usage(format!("{flag}: {}", unknown_name("provider of this run", provider, &known))));
            }
            let path = format!("providers.{provider}.{setting}");
            if flags.iter().any(|(known, _, _)| *known == path) {
                return Err(CliError::usage(format!("{flag} is given twice for {provider}")));
            }
            flags.push((path, number.to_owned(), flag.to_owned()));
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_ends_at_midnight_where_the_provider_is() {
        let check = |zone: &str, instant: &str, month: &str| {
            let shipped = Catalog::builtin().providers().next().unwrap().clone();
            let provider = Provider { zone: zone.to_owned(), ..Provider::clone(&shipped) };
            assert_eq!(current_month(&provider, instant.parse().unwrap()).to_string(), month, "{zone} {instant}");
        };
        check("Asia/Seoul", "2026-10-31T14:59:59Z", "2026-10");
        check("Asia/Seoul", "2026-10-31T15:00:00Z", "2026-11");
        check("Asia/Seoul", "2026-12-31T15:00:00Z", "2027-01");
        check("Pacific/Kiritimati", "2026-10-31T10:00:00Z", "2026-11");
        check("America/Los_Angeles", "2026-11-01T06:59:59Z", "2026-10");
        // The night the clocks go back there, and one whose midnight is left out.
        check("America/New_York", "2026-11-01T04:00:00Z", "2026-11");
        check("America/Asuncion", "2017-10-01T03:59:59Z", "2017-09");
        check("America/Asuncion", "2017-10-01T04:00:00Z", "2017-10");
    }
}
