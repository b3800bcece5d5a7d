use std::collections::BTreeMap;
use std::time::Duration;

use super::exit::Exit;
use super::number::{counted, duration, grouped};
use super::output::printable;
use super::result::{Found, RunResult};
use super::table::aligned;
use crate::collect::harvest::PartitionCounts;
use crate::model::outcome::Outcome;

/// The end of a run as text: what is whole, what is missing and why, and what to do next.
pub fn summary(result: &RunResult, exit: Exit, next: &[String]) -> String {
    let mut text = String::new();
    if !result.gaps.is_empty() {
        text.push_str(&gap_table(result));
    }
    let counts = &result.partitions;
    text.push_str(&format!("{}: {}\n", counted(counts.planned, "partition"), counts_in_words(counts)));
    if result.elsewhere > 0 {
        text.push_str(&format!("{} of them by other runs\n", grouped(result.elsewhere)));
    }
    text.push_str(&format!("{} received, {} published\n", counted(result.rows.received, "row"), grouped(result.rows.published)));
    let cap = result.rate.rps_cap.map(|cap| format!(" of {cap}/s")).unwrap_or_default();
    text.push_str(&format!(
        "{} ({}) in {}: {}/s{cap}, {} at once, bound by {}\n",
        counted(result.calls.attempts, "call"),
        if result.calls.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", grouped(result.calls.retries)) },
        duration(Duration::from_millis(result.took_ms)),
        result.rate.achieved_rps,
        result.rate.concurrency,
        result.bound_by,
    ));
    if let Some(Found { rps, concurrency, refused_rps }) = result.rate.found {
        let refused = match (refused_rps, result.calls.by_outcome[&Outcome::SlowDown]) {
            (Some(rate), _) => format!("; {rate}/s was refused"),
            (None, 0) => "; nothing was refused".to_owned(),
            (None, _) => String::new(),
        };
        text.push_str(&format!("found {rps}/s with at most {concurrency} in flight{refused}\n"));
    }
    text.push_str(&format!("exit {}: {}\n", exit.code(), meaning(exit, result)));
    for command in next {
        text.push_str(&format!("next: {command}\n"));
    }
    text
}

fn counts_in_words(counts: &PartitionCounts) -> String {
    let named = [
        (counts.complete, "complete"),
        (counts.empty, "empty"),
        (counts.unverified, "unverified"),
        (counts.held, "held"),
        (counts.short, "short"),
        (counts.failed, "failed"),
        (counts.deferred, "deferred"),
        (counts.skipped, "skipped"),
    ];
    let present = named.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{} {name}", grouped(*count)));
    let words = present.collect::<Vec<_>>().join(", ");
    if words.is_empty() { "nothing was due".to_owned() } else { words }
}

/// One bad day has few causes; more hints than this would bury them.
const HINTS_SHOWN: usize = 3;

/// Of those that the next run takes up, and that all have the same reason, as many are listed.
const ALIKE_SHOWN: u64 = 3;

fn gap_table(result: &RunResult) -> String {
    let header = ["dataset", "partition", "verdict", "page", "received", "why"].map(str::to_owned);
    let mut rows = vec![header];
    let mut alike: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for gap in &result.gaps {
        if gap.passes() {
            let count = alike.entry((gap.dataset.as_str(), gap.verdict, &gap.why)).or_default();
            *count += 1;
            if *count > ALIKE_SHOWN {
                continue;
            }
        }
        let received = match gap.promised {
            Some(promised) => format!("{} of {}", grouped(gap.received), grouped(promised)),
            None => grouped(gap.received),
        };
        rows.push([
            gap.dataset.to_string(),
            gap.partition.to_string(),
            gap.verdict.to_owned(),
            gap.page.map(|page| page.to_string()).unwrap_or_default(),
            received,
            printable(&gap.why),
        ]);
    }
    let mut text = String::from("gaps\n");
    text.push_str(&aligned(&rows));
    for ((dataset, verdict, why), count) in alike {
        if count > ALIKE_SHOWN {
            let more = grouped(count - ALIKE_SHOWN);
            text.push_str(&format!("  and {more} more of {dataset}, {verdict}: {}\n", printable(why)));
        }
    }
    let hidden = result.gaps_total - result.gaps.len() as u64;
    if hidden > 0 {
        text.push_str(&format!("  and {} more\n", grouped(hidden)));
    }
    let mut hints: Vec<&str> = result.gaps.iter().filter_map(|gap| gap.hint.as_deref()).collect();
    hints.dedup();
    for hint in hints.iter().take(HINTS_SHOWN) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text.push('\n');
    text
}

fn meaning(exit: Exit, result: &RunResult) -> String {
    let missing = counted(result.gaps_total, "partition");
    let verb = if result.gaps_total == 1 { "is" } else { "are" };
    match exit {
        Exit::Whole if result.partitions.planned == 0 => "nothing had to be asked".to_owned(),
        Exit::Whole if result.gaps_total > 0 => format!("{missing} {verb} left for later, as `--deferred-ok` allows"),
        Exit::Whole => "every partition asked for is whole".to_owned(),
        Exit::Incomplete => format!("{missing} {verb} not whole"),
        Exit::Deferred => format!("{missing} {verb} deferred; nothing is wrong"),
        Exit::Refused => format!("the key or permission was refused; {missing} {verb} not whole"),
        Exit::Interrupted | Exit::Terminated => format!("interrupted; {missing} {verb} not whole"),
        Exit::Store => "the store could not be used".to_owned(),
        Exit::LocalResource => "this machine ran out of something".to_owned(),
        Exit::OwnFault => "a fault of gapless itself".to_owned(),
        Exit::Locked => "another run holds the lock".to_owned(),
        Exit::Usage => "usage or settings".to_owned(),
    }
}
