use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::definition::dataset::{AxisKind, Dataset};
use crate::model::breaker::BreakerState;
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::plan::barren::is_barren;
use crate::plan::condition::{Condition, condition};
use crate::plan::selection::Standing;
use crate::report::exit::Exit;
use crate::report::number::{counted, grouped};
use crate::report::table::aligned;
use crate::store::state::{self, ApiState, BreakerChange, PartitionState, ReformProgress, RegionYield};
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

use super::args::StatusArgs;
use super::error::CliError;
use super::orders::{standing, target_of};
use super::setup::Setup;
use super::terminal::{Format, Terminal};

/// How one dataset stands.
struct Line {
    dataset: Name,
    /// Whether the settings say what it is meant to have; else what was ever asked for counts.
    has_target: bool,
    condition: Condition,
    /// How partitions stand that were asked for and are not wanted any more.
    outside: Condition,
    rows: u64,
    apis: Vec<ApiState>,
    /// Breakers that are not closed.
    breakers: Vec<BreakerChange>,
    daily_calls: Option<u64>,
    /// Regions without a row in many whole partitions, as told to the user.
    barren: Vec<String>,
    reforms: Vec<ReformProgress>,
}

pub async fn run(args: &StatusArgs, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    let url = setup.store_url()?;
    let store = Store::open(&url, OpenMode::ReadOnly).await?;
    store.refuse_half_copied().await?;
    let (lines, bytes) = (lines(&setup, &store, now).await?, store.bytes().await?);
    let defined = |name: &String| setup.catalog.dataset(name).is_some();
    let undefined: Vec<String> = store.datasets().await?.into_iter().filter(|name| !defined(name)).collect();
    store.close().await;
    let late: Vec<&Line> = lines.iter().filter(|line| is_late(line, args.fail_if_older, now)).collect();
    // A store that holds nothing is as old as can be: whoever watches it must hear of it.
    let never = lines.is_empty() && args.fail_if_older.is_some();
    let is_incomplete = args.fail_if_incomplete && (lines.is_empty() || lines.iter().any(is_incomplete));
    let exit = if late.is_empty() && !never && !is_incomplete { Exit::Whole } else { Exit::Incomplete };
    let text = match args.format {
        Format::Json => {
            let datasets: Vec<Value> = lines.iter().map(as_json).collect();
            let told = json!({"exit_code": exit.code(), "store": url.to_string(), "store_bytes": bytes, "datasets": datasets,
                "undefined": undefined});
            format!("{told}\n")
        }
        Format::Text => as_text(&lines, &late, &undefined, &url, bytes, now),
    };
    terminal.print(&text)?;
    Ok(exit)
}

async fn lines(setup: &Setup, store: &Store, now: Timestamp) -> Result<Vec<Line>, CliError> {
    let yields = store.yields().await?;
    let (apis, reforms) = (store.api_states().await?, store.reform_progress().await?);
    let breakers = store.breakers().await?;
    let mut lines = Vec::new();
    for dataset in setup.catalog.datasets() {
        let has_target = setup.settings.targets.contains_key(dataset.id.as_str());
        let states = store.states(&dataset.id).await?;
        if !has_target && states.is_empty() {
            continue;
        }
        let rows = states.iter().map(visible_rows).sum();
        let standings: HashMap<String, Standing> = states.into_iter().map(standing).collect();
        let wanted = match has_target {
            true => target_of(dataset, setup, now)?.partitions,
            false => asked_for(dataset, &standings),
        };
        lines.push(Line {
            dataset: dataset.id.clone(),
            has_target,
            condition: condition(&wanted, &standings),
            outside: condition(&outside(dataset, &wanted, &standings), &standings),
            rows,
            apis: apis.iter().filter(|api| api.dataset == dataset.id).cloned().collect(),
            breakers: breakers.iter().filter(|breaker| is_in_trouble(breaker, &dataset.id)).cloned().collect(),
            daily_calls: setup.provider_of(dataset).daily_calls,
            barren: barren_regions(dataset, setup, &yields),
            reforms: reforms.iter().filter(|reform| reform.dataset == dataset.id.as_str()).cloned().collect(),
        });
    }
    Ok(lines)
}

fn barren_regions(dataset: &Dataset, setup: &Setup, yields: &[RegionYield]) -> Vec<String> {
    let list = dataset.axis(AxisKind::Region).and_then(|axis| axis.list.as_ref()).and_then(|list| setup.catalog.regions(list));
    let Some(list) = list else { return Vec::new() };
    let barren = yields.iter().filter(|region| region.dataset == dataset.id && is_barren(region.partitions, region.rows));
    let told = |RegionYield { region: code, partitions, .. }: &RegionYield| {
        let name = list.get(code).map_or(String::new(), |region| format!(" ({})", region.names.join(" ")));
        let day = list.as_of.as_deref().map_or(String::new(), |day| format!("; its list is of {day}"));
        let partitions = counted(*partitions, "whole partition");
        format!("region {code}{name} has no row in {partitions}: is the code retired, or wrong{day}?")
    };
    barren.map(told).collect()
}

