//! What grows with the number of partitions, and how much: the plan, `gapless status`, a run, and a look at the view.
//!
//! Ledgers are written straight into the file, with a past of four nights; the program and its queries then read them as
//! any other. A run collects partitions of one page of one row, so that there are as many jobs as can be for what they
//! bring. Printed are times and memory, and of each how many times the one before; nothing is asserted.
//!
//! `GAPLESS_BENCH_QUICK=1 cargo bench --bench scale` leaves out the largest of each.

mod ledger;
#[path = "../collect/measure.rs"]
mod measure;
mod place;

use std::collections::HashMap;
use std::error::Error;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use gapless::model::month::Month;
use gapless::model::name::Name;
use gapless::plan::selection::{Circumstances, Only, Standing, order, select};
use gapless::sandbox::{Portal, Scenario, Spread};
use gapless::settings::resolved::Settings;
use gapless::store::state::PartitionState;
use gapless::store::{OpenMode, Store};
use tokio::runtime::Runtime;

use self::ledger::Ledger;
use self::measure::Usage;
use self::place::Place;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Months of all 256 districts: 2,048, 20,480 and 204,800 partitions.
const MONTHS: [usize; 3] = [8, 80, 800];
/// Months of the view: 1,024,000 and 10,240,000 rows.
const VIEW_MONTHS: [usize; 2] = [8, 80];
const VIEW_ROWS: usize = 500;
const DATASET: &str = "apt_trade";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["measure", program, arguments @ ..] = words.as_slice() {
        return measure::here(program, arguments);
    }
    let largest = if std::env::var_os("GAPLESS_BENCH_QUICK").is_some() { 1 } else { 0 };
    let runtime = Runtime::new()?;
    reading(&MONTHS[..MONTHS.len() - largest], &runtime)?;
    looking(&VIEW_MONTHS[..VIEW_MONTHS.len() - largest], &runtime)?;
    running(&MONTHS[..MONTHS.len() - largest], &runtime)
}

/// The plan and `status`, over ledgers of several sizes.
fn reading(sizes: &[usize], runtime: &Runtime) -> Outcome<()> {
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>10}   of the one before",
        "partitions", "states ms", "select ms", "status ms", "peak MB"
    );
    let mut before: Option<[f64; 4]> = None;
    for &months in sizes {
        let ledger = Ledger::new(months, 0, runtime)?;
        let (states, states_ms) = best_of_3(|| runtime.block_on(states(&ledger)))?;
        let (_, select_ms) = best_of_3(|| Ok(selected(&states, &ledger)))?;
        let usages = (0..3).map(|_| measure::run(&ledger.place.program(&["status"]))).collect::<Outcome<Vec<Usage>>>()?;
        let status = Usage::median(&usages);
        let figures = [states_ms, select_ms, status.wall * 1e3, status.peak_mb];
        print!("{:>10}", ledger.partitions.len());
        figures.iter().for_each(|figure| print!(" {figure:>10.1}"));
        println!("   {}", ratios(before.as_ref(), &figures));
        before = Some(figures);
    }
    Ok(())
}

/// A whole run from nothing. Its memory must follow from what is in flight, not from how much there is to collect.
fn running(sizes: &[usize], runtime: &Runtime) -> Outcome<()> {
    println!("\n{:>10} {:>10} {:>10} {:>10}   of the one before", "jobs", "wall s", "jobs/s", "peak MB");
    let mut before: Option<[f64; 3]> = None;
    for &months in sizes {
        let scenario = Scenario { rows: Spread::Fixed(1), ..Scenario::default() };
        let portal = runtime.block_on(Portal::start(scenario, (Ipv4Addr::LOCALHOST, 0).into()))?;
        let place = Place::new(months, &portal.base_url())?;
        let usage = measure::run(&place.program(&["collect", "--create", "-q"]))?;
        let jobs = portal.requests().len();
        let figures = [usage.wall, jobs as f64 / usage.wall, usage.peak_mb];
        println!(
            "{jobs:>10} {:>10.1} {:>10.0} {:>10.1}   {}",
            figures[0],
            figures[1],
            figures[2],
            ratios(before.as_ref(), &figures)
        );
        before = Some(figures);
    }
    Ok(())
}

