use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, CallerSettings, Clock, Pace, ProviderLimits, Ration, Surroundings, Unrationed};
use crate::definition::dataset::{Dataset, Paging};
use crate::definition::provider::Provider;
use crate::model::event::Listeners;
use crate::model::job::PageNumber;
use crate::model::partition::Partition;
use crate::model::rate::Rate;
use crate::model::secret::ServiceKey;
use crate::probe::throughput::learn::{FAR_PAGE, Learner, QUESTIONS, Question};
use crate::probe::throughput::report::{Ended, Subject, Throughput};
use crate::probe::throughput::{Bounds, Ears, MakeCall, Row, Target, Told, ladder, search, single_tries};
use crate::report::exit::Exit;
use crate::report::number::{counted, grouped};
use crate::report::plot;
use crate::report::throughput::{head, next, note, result, row};
use crate::settings::breaker::Breakers;

use super::ask::{daily_calls, first_page, run_at_work};
use super::error::CliError;
use super::key_lock::KeyLock;
use super::orders::recent;
use super::save::save;
use super::setup::Setup;
use super::terminal::{Format, Terminal};
use super::throughput_args::ThroughputArgs;

/// More of a day's calls are spent only when that is wanted.
const OF_A_DAY: f64 = 0.1;

pub async fn run(args: &ThroughputArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    terminal.start_log(setup.settings.log_format);
    let now = Timestamp::now();
    let dataset = setup.dataset(&args.dataset)?;
    let provider = setup.provider_of(dataset);
    let partitions = recent(dataset, &args.partitions, &setup, now)?;
    let rows = args.ladder.as_deref().map(rows).transpose()?;
    let plan = Plan::of(args, provider, rows.as_deref());
    terminal.note(&plan.announced(dataset, provider));
    if let Some(plot) = args.plot.as_deref().filter(|plot| !is_picture(plot)) {
        return Err(CliError::usage(format!("--plot {} is no .svg or .html file", plot.display())));
    }
    if let Some(daily) = provider.daily_calls.filter(|daily| plan.calls as f64 > OF_A_DAY * *daily as f64 && !args.yes) {
        let what = format!("{} are more than a tenth of the day's {}", counted(plan.calls as u64, "call"), grouped(daily));
        let fewer = (daily as f64 * OF_A_DAY) as u64;
        return Err(CliError::usage(what).with_hint(format!("add `--yes`, or ask for at most {fewer} with `--max-calls`")));
    }
    if args.dry_run {
        let told = json!({"plan": {"calls": plan.calls, "seconds": plan.seconds, "ceiling": plan.ceiling}});
        return terminal.print(&if args.format == Format::Json { format!("{told}\n") } else { String::new() });
    }

    let key = setup.key(provider)?;
    let _lock = KeyLock::try_take(provider, key.as_ref(), &setup)?;
    let daily = daily_calls(&setup, dataset, provider, key.as_ref()).await?;
    if let Some(run) = run_at_work(&setup, provider, key.as_ref()).await? {
        let what = format!("run {run} asks {} with the same key at this moment, on whatever host", provider.id);
        let hint = "wait until it has ended: beside it the probe would exceed its limits, and measure the two together";
        return Err(CliError { exit: Exit::Locked, what, hint: None }.with_hint(hint));
    }
    let ration: Arc<dyn Ration> = match &daily {
        Some(daily) => daily.clone(),
        None => Arc::new(Unrationed),
    };
    let (ears, learner) = (Ears::new(), Learner::new(dataset.page_size()));
    let target = Target {
        caller: caller(&setup, provider, &ears, ration, plan.calls, args.max_wait)?,
        provider: provider.id.clone(),
        make: make_calls(&setup, dataset, provider, key, partitions, &learner, rows.is_none()),
        ears,
        learner,
        stop: stopped_by_signal(),
    };
    let subject = Subject {
        provider: provider.id.to_string(),
        dataset: dataset.id.to_string(),
        source: format!("{}{}", provider.base_url, dataset.path),
        started: format!("{now:.3}"),
    };
    if args.format == Format::Text {
        terminal.print(&head())?;
    }
    let mut unprinted = None;
    let mut tell = |told: Told<'_>| {
        let text = match told {
            Told::Step(step) => row(step, plan.ceiling),
            Told::Note(text) => note(&text),
        };
        match args.format {
            Format::Text => unprinted = unprinted.take().or(terminal.print(&text).err()),
            Format::Json => terminal.note(text.trim_end()),
        }
    };
    let report = match &rows {
        Some(rows) => ladder(target, rows, args.calls as usize, subject, &mut tell).await,
        None => search(target, plan.bounds(args), subject, &mut tell).await,
    };
    if let Some(daily) = daily {
        daily.settle().await?;
    }
    if let Some(error) = unprinted {
        return Err(error);
    }
    finish(args, &setup, provider, &report, terminal)
}

