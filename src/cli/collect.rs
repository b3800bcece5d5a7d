use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use crate::caller::{CallerSettings, ProviderLimits};
use crate::collect::conductor::Task;
use crate::collect::source::Source;
use crate::definition::catalog::Catalog;
use crate::definition::dataset::Dataset;
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::model::rate::Rate;
use crate::model::secret::ServiceKey;
use crate::plan::cost::{Cost, Limits, cost};
use crate::plan::selection::{Reason, Selected, Standing, order, select};
use crate::plan::target::{Target, Wish, target};
use crate::report::exit::Exit;
use crate::report::log::Verbosity;
use crate::report::number::{counted, duration, grouped};
use crate::report::result::{Caps, RunResult};
use crate::report::summary::summary;
use crate::settings::layer::read_file;
use crate::settings::resolved::Settings;
use crate::store::state::PartitionState;
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

use super::args::CollectArgs;
use super::error::CliError;
use super::run::Run;
use super::setup::{Setup, current_month, dataset_of, provider_flags};
use super::terminal::{Format, Terminal};

/// One dataset of the run: what is asked of whom.
struct Order {
    dataset: Arc<Dataset>,
    provider: Arc<Provider>,
    target: Target,
}

pub async fn run(args: &CollectArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |catalog| flags(args, catalog))?;
    terminal.start_log(setup.settings.log_format);
    if args.dry_run {
        return dry_run(args, &setup, terminal).await;
    }
    let (result, exit) = collect(args, &setup, terminal).await?;
    tell(&result, exit, args.format, terminal)
}

/// Collects what is due, from opening the store to ending the run.
pub async fn collect(args: &CollectArgs, setup: &Setup, terminal: &Terminal) -> Result<(RunResult, Exit), CliError> {
    let now = Timestamp::now();
    let orders = orders(args, setup, now)?;
    let url = store_url(setup)?;
    let keys = keys(&orders, setup)?;
    let caps = caps(&orders);
    announce(&setup.settings, &orders, &url, terminal);

    let store = Store::open(&url, open_mode(args, &setup.settings, &url, terminal)?).await?;
    let lock = store.try_lock(&format!("process {}, begun {now:.0}", std::process::id()))?;
    for list in setup.catalog.region_lists() {
        store.declare_regions(list).await?;
    }
    let mut sources = HashMap::new();
    for order in &orders {
        let declared = store.declare(&order.dataset, now).await?;
        let dialect = setup.catalog.dialect(&order.provider.dialect).expect("checked with the definitions");
        let key = keys[&order.provider.id].clone();
        let source = Source::new(order.dataset.clone(), order.provider.clone(), dialect.clone(), key, declared);
        sources.insert(order.dataset.id.clone(), Arc::new(source));
    }
    let selected = selected(args, &orders, Some(&store), now).await?;
    say_what_is_due(&orders, &selected, terminal);
    let tasks = selected.into_iter().map(|item| Task { source: sources[&item.dataset].clone(), partition: item.partition });
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let run = Run {
        id: store.begin_run(&lock, &command, env!("CARGO_PKG_VERSION"), now).await?,
        tasks: tasks.collect(),
        store: Arc::new(store),
        keeping: setup.settings.store.clone(),
        calling: calling(&setup.settings, &orders, args.max_calls),
        caps,
        max_pages: setup.settings.max_pages,
        max_runtime: args.max_runtime,
    };
    let ended = run.execute(terminal).await;
    drop(lock);
    ended
}

/// Prints the result of a run.
pub fn tell(result: &RunResult, exit: Exit, format: Format, terminal: &Terminal) -> Result<Exit, CliError> {
    let text = match format {
        Format::Json => serde_json::to_string(result).expect("a result is plain data") + "\n",
        Format::Text if terminal.verbosity == Verbosity::Quiet && exit == Exit::Whole => String::new(),
        Format::Text => summary(result, exit, &next_commands(result, exit)),
    };
    terminal.print(&text)?;
    Ok(exit)
}

fn next_commands(result: &RunResult, exit: Exit) -> Vec<String> {
    let datasets: BTreeSet<&str> = result.gaps.iter().map(|gap| gap.dataset.as_str()).collect();
    let datasets = datasets.into_iter().collect::<Vec<_>>().join(" ");
    match exit {
        Exit::Whole => vec!["query the store: each dataset is a view, `coverage` says what is whole".to_owned()],
        Exit::Incomplete => vec![format!("gapless collect {datasets} --only failed, with the same months and regions")],
        Exit::Deferred => vec![format!("the same command again later: what is whole is not asked again ({datasets})")],
        Exit::Refused => vec!["check that the key is applied for these datasets, then run the same command again".to_owned()],
        Exit::Interrupted | Exit::Terminated => vec!["the same command again: it takes up what is missing".to_owned()],
        Exit::Store | Exit::LocalResource | Exit::OwnFault | Exit::Locked | Exit::Usage => Vec::new(),
    }
}

