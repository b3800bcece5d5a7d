use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::caller::{CallerSettings, ProviderLimits};
use crate::collect::conductor::{Task, Urgency};
use crate::collect::harvest::{Gap, Harvest};
use crate::collect::source::{Past, Source};
use crate::definition::catalog::Catalog;
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::model::rate::Rate;
use crate::model::secret::ServiceKey;
use crate::model::verdict::Verdict;
use crate::plan::selection::{NeedsPerson, Reason, Selected};
use crate::report::exit::Exit;
use crate::report::log::Verbosity;
use crate::report::number::{counted, grouped};
use crate::report::result::{Caps, RunResult};
use crate::report::summary::summary;
use crate::settings::resolved::Settings;
use crate::store::file::StoreFile;
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

use super::announce::announce;
use super::args::CollectArgs;
use super::dry_run::dry_run;
use super::error::CliError;
use super::key_lock::KeyLock;
use super::orders::{Order, chosen, orders};
use super::run::Run;
use super::setup::{Setup, dataset_of, provider_flags};
use super::terminal::{Format, Terminal};

/// Clocks of hosts that share a store differ by less.
const MOST_AHEAD: SignedDuration = SignedDuration::from_hours(1);

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
    let url = setup.store_url()?;
    let keys = keys(&orders, setup)?;
    let caps = caps(&orders);
    announce(&setup.settings, &orders, &url, now, terminal);
    let providers: BTreeMap<&Name, &Provider> = orders.iter().map(|order| (&order.provider.id, &*order.provider)).collect();
    for warning in providers.values().filter_map(|provider| setup.key_file_warning(provider)) {
        terminal.note(&format!("warning: {warning}"));
    }

    let store = setup.open_store(&url, open_mode(args, &setup.settings, &url, terminal).await?).await?;
    if let Some(newest) = store.last_checked().await?.filter(|newest| newest.duration_since(now) > MOST_AHEAD) {
        let what = format!("this machine's clock says {now:.0}, but the store was written at {newest:.0}");
        terminal.note(&format!("warning: {what}: a wrong clock asks for the wrong months"));
    }
    let file = StoreFile::of(&url)?;
    let lock = store.try_lock(&format!("process {}, begun {now:.0}", std::process::id()))?;
    let key_locks = providers
        .values()
        .map(|provider| KeyLock::try_take(provider, keys[&provider.id].as_ref(), setup))
        .collect::<Result<Vec<_>, _>>()?;
    for list in setup.catalog.region_lists() {
        store.declare_regions(list, now).await?;
    }
    let sources = sources(&orders, &keys, setup, &store, now).await?;
    let chosen = chosen(args, &orders, setup, Some(&store), now).await?;
    say_what_is_due(&orders, &chosen.selected, terminal);
    let tasks = chosen.selected.into_iter().map(|item| task(&sources, item));
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let store = Arc::new(store);
    let run = Run {
        lock: &lock,
        command,
        tasks: tasks.collect(),
        known: left_for_a_person(chosen.need_person),
        store: Arc::clone(&store),
        keeping: setup.settings.store.clone(),
        calling: calling(&setup.settings, &orders, args),
        shared_limits: setup.settings.shared_limits,
        caps,
        max_pages: setup.settings.max_pages,
        pages_ahead: setup.settings.pages_ahead,
        max_runtime: args.max_runtime,
        deferred_is_ok: args.deferred_ok,
    };
    let ended = run.execute(terminal).await?;
    // A store that was taken away takes every word back, and no write has failed.
    file.iter().try_for_each(StoreFile::check)?;
    // The file alone is whole then: people copy it.
    Store::close_shared(store).await;
    drop((lock, key_locks));
    Ok(ended)
}

async fn sources(
    orders: &[Order],
    keys: &HashMap<Name, Option<ServiceKey>>,
    setup: &Setup,
    store: &Store,
    now: Timestamp,
) -> Result<HashMap<Name, Arc<Source>>, CliError> {
    let salt = store.salt().await?;
    let mut sources = HashMap::new();
    for Order { dataset, provider, .. } in orders {
        let declared = store.declare(dataset, now).await?;
        let dialect = setup.catalog.dialect(&provider.dialect).expect("checked with the definitions");
        let key = keys[&provider.id].clone();
        let key_id = ServiceKey::id_of(key.as_ref(), &salt);
        let past = if store.has_rows(&dataset.id).await? { Past::HadRows } else { Past::NeverHadRows };
        let source = Source::new(dataset.clone(), provider.clone(), dialect.clone(), key, key_id, declared, past);
        let source = if store.is_shared() { source.planned_on(&store.states(&dataset.id).await?) } else { source };
        sources.insert(dataset.id.clone(), Arc::new(source));
    }
    Ok(sources)
}