fn visible_rows(state: &PartitionState) -> u64 {
    let visible = state.published.as_ref().filter(|snapshot| snapshot.standing == state::Standing::Visible);
    visible.map_or(0, |snapshot| snapshot.rows)
}

fn asked_for(dataset: &Dataset, standings: &HashMap<String, Standing>) -> Vec<Partition> {
    let axes = dataset.axis_names();
    standings.keys().filter_map(|key| Partition::parse(key, &axes).ok()).collect()
}

fn outside(dataset: &Dataset, wanted: &[Partition], standings: &HashMap<String, Standing>) -> Vec<Partition> {
    let wanted: HashSet<String> = wanted.iter().map(Partition::key).collect();
    let axes = dataset.axis_names();
    let others = standings.keys().filter(|key| !wanted.contains(*key));
    others.filter_map(|key| Partition::parse(key, &axes).ok()).collect()
}

fn is_incomplete(line: &Line) -> bool {
    line.condition.whole < line.condition.wanted || line.outside.needs_you > 0
}

fn is_late(line: &Line, limit: Option<Duration>, now: Timestamp) -> bool {
    let is_older =
        |limit: Duration| line.condition.newest_check.is_none_or(|newest| now.duration_since(newest).unsigned_abs() > limit);
    limit.is_some_and(is_older)
}

fn as_text(lines: &[Line], late: &[&Line], undefined: &[String], url: &StoreUrl, bytes: u64, now: Timestamp) -> String {
    let mut text = format!("store {url}, {} MB\n", grouped(bytes.div_ceil(1_000_000)));
    if lines.is_empty() {
        text.push_str("nothing was collected yet\nnext: gapless collect apt_trade --months last:3 --regions all --dry-run\n");
        return text;
    }
    let header = ["dataset", "wanted", "whole", "waiting", "gap", "needs you", "rows", "oldest check", "newest check"];
    let mut table = vec![header.map(str::to_owned)];
    let moment = |time: Option<Timestamp>| time.map_or("-".to_owned(), |time| format!("{time:.0}"));
    for line in lines {
        let Condition { wanted, whole, waiting, gap, needs_you, oldest_check, newest_check } = line.condition;
        let [wanted, whole, waiting, gap, needs_you, rows] = [wanted, whole, waiting, gap, needs_you, line.rows].map(grouped);
        let dataset = line.dataset.to_string();
        table.push([dataset, wanted, whole, waiting, gap, needs_you, rows, moment(oldest_check), moment(newest_check)]);
    }
    text.push_str(&aligned(&table));
    for line in lines {
        text.push_str(&outside_text(line));
        text.push_str(&quota_text(line, now));
        text.extend(line.breakers.iter().map(|breaker| breaker_text(breaker, now)));
        text.extend(line.barren.iter().map(|told| format!("{}: {told}\n", line.dataset)));
        text.extend(line.reforms.iter().map(reform_text));
    }
    let untargeted: Vec<&str> = lines.iter().filter(|line| !line.has_target).map(|line| line.dataset.as_str()).collect();
    if !untargeted.is_empty() {
        text.push_str(&format!("no target in the settings, so what was asked for counts as wanted: {}\n", untargeted.join(", ")));
    }
    for name in undefined {
        text.push_str(&format!("{name}: rows of it are in the store, and no definition of it is there any more\n"));
    }
    for line in late {
        text.push_str(&format!("{} is too old: last checked {}\n", line.dataset, moment(line.condition.newest_check)));
    }
    text.push_str(&format!("next: {}\n", next(lines)));
    text
}

fn outside_text(line: &Line) -> String {
    let Condition { wanted, gap, needs_you, .. } = line.outside;
    if wanted == 0 {
        return String::new();
    }
    let told = [(gap, "with a gap"), (needs_you, "waiting for you")].into_iter().filter(|(count, _)| *count > 0);
    let told: String = told.map(|(count, what)| format!(", {} {what}", grouped(count))).collect();
    format!("{}: {} outside its target{told}\n", line.dataset, counted(wanted, "partition"))
}

