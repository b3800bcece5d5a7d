use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::caller::{ProviderLimits, Unrationed};
use crate::definition::provider::Provider;
use crate::model::password::without_passwords;
use crate::plan::night::night;
use crate::report::exit::Exit;
use crate::settings::error::SettingsError;
use crate::settings::resolved::DEFAULTS;
use crate::settings::schema::Setting;
use crate::store::{OpenMode, Store};

use super::announce::sharing_line;
use super::args::ConfigCommand;
use super::arithmetic::Api;
use super::ask::caller;
use super::doubts::rate_doubts;
use super::error::CliError;
use super::orders::{standing, target_of};
use super::setup::{Setup, current_month};
use super::terminal::Terminal;

pub async fn run(command: &ConfigCommand, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    match command {
        ConfigCommand::Show => terminal.print(&shown(&setup)),
        ConfigCommand::Default => terminal.print(DEFAULTS),
        ConfigCommand::Check => check(&setup, Timestamp::now(), terminal).await,
    }
}

/// Tries what can be tried without a call, and tells the arithmetic of each API that has a target.
async fn check(setup: &Setup, now: Timestamp, terminal: &Terminal) -> Result<Exit, CliError> {
    check_targets(setup, now)?;
    let file = setup.settings.file.as_ref().map_or("no settings file".to_owned(), |file| file.display().to_string());
    let mut text = format!("{file}: every name is known, every value is legal\n");
    if let Some(line) = sharing_line(&setup.settings, &setup.store_url()?) {
        text.push_str(&format!("{line}\n"));
    }
    let store = ledger(setup, terminal).await?;
    let mut problems = Vec::new();
    for name in setup.settings.targets.keys() {
        let dataset = setup.dataset(name)?;
        let provider = setup.provider_of(dataset);
        let target = target_of(dataset, setup, now)?.partitions;
        let (states, latencies) = match &store {
            Some(store) => (store.states(&dataset.id).await?, store.latencies(&dataset.id, LATEST).await?),
            None => (Vec::new(), Vec::new()),
        };
        let standings = states.into_iter().map(standing).collect();
        let night = night(&target, &standings, setup.settings.refresh, current_month(provider, now), now);
        let (wanted, settings) = (target.len() as u64, &setup.settings);
        let api = Api { settings, dataset, provider, wanted, night, latencies: &latencies };
        text.push_str(&format!("\n{}", api.text()));
        for warning in api.warnings().into_iter().chain(rate_doubts(settings, provider, now)) {
            text.push_str(&format!("  warning: {warning}\n"));
        }
        problems.extend(api.problems());
    }
    if let Some(store) = store {
        store.close().await;
    }
    for provider in setup.providers().filter(|provider| setup.settings.providers.contains_key(provider.id.as_str())) {
        if let Err(error) = setup.key(provider) {
            text.push_str(&format!("warning: {}\n", error.what));
        }
    }
    if setup.settings.targets.is_empty() {
        text.push_str("no dataset has a target, such as `[collect.apt_trade]`: there is no usual night to reckon with\n");
    }
    if problems.is_empty() {
        text.push_str("\nnext: gapless config show\n");
        terminal.print(&text)
    } else {
        terminal.print(&text)?;
        Err(SettingsError { problems }.into())
    }
}

/// Good answers that the time of one is reckoned from.
const LATEST: u32 = 1000;

/// The store as far as there is one: settings are checked on a machine that has none yet, too.
async fn ledger(setup: &Setup, terminal: &Terminal) -> Result<Option<Store>, CliError> {
    let url = setup.store_url()?;
    let opened = match Store::exists(&url).await {
        Ok(false) => return Ok(None),
        Ok(true) => setup.open_store(&url, OpenMode::ReadOnly).await.map_err(|error| error.what),
        Err(error) => Err(error.to_string()),
    };
    match opened {
        Ok(store) => Ok(Some(store)),
        Err(error) => {
            terminal.note(&format!("warning: the store is not read, so nothing is known of pages and times: {error}"));
            Ok(None)
        }
    }
}

/// What can be tried without a call: every target names partitions, and every provider can be asked.
fn check_targets(setup: &Setup, now: Timestamp) -> Result<(), CliError> {
    for name in setup.settings.targets.keys() {
        let hint = format!("mend `[collect.{name}]`");
        target_of(setup.dataset(name)?, setup, now).map_err(|error| error.with_hint(hint))?;
    }
    let askable = setup
        .providers()
        .try_for_each(|provider| caller(setup, vec![ProviderLimits::of(provider)], Arc::new(Unrationed)).map(drop));
    askable.map_err(|error| error.with_hint("mend `[http]`"))
}

fn shown(setup: &Setup) -> String {
    let mut text = match &setup.settings.file {
        Some(file) => format!("# settings file: {}\n", file.display()),
        None => "# settings file: none\n".to_owned(),
    };
    for (path, assigned) in setup.settings.values() {
        text.push_str(&format!("{path} = {}  # {}\n", as_written(path, &without_passwords(&assigned.text)), assigned.origin));
    }
    let mut providers: Vec<&Arc<Provider>> = setup.providers().collect();
    providers.sort_by_key(|provider| &provider.id);
    for provider in providers {
        let of_provider = |key: &str| format!("providers.{}.{key}", provider.id);
        for (key, value) in in_force(provider) {
            let path = of_provider(key);
            if setup.settings.origin(&path).is_none() {
                text.push_str(&format!("{path} = {}  # definition\n", as_written(&path, &value)));
            }
        }
    }
    for provider in setup.catalog.providers() {
        let key = match setup.key(provider) {
            Ok(Some(key)) => format!("{} characters", key.length()),
            Ok(None) => "not needed".to_owned(),
            Err(error) => error.what,
        };
        text.push_str(&format!("# key of {}: {key}\n", provider.id));
    }
    for file in setup.catalog.shadowed() {
        text.push_str(&format!("# {} stands in front of a shipped definition\n", file.display()));
    }
    text
}

/// What can be set of a provider, as far as it has a value.
fn in_force(provider: &Provider) -> Vec<(&'static str, String)> {
    let Provider { base_url, concurrency, rps, daily_calls, reserve_calls, zone, .. } = provider;
    let rate = rps.per_second().map_or("none".to_owned(), |rate| rate.to_string());
    let mut values = vec![("base_url", base_url.clone()), ("concurrency", concurrency.to_string()), ("rps", rate)];
    values.extend(daily_calls.map(|daily| ("daily_calls", daily.to_string())));
    values.extend([("reserve_calls", reserve_calls.to_string()), ("zone", zone.clone())]);
    values
}

/// A value as a settings file writes it.
fn as_written(path: &str, text: &str) -> String {
    let is_text = Setting::find(path).is_none_or(|setting| setting.kind.is_text());
    // A rate is a number, or a word.
    if is_text || text.parse::<f64>().is_err() && !matches!(text, "true" | "false") {
        format!("{text:?}")
    } else {
        text.to_owned()
    }
}