/// Writes what is to be written, and prints the result.
fn finish(
    args: &ThroughputArgs,
    setup: &Setup,
    provider: &Provider,
    report: &Throughput,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let mut wrote = String::new();
    if let Some(file) = &args.plot {
        let is_page = file.extension().is_some_and(|extension| extension == "html");
        write(file, &if is_page { plot::html(report) } else { plot::svg(report) })?;
        wrote.push_str(&format!(" plot    {}\n", file.display()));
    }
    let saved = if args.save { save(setup, provider, report)? } else { None };
    wrote.push_str(saved.as_deref().unwrap_or_default());
    terminal.print(&match args.format {
        Format::Json => {
            wrote.lines().for_each(|line| terminal.note(line.trim_start()));
            serde_json::to_string(report).expect("a report is plain data") + "\n"
        }
        Format::Text => format!("{}{wrote}next: {}\n", result(report, provider.daily_calls), next(report, saved.is_some())),
    })?;
    Ok(match report.ended {
        Ended::Answered => Exit::Whole,
        Ended::Blocked | Ended::Quota | Ended::Trouble => Exit::Deferred,
        Ended::Barred => Exit::Refused,
        Ended::Interrupted => Exit::Interrupted,
    })
}

/// What a measurement may cost.
struct Plan {
    calls: usize,
    seconds: f64,
    ceiling: f64,
    /// What keeps the ceiling down.
    bound: String,
}

impl Plan {
    fn of(args: &ThroughputArgs, provider: &Provider, rows: Option<&[Row]>) -> Self {
        if let Some(rows) = rows {
            let calls = rows.len() * args.calls as usize;
            let ceiling = rows.iter().map(|row| row.rate).fold(0.0, f64::max);
            let seconds = rows.iter().map(|row| f64::from(args.calls) / row.rate).sum();
            return Self { calls, seconds, ceiling, bound: "as asked for".to_owned() };
        }
        let documented = provider.most_by_documents().filter(|(most, _)| *most < args.max_rps);
        let (ceiling, bound) = documented.unwrap_or_else(|| (args.max_rps, "--max-rps".to_owned()));
        let calls = args.max_calls as usize;
        Self { calls, seconds: calls as f64 / ceiling * 1.6 + 2.0, ceiling, bound }
    }

    fn announced(&self, dataset: &Dataset, provider: &Provider) -> String {
        let Self { calls, seconds, ceiling, bound } = self;
        let day = match provider.daily_calls {
            Some(daily) => {
                format!("{:.0} % of the day's {}", *calls as f64 * 100.0 / daily as f64, grouped(daily))
            }
            None => "its calls a day are not known".to_owned(),
        };
        format!(
            "{}: up to {}, {day}; about {seconds:.0} s, at most {ceiling}/s ({bound}); nothing is stored",
            dataset.id,
            counted(*calls as u64, "call")
        )
    }

    fn bounds(&self, args: &ThroughputArgs) -> Bounds {
        Bounds {
            max_calls: self.calls,
            ceiling: self.ceiling,
            max_concurrency: args.max_concurrency,
            max_wait: args.max_wait,
            refine: args.refine,
        }
    }
}