fn flags(args: &CollectArgs, catalog: &Catalog) -> Result<Vec<(String, String, String)>, CliError> {
    let mut flags = Vec::new();
    if let Some(store) = &args.store {
        flags.push(("store.url".to_owned(), store.clone(), "--store".to_owned()));
    }
    if args.rps.is_empty() && args.concurrency.is_empty() {
        return Ok(flags);
    }
    let mut providers: BTreeSet<&Name> = BTreeSet::new();
    for name in &args.datasets {
        providers.insert(&dataset_of(catalog, name)?.provider);
    }
    if args.datasets.is_empty() {
        providers.extend(catalog.datasets().map(|dataset| &dataset.provider));
    }
    flags.extend(provider_flags(&args.rps, "--rps", "rps", &providers)?);
    flags.extend(provider_flags(&args.concurrency, "--concurrency", "concurrency", &providers)?);
    Ok(flags)
}

/// What each dataset is asked for: its target in the settings, narrowed by the flags.
fn orders(args: &CollectArgs, setup: &Setup, now: Timestamp) -> Result<Vec<Order>, CliError> {
    let names: Vec<&String> = match args.datasets.as_slice() {
        [] => setup.settings.targets.keys().collect(),
        named => named.iter().collect(),
    };
    if names.is_empty() {
        return Err(CliError::usage("no dataset is named, and the settings have no target such as `[collect.apt_trade]`")
            .with_hint(
                "name one, as in `gapless collect apt_trade --months last:3 --regions all`; see `gapless datasets list`",
            ));
    }
    let mut orders: Vec<Order> = Vec::new();
    for name in names {
        let dataset = setup.dataset(name)?;
        if orders.iter().any(|order| order.dataset.id == dataset.id) {
            continue;
        }
        let provider = setup.provider_of(dataset);
        let wish = wish(args, dataset, &setup.settings)?;
        let read = |file: &str| read_file(Path::new(file)).map_err(std::io::Error::other);
        let target = target(dataset, &wish, &setup.catalog, current_month(provider, now), &read)
            .map_err(|error| CliError::usage(format!("{}: {error}", dataset.id)))?;
        orders.push(Order { dataset: Arc::clone(dataset), provider: Arc::clone(provider), target });
    }
    Ok(orders)
}

fn wish(args: &CollectArgs, dataset: &Dataset, settings: &Settings) -> Result<Wish, CliError> {
    let target = settings.targets.get(dataset.id.as_str()).cloned().unwrap_or_default();
    let mut axes = std::collections::BTreeMap::new();
    for axis in &args.axes {
        let (name, values) = axis
            .split_once('=')
            .filter(|(name, values)| !name.is_empty() && !values.is_empty())
            .ok_or_else(|| CliError::usage(format!("--axis {axis} is not written as NAME=V1,V2")))?;
        axes.insert(name.to_owned(), values.to_owned());
    }
    Ok(Wish {
        months: args.months.clone().or(target.months),
        regions: args.regions.clone().or(target.regions),
        axes,
        partitions: args.partitions.clone(),
    })
}

fn keys(orders: &[Order], setup: &Setup) -> Result<HashMap<Name, Option<ServiceKey>>, CliError> {
    let mut keys = HashMap::new();
    for Order { provider, .. } in orders {
        if !keys.contains_key(&provider.id) {
            keys.insert(provider.id.clone(), setup.key(provider)?);
        }
    }
    Ok(keys)
}

/// The limits of all providers of the run together.
fn caps(orders: &[Order]) -> Caps {
    let providers: HashMap<&Name, &Provider> = orders.iter().map(|order| (&order.provider.id, &*order.provider)).collect();
    let rates: Option<Vec<f64>> = providers.values().map(|provider| provider.rps.per_second()).collect();
    Caps {
        rate: rates.map_or(Rate::Unlimited, |rates| Rate::PerSecond(rates.iter().sum())),
        concurrency: providers.values().map(|provider| provider.concurrency).sum(),
    }
}

fn calling(settings: &Settings, orders: &[Order], max_calls: Option<u64>) -> CallerSettings {
    let providers: HashMap<&Name, &Provider> = orders.iter().map(|order| (&order.provider.id, &*order.provider)).collect();
    CallerSettings {
        providers: providers.into_values().map(ProviderLimits::of).collect(),
        http: settings.http.clone(),
        retry: settings.retry.clone(),
        max_calls,
    }
}

/// States the limits in force and where each came from, before anything is asked.
fn announce(settings: &Settings, orders: &[Order], url: &StoreUrl, terminal: &Terminal) {
    let file =
        settings.file.as_ref().map_or("defaults, no settings file".to_owned(), |file| format!("settings {}", file.display()));
    terminal.note(&format!("gapless {}: {file}, store {url}", env!("CARGO_PKG_VERSION")));
    let mut said = BTreeSet::new();
    for Order { provider, .. } in orders {
        if !said.insert(&provider.id) {
            continue;
        }
        let origin = |key: &str| settings.origin(&format!("providers.{}.{key}", provider.id)).unwrap_or("definition").to_owned();
        let waits = settings.retry.waits().into_iter().map(duration).collect::<Vec<_>>().join(", ");
        terminal.note(&format!(
            "{}: {} in flight ({}), {} ({}), {} retries after {} ({})",
            provider.id,
            provider.concurrency,
            origin("concurrency"),
            provider.rps,
            origin("rps"),
            settings.retry.max_retries,
            if waits.is_empty() { "nothing" } else { &waits },
            settings.origin("retry.max_retries").unwrap_or("default"),
        ));
        if let (Some(rate), Some(documented)) = (provider.rps.per_second(), provider.documented_rps)
            && rate > documented
        {
            let what =
                format!("{}: {rate} calls a second are more than the documented {documented}; expect refusals", provider.id);
            terminal.note(&format!("warning: {what}"));
        }
    }
}