fn quota_text(line: &Line, now: Timestamp) -> String {
    let mut text = String::new();
    for api in &line.apis {
        let limit = line.daily_calls.map_or(String::new(), |limit| format!(" of {}", grouped(limit)));
        let day = api.day.map_or(String::new(), |day| format!(" on {day}"));
        // The count of one key says nothing of another's.
        let key = if line.apis.len() > 1 { format!(" with key {}", shortened(&api.key_id)) } else { String::new() };
        text.push_str(&format!("{}: {}{limit} used{day}{key}", line.dataset, counted(api.calls, "call")));
        if let Some(until) = state::to_come(api.blocked_until, now) {
            let why = api.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            text.push_str(&format!(", left alone until {until:.0}{why}"));
        }
        text.push('\n');
    }
    text
}

/// Enough of a digest to tell keys apart.
fn shortened(key_id: &str) -> &str {
    key_id.get(..8).unwrap_or(key_id)
}

fn is_in_trouble(breaker: &BreakerChange, dataset: &Name) -> bool {
    breaker.dataset == *dataset && breaker.state != BreakerState::Closed
}

fn breaker_text(breaker: &BreakerChange, now: Timestamp) -> String {
    let BreakerChange { dataset, changed_at, open_until, why, .. } = breaker;
    let then = match state::to_come(*open_until, now) {
        Some(until) => format!("not asked before {until:.0}"),
        None => "the next run begins with a few calls".to_owned(),
    };
    format!("{dataset}: its server was in trouble at {changed_at:.0}, {then}: {why}\n")
}

fn reform_text(reform: &ReformProgress) -> String {
    let ReformProgress { dataset, retired, successors, replaced, visible, awaited } = reform;
    let waiting = match awaited.first() {
        Some(first) => format!("; {} to be read first, {first} for one", counted(awaited.len() as u64, "partition")),
        None => String::new(),
    };
    format!(
        "{dataset}: district reform {} → {}: {} of {} replaced{waiting}\n",
        retired.join(", "),
        successors.join(", "),
        grouped(*replaced),
        counted(replaced + visible, "old partition"),
    )
}

fn next(lines: &[Line]) -> String {
    let with = |has: fn(&Condition) -> bool| lines.iter().find(|line| has(&line.condition));
    let with_or_outside = |has: fn(&Condition) -> bool| lines.iter().find(|line| has(&line.condition) || has(&line.outside));
    // Without a target a run has to be told again what it is about.
    let as_before = |line: &Line| if line.has_target { "" } else { ", with the same months and regions" };
    if let Some(Line { dataset, .. }) = with_or_outside(|condition| condition.needs_you > 0) {
        return format!(
            "select partition, verdict, why from coverage where dataset = '{dataset}' and verdict in ('held', 'failed', 'short'); \
             then `gapless why {dataset} PARTITION`"
        );
    }
    if let Some(line) = with(|condition| condition.gap > 0) {
        return format!("gapless collect {} --only failed{}", line.dataset, as_before(line));
    }
    match with(|condition| condition.waiting > 0) {
        Some(line) => format!("gapless collect {}{}", line.dataset, as_before(line)),
        None => "everything wanted is whole".to_owned(),
    }
}

fn as_json(line: &Line) -> Value {
    let apis: Vec<Value> = line
        .apis
        .iter()
        .map(|api| {
            json!({
                "key_id": api.key_id, "day": api.day.map(|day| day.to_string()), "calls": api.calls, "daily_calls": line.daily_calls,
                "blocked_until": api.blocked_until.map(|until| until.to_string()), "why": api.why,
            })
        })
        .collect();
    let Condition { wanted, whole, waiting, gap, needs_you, oldest_check, newest_check } = line.condition;
    json!({
        "dataset": line.dataset, "has_target": line.has_target, "rows": line.rows, "quota": apis,
        "breakers": line.breakers.iter().map(breaker_json).collect::<Vec<_>>(),
        "partitions": {"wanted": wanted, "whole": whole, "waiting": waiting, "gap": gap, "needs_you": needs_you},
        "outside_target": {
            "partitions": line.outside.wanted, "gap": line.outside.gap, "needs_you": line.outside.needs_you,
        },
        "barren": line.barren, "reforms": line.reforms.iter().map(reform_json).collect::<Vec<_>>(),
        "oldest_check": oldest_check.map(|at| at.to_string()), "newest_check": newest_check.map(|at| at.to_string()),
    })
}

fn breaker_json(breaker: &BreakerChange) -> Value {
    json!({
        "state": breaker.state.as_str(), "changed_at": breaker.changed_at.to_string(),
        "open_until": breaker.open_until.map(|until| until.to_string()), "openings": breaker.openings, "why": breaker.why,
    })
}

fn reform_json(reform: &ReformProgress) -> Value {
    json!({
        "retired": reform.retired, "successors": reform.successors, "replaced": reform.replaced, "visible": reform.visible,
        "awaited": reform.awaited,
    })
}