/// `2:40,4:40` as rows.
fn rows(text: &str) -> Result<Vec<Row>, CliError> {
    let row = |part: &str| {
        let (concurrency, rate) = part.split_once(':')?;
        let concurrency = concurrency.trim().parse().ok().filter(|most| (1..=1000).contains(most))?;
        let rate = rate.trim().parse().ok().filter(|rate| (0.1..=10_000.0).contains(rate))?;
        Some(Row { concurrency, rate })
    };
    let rows: Option<Vec<Row>> = text.split(',').map(row).collect();
    rows.ok_or_else(|| {
        CliError::usage(format!("--ladder {text} is not written as CONCURRENCY:RPS,…")).with_hint("write `--ladder 2:40,4:40`")
    })
}

fn caller(
    setup: &Setup,
    provider: &Provider,
    ears: &Arc<Ears>,
    ration: Arc<dyn Ration>,
    calls: usize,
    max_wait: Duration,
) -> Result<Caller, CliError> {
    let limits = ProviderLimits { pace: Pace::Steered, invalid_in_a_row: u32::MAX, ..ProviderLimits::of(provider) };
    let settings = CallerSettings {
        providers: vec![ProviderLimits { rate: Rate::PerSecond(1.0), concurrency: 1, ..limits }],
        http: setup.settings.http.clone(),
        retry: single_tries(max_wait),
        breakers: Breakers::none(),
        max_calls: Some(calls as u64),
        max_runtime: None,
    };
    // Refusals are told in the table.
    let listener = Arc::new(Listeners(vec![ears.clone()]));
    let surroundings = Surroundings { clock: Clock::precise(), random: Arc::new(fastrand::f64), listener, ration, slots: None };
    Caller::new(settings, surroundings).map_err(|error| CliError::usage(error.to_string()))
}

/// Page 1 of the partitions in turn, as a run asks for it.
fn make_calls(
    setup: &Setup,
    dataset: &Arc<Dataset>,
    provider: &Arc<Provider>,
    key: Option<ServiceKey>,
    partitions: Vec<Partition>,
    learner: &Arc<Learner>,
    is_curious: bool,
) -> Box<MakeCall> {
    let (catalog, dataset, provider) = (setup.catalog.clone(), Arc::clone(dataset), Arc::clone(provider));
    let learner = Arc::clone(learner);
    let Paging::Page { page_param, first, .. } = dataset.paging.clone();
    Box::new(move |number| {
        let question = QUESTIONS.into_iter().find(|(asks, _)| is_curious && *asks == number).map(|(_, question)| question);
        // Numbers of pages as the source counts them.
        let (turn, page) = match question {
            Some(Question::BeforeFirst) if first > 0 => (1, Some(first - 1)),
            Some(Question::PastEnd) => (1, Some(FAR_PAGE)),
            Some(Question::FirstPage) => (1, None),
            Some(Question::BeforeFirst) | None => (number, None),
        };
        let partition = &partitions[usize::try_from(turn).unwrap_or(0) % partitions.len()];
        let mut call = first_page(&catalog, &dataset, &provider, key.clone(), partition, dataset.page_size());
        if let Some(page) = page {
            call.label.page = PageNumber(page);
            for (_, value) in call.request.query.iter_mut().filter(|(name, _)| *name == page_param) {
                *value = page.to_string();
            }
        }
        let question = question.filter(|_| page.is_some()).unwrap_or(Question::FirstPage);
        call.judge = learner.listening(question, partition.clone(), call.judge);
        call
    })
}

/// Cancelled by the first signal; a second one ends the program.
fn stopped_by_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopped.cancel();
            tokio::signal::ctrl_c().await.ok();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    });
    stop
}

fn is_picture(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "svg" || extension == "html")
}

pub fn write(file: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(file, text).map_err(|error| CliError::local(&format!("`{}` cannot be written", file.display()), error))
}