/// Whether the store may be made. A missing one is refused off a terminal, so that a wrong folder cannot start from nothing.
fn open_mode(args: &CollectArgs, settings: &Settings, url: &StoreUrl, terminal: &Terminal) -> Result<OpenMode, CliError> {
    if url.path().exists() {
        return Ok(OpenMode::OpenExisting);
    }
    if args.create || args.store.is_some() || terminal.is_interactive {
        terminal.note(&format!("making the store {url}"));
        return Ok(OpenMode::Create);
    }
    let origin = settings.origin("store.url").unwrap_or("default");
    Err(CliError { exit: Exit::Store, what: format!("there is no store at {url} (from {origin})"), hint: None }
        .with_hint("if this is the right place, run once with `--create`, or name the store with `--store URL`"))
}

async fn selected(
    args: &CollectArgs,
    orders: &[Order],
    store: Option<&Store>,
    now: Timestamp,
) -> Result<Vec<Selected<Name>>, CliError> {
    let mut all = Vec::new();
    for Order { dataset, provider, target } in orders {
        let states = match store {
            Some(store) => store.states(&dataset.id).await?,
            None => Vec::new(),
        };
        let standings = states.into_iter().map(standing).collect();
        all.extend(select(&dataset.id, &target.partitions, &standings, args.only, current_month(provider, now)));
    }
    order(&mut all);
    Ok(all)
}

fn standing(state: PartitionState) -> (String, Standing) {
    let standing = Standing {
        is_published: state.published.is_some(),
        last_verdict: state.last.map(|last| last.verdict),
        pages: state.published.map(|snapshot| u32::try_from(snapshot.pages).unwrap_or(u32::MAX)),
    };
    (state.key, standing)
}

fn say_what_is_due(orders: &[Order], selected: &[Selected<Name>], terminal: &Terminal) {
    for Order { dataset, target, .. } in orders {
        for note in &target.notes {
            terminal.note(note);
        }
        let wanted = counted(target.partitions.len() as u64, "partition");
        let due = selected.iter().filter(|item| item.dataset == dataset.id).count() as u64;
        terminal.note(&format!("{}: {wanted} wanted, {} to ask for", dataset.id, grouped(due)));
    }
}

fn store_url(setup: &Setup) -> Result<StoreUrl, CliError> {
    setup.settings.store.url.parse().map_err(|error| CliError::usage(format!("{error}")))
}

async fn dry_run(args: &CollectArgs, setup: &Setup, terminal: &Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let orders = orders(args, setup, now)?;
    let url = store_url(setup)?;
    let store = match url.path().exists() {
        true => Some(Store::open(&url, OpenMode::ReadOnly).await?),
        false => None,
    };
    let selected = selected(args, &orders, store.as_ref(), now).await?;
    let limits: HashMap<&Name, Limits> = orders
        .iter()
        .map(|order| (&order.dataset.id, Limits { rate: order.provider.rps, daily_calls: order.provider.daily_calls }))
        .collect();
    let cost = cost(&selected, |dataset| limits[dataset]);
    for note in orders.iter().flat_map(|order| &order.target.notes) {
        terminal.note(note);
    }
    terminal.print(&match args.format {
        Format::Json => format!("{}\n", json!({ "plan": cost })),
        Format::Text => plan_text(&cost),
    })
}

fn plan_text(cost: &Cost) -> String {
    let reasons: Vec<String> =
        cost.by_reason.iter().map(|(reason, count)| format!("{} {}", grouped(*count), in_words(*reason))).collect();
    let reasons = if reasons.is_empty() { "nothing is due".to_owned() } else { reasons.join(", ") };
    let mut text = format!("{}: {reasons}\n", counted(cost.partitions, "partition"));
    let time = cost.seconds.map_or("no limit on the rate".to_owned(), |seconds| {
        format!("at least {} at the cap", duration(std::time::Duration::from_secs_f64(seconds)))
    });
    text.push_str(&format!("{} expected, {time}\n", counted(cost.calls, "call")));
    if let Some(share) = cost.quota_share {
        text.push_str(&format!("{:.1} % of the daily quota, {}\n", share * 100.0, counted(cost.nights, "night")));
    }
    text.push_str("nothing was called or written\n");
    text
}

fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Recent => "missing of recent months",
        Reason::Failed => "failed before",
        Reason::Refresh => "whole, asked for again",
        Reason::Backfill => "missing of older months",
    }
}
