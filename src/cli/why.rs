use std::path::Path;

use jiff::Timestamp;

use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::report::exit::Exit;
use crate::report::number::{counted, grouped};
use crate::report::output::printable;
use crate::store::OpenMode;
use crate::store::Store;
use crate::store::history::{AttemptLine, History, JobLine, JobTime, PageLine};

use super::args::WhyArgs;
use super::error::CliError;
use super::orders::check_partition;
use super::setup::Setup;
use super::terminal::Terminal;

/// Attempts shown of the latest job.
const ATTEMPTS_SHOWN: usize = 40;

/// Tells everything the ledger knows of one partition.
pub async fn run(args: &WhyArgs, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    let dataset = setup.dataset(&args.dataset)?;
    let partition =
        Partition::parse(&args.partition, &dataset.axis_names()).map_err(|error| CliError::usage(error.to_string()))?;
    let store = Store::open(&setup.store_url()?, OpenMode::ReadOnly).await?;
    let title = format!("{} {partition}\n", dataset.id);
    let history = store.history(&dataset.id, &partition).await?;
    store.close().await;
    let text = match history {
        Some(history) => title + &told(&history, &args.dataset, &partition),
        None => {
            check_partition(dataset, &args.partition, &setup, Timestamp::now())?;
            format!("{title}never asked for\nnext: gapless collect {} --partition {partition}\n", dataset.id)
        }
    };
    terminal.print(&text)
}

fn told(history: &History, dataset: &str, partition: &Partition) -> String {
    let mut text = String::new();
    let moment = |time: Option<jiff::Timestamp>| time.map_or("never".to_owned(), |time| format!("{time:.0}"));
    text.push_str(&format!("checked as a whole  {}\n", moment(history.checked_at)));
    text.push_str(&format!("content changed     {}\n", moment(history.changed_at)));
    match history.published_job {
        Some(job) => text.push_str(&format!("published           job {job} since {}\n", moment(history.published_at))),
        None => text.push_str("published           nothing\n"),
    }
    text.push_str("\njobs, latest first\n");
    for job in &history.jobs {
        text.push_str(&job_line(job));
    }
    text.push_str("\npages of the latest job\n");
    for PageLine { read, number, rows, total, rows_hash, stored_at } in &history.pages {
        let total = total.map_or("no total told".to_owned(), |total| format!("total {}", grouped(total)));
        text.push_str(&format!(
            "  read {read} page {number}  {}, {total}, hash {rows_hash}, stored {stored_at:.0}\n",
            counted(*rows, "row")
        ));
    }
    text.push_str("\nattempts of the latest job\n");
    let hidden = history.attempts.len().saturating_sub(ATTEMPTS_SHOWN);
    if hidden > 0 {
        text.push_str(&format!("  {} before these\n", grouped(hidden as u64)));
    }
    for attempt in &history.attempts[hidden..] {
        text.push_str(&attempt_line(attempt));
    }
    text.push_str(&format!("\nnext: {}\n", next(history, dataset, partition)));
    text
}

fn job_line(job: &JobLine) -> String {
    let verdict = job.verdict.map_or("running or broken off".to_owned(), |verdict| verdict.to_string());
    let promised = match (job.promised_first, job.promised_last) {
        (Some(first), Some(last)) if first != last => format!("{} promised first, {} last", grouped(first), grouped(last)),
        (_, Some(last)) => format!("{} promised", grouped(last)),
        (_, None) => "no total told".to_owned(),
    };
    let received = job.received.map_or(String::new(), |rows| format!(", {} received", grouped(rows)));
    let distinct = job.distinct_rows.map_or(String::new(), |rows| format!(", {} distinct", grouped(rows)));
    let claims = if job.claims > 1 { format!(", taken over {} times", job.claims - 1) } else { String::new() };
    let why = job.why.as_deref().map(|why| format!("\n    {}", printable(why))).unwrap_or_default();
    let time = time_told(&job.time);
    format!(
        "  job {} of run {}, {:.0}: {verdict}; {promised}{received}{distinct}{claims}{time}{why}\n",
        job.id, job.run, job.started_at
    )
}

/// Where the time went, the most first; what took none is left out.
fn time_told(time: &JobTime) -> String {
    let JobTime { network_ms, slot_ms, permit_ms, pause_ms, retry_ms, store_ms } = *time;
    let mut parts = [
        ("network", network_ms),
        ("waiting for the rate", slot_ms),
        ("waiting for a permit", permit_ms),
        ("pauses", pause_ms),
        ("waiting to retry", retry_ms),
        ("the store", store_ms),
    ];
    parts.sort_by_key(|(_, ms)| std::cmp::Reverse(*ms));
    let told: Vec<String> =
        parts.iter().filter(|(_, ms)| *ms > 0).map(|(what, ms)| format!("{} ms {what}", grouped(*ms))).collect();
    if told.is_empty() { String::new() } else { format!("\n    time: {}", told.join(", ")) }
}

fn attempt_line(attempt: &AttemptLine) -> String {
    let status = attempt.http_status.map(|status| format!(" HTTP {status}")).unwrap_or_default();
    let sent = if attempt.sent { "" } else { " (no byte left)" };
    let why = attempt.why.as_deref().map(|why| format!(": {}", printable(why))).unwrap_or_default();
    format!(
        "  {:.3} read {} page {} try {}{sent}  {} in {} ms after {} ms of waiting,{status} {} bytes{why}\n",
        attempt.sent_at,
        attempt.read,
        attempt.page,
        attempt.number,
        attempt.outcome,
        attempt.took_ms,
        attempt.waited_ms,
        grouped(attempt.body_bytes),
    )
}

fn next(history: &History, dataset: &str, partition: &Partition) -> String {
    match history.jobs.first().and_then(|job| job.verdict) {
        Some(Verdict::Complete | Verdict::Empty | Verdict::Unverified) => {
            format!("nothing is missing; read it again with `gapless collect {dataset} --partition {partition} --only all`")
        }
        Some(Verdict::Held) => format!("look at both, then `gapless accept {dataset} {partition}` to publish it"),
        Some(Verdict::Short | Verdict::Failed | Verdict::Lost) => {
            format!("the next run asks again; now: `gapless collect {dataset} --partition {partition}`")
        }
        Some(Verdict::Deferred) | None => {
            format!("the next run goes on; now: `gapless collect {dataset} --partition {partition}`")
        }
    }
}