fn task(sources: &HashMap<Name, Arc<Source>>, item: Selected<Name>) -> Task {
    let urgency = match item.reason {
        Reason::Recent => Urgency::Recent,
        Reason::Failed | Reason::Held | Reason::Refresh => Urgency::Known,
        Reason::Backfill => Urgency::Backlog,
    };
    Task { source: Arc::clone(&sources[&item.dataset]), partition: item.partition, urgency }
}

/// Partitions that keep failing are not asked in this run, and are told as missing all the same.
fn left_for_a_person(waiting: Vec<NeedsPerson<Name>>) -> Harvest {
    let mut harvest = Harvest::default();
    for NeedsPerson { dataset, partition, verdict, strikes, again_at } in waiting {
        harvest.partitions.planned += 1;
        harvest.add(verdict);
        let why = format!("failed on {strikes} days while others of its dataset came; asked again after {again_at:.0}");
        let hint = Some(format!("see `gapless why {dataset} {partition}`, or ask at once with `--only failed`"));
        let verdict = verdict.as_str();
        harvest.add_gap(Gap { dataset, partition, verdict, page: None, promised: None, received: 0, why, hint });
    }
    harvest
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
    let of = |is_meant: fn(&Gap) -> bool| {
        let gaps = result.gaps.iter().filter(|gap| is_meant(gap));
        gaps.map(|gap| gap.dataset.as_str()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    match exit {
        Exit::Whole if result.partitions.planned == 0 => vec!["gapless status".to_owned()],
        Exit::Whole if result.gaps_total > 0 => vec!["the same command again later: what is whole is not asked again".to_owned()],
        Exit::Whole => vec!["query the store: each dataset is a view, `coverage` says what is whole".to_owned()],
        Exit::Incomplete => {
            let (held, failed) = (of(is_held), of(has_failed));
            let look =
                format!("gapless accept --run {} publishes all that is held; first look at each as its hint says", result.run);
            let again = format!("gapless collect {failed} --only failed, with the same months and regions");
            let left = result.partitions.deferred + result.partitions.skipped;
            let rest = format!("the same command again: {} deferred or not begun", counted(left, "partition"));
            [(!held.is_empty(), look), (!failed.is_empty(), again), (left > 0, rest)]
                .into_iter()
                .filter(|(has, _)| *has)
                .map(|(_, next)| next)
                .collect()
        }
        Exit::Deferred => vec![format!("the same command again later: what is whole is not asked again ({})", of(|_| true))],
        Exit::Refused => vec!["check that the key is applied for these datasets, then run the same command again".to_owned()],
        Exit::Interrupted | Exit::Terminated => vec!["the same command again: it takes up what is missing".to_owned()],
        Exit::Store | Exit::LocalResource | Exit::OwnFault | Exit::Locked | Exit::Usage => Vec::new(),
    }
}

/// Held ones wait for a person; asking again does not help them.
fn is_held(gap: &Gap) -> bool {
    gap.verdict == Verdict::Held.as_str()
}

/// Those that `--only failed` asks again.
fn has_failed(gap: &Gap) -> bool {
    [Verdict::Failed, Verdict::Short, Verdict::Lost].iter().any(|verdict| gap.verdict == verdict.as_str())
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

fn keys(orders: &[Order], setup: &Setup) -> Result<HashMap<Name, Option<ServiceKey>>, CliError> {
    let mut keys = HashMap::new();
    for Order { provider, .. } in orders {
        if !keys.contains_key(&provider.id) {
            keys.insert(provider.id.clone(), setup.key(provider)?);
        }
    }
    Ok(keys)
}

fn calling(settings: &Settings, orders: &[Order], args: &CollectArgs) -> CallerSettings {
    let providers: HashMap<&Name, &Provider> = orders.iter().map(|order| (&order.provider.id, &*order.provider)).collect();
    CallerSettings {
        providers: providers.into_values().map(ProviderLimits::of).collect(),
        http: settings.http.clone(),
        retry: settings.retry.clone(),
        breakers: settings.breakers.clone(),
        max_calls: args.max_calls,
        max_runtime: args.max_runtime,
    }
}

/// Whether the store may be made. A missing one is refused off a terminal, so that a wrong folder cannot start from nothing.
async fn open_mode(args: &CollectArgs, settings: &Settings, url: &StoreUrl, terminal: &Terminal) -> Result<OpenMode, CliError> {
    if Store::exists(url).await? {
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

/// The limits of all providers of the run together.
fn caps(orders: &[Order]) -> Caps {
    let providers: HashMap<&Name, &Provider> = orders.iter().map(|order| (&order.provider.id, &*order.provider)).collect();
    let rates: Option<Vec<f64>> = providers.values().map(|provider| provider.rps.per_second()).collect();
    Caps {
        rate: rates.map_or(Rate::Unlimited, |rates| Rate::PerSecond(rates.iter().sum())),
        concurrency: providers.values().map(|provider| provider.concurrency).sum(),
    }
}