/// One partition asked of the view by its axes.
fn looking(sizes: &[usize], runtime: &Runtime) -> Outcome<()> {
    println!("\n{:>10} {:>10} {:>10} {:>10}   of the one before", "view rows", "found", "first ms", "best ms");
    let mut before: Option<[f64; 2]> = None;
    for &months in sizes {
        let ledger = Ledger::new(months, VIEW_ROWS, runtime)?;
        let rows = ledger.partitions.len() * VIEW_ROWS;
        let (found, first_ms) = timed(|| runtime.block_on(looked_up(&ledger)))?;
        let (_, best_ms) = best_of_3(|| runtime.block_on(looked_up(&ledger)))?;
        let figures = [first_ms, best_ms];
        println!("{rows:>10} {found:>10} {first_ms:>10.2} {best_ms:>10.2}   {}", ratios(before.as_ref(), &figures));
        before = Some(figures);
    }
    Ok(())
}

async fn states(ledger: &Ledger) -> Outcome<Vec<PartitionState>> {
    let store = Store::open(&ledger.place.url(), OpenMode::ReadOnly).await?;
    Ok(store.states(&Name::literal(DATASET)).await?)
}

/// What `collect` makes of the states: what is due, in the order of the work.
fn selected(states: &[PartitionState], ledger: &Ledger) -> usize {
    let standings: HashMap<String, Standing> = states.iter().map(|state| (state.key.clone(), standing(state))).collect();
    let circumstances = Circumstances {
        only: Only::Due,
        refresh: Settings::defaults().refresh,
        now: ledger::NOW.parse().expect("it is an instant"),
        month: Month::new(2026, 11).expect("it is a month"),
    };
    let mut selected = select(&(), &ledger.partitions, &standings, circumstances).selected;
    order(&mut selected);
    selected.len()
}

fn standing(state: &PartitionState) -> Standing {
    Standing {
        is_published: state.published.is_some(),
        last_verdict: state.last.as_ref().map(|last| last.verdict),
        last_ended: state.last.as_ref().map(|last| last.ended_at),
        checked_at: state.checked_at,
        strikes: state.strikes,
        pages: state.published.as_ref().and_then(|snapshot| u32::try_from(snapshot.pages).ok()),
    }
}

async fn looked_up(ledger: &Ledger) -> Outcome<u64> {
    let store = Store::open(&ledger.place.url(), OpenMode::ReadOnly).await?;
    let mut rows = 0;
    let partition = &ledger.partitions[ledger.partitions.len() / 3];
    let (region, month) = (partition.value("region").ok_or("no region")?, partition.value("month").ok_or("no month")?);
    let sql = format!("select * from {DATASET} where region = '{region}' and month = '{month}'");
    store.select(&sql, |_| rows += 1).await?;
    Ok(rows)
}

/// How long it takes, in milliseconds.
fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, f64)> {
    let begun = Instant::now();
    let result = work()?;
    Ok((result, milliseconds(begun.elapsed())))
}

/// The shortest of three: what the machine does besides only ever adds.
fn best_of_3<T>(mut work: impl FnMut() -> Outcome<T>) -> Outcome<(T, f64)> {
    let (_, first) = timed(&mut work)?;
    let (_, second) = timed(&mut work)?;
    let (result, third) = timed(&mut work)?;
    Ok((result, first.min(second).min(third)))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn ratios<const N: usize>(before: Option<&[f64; N]>, figures: &[f64; N]) -> String {
    let Some(before) = before else { return String::new() };
    let ratios = figures.iter().zip(before).map(|(figure, before)| format!("{:.2}", figure / before));
    ratios.collect::<Vec<_>>().join("  ")
}
