use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::collect::harvest::{Gap, Harvest, PartitionCounts, RowCounts};
use crate::model::job::RunId;
use crate::model::outcome::Outcome;
use crate::model::rate::Rate;

use super::exit::Exit;
use super::latency::LatencySummary;
use super::tally::Counts;

/// The result of a run, as `--format json` prints it. Every key is always present; names may be added, not changed.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    pub run: i64,
    pub exit_code: u8,
    pub started_at: String,
    pub took_ms: u64,
    pub partitions: PartitionCounts,
    /// Of the partitions, those that another run on the same store collected meanwhile.
    pub elsewhere: u64,
    pub rows: RowCounts,
    pub calls: CallCounts,
    pub rate: RateSummary,
    pub latency_ms: LatencySummary,
    /// What held the run back: `rate`, `concurrency`, `provider` (it paused us) or `work` (nothing else was left to do).
    pub bound_by: &'static str,
    pub gaps_total: u64,
    /// The partitions that are not whole, [`Harvest::GAPS_SHOWN`] at most.
    pub gaps: Vec<Gap>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CallCounts {
    /// Calls that ended in a page or a proof of empty.
    pub pages: u64,
    pub attempts: u64,
    pub retries: u64,
    pub by_outcome: BTreeMap<Outcome, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSummary {
    /// `null` when nothing limits the rate.
    pub rps_cap: Option<f64>,
    pub achieved_rps: f64,
    pub concurrency: u32,
    /// The pace that was found, where one was looked for; else `null`.
    pub found: Option<Found>,
}

/// The pace at the end of a run in which one was looked for: the sum over its providers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    pub rps: f64,
    pub concurrency: u32,
    /// The rate that was refused last; `null` where none was.
    pub refused_rps: Option<f64>,
}

/// The limits a run worked under: the sum over its providers.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub rate: Rate,
    pub concurrency: u32,
}

impl RunResult {
    pub fn new(
        run: RunId,
        exit: Exit,
        started_at: Timestamp,
        took: Duration,
        harvest: Harvest,
        counts: &Counts,
        caps: Caps,
    ) -> Self {
        let mut by_outcome: BTreeMap<Outcome, u64> = Outcome::ALL.into_iter().map(|outcome| (outcome, 0)).collect();
        by_outcome.extend(&counts.by_outcome);
        let achieved_rps = (counts.achieved_rps() * 100.0).round() / 100.0;
        Self {
            run: run.0,
            exit_code: exit.code(),
            started_at: format!("{started_at:.3}"),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            partitions: harvest.partitions,
            elsewhere: harvest.elsewhere,
            rows: harvest.rows,
            calls: CallCounts { pages: counts.pages, attempts: counts.attempts, retries: counts.retries, by_outcome },
            rate: RateSummary {
                rps_cap: caps.rate.per_second(),
                achieved_rps,
                concurrency: caps.concurrency,
                found: found(counts),
            },
            latency_ms: counts.latencies.summary(),
            bound_by: bound_by(counts, caps, found(counts)),
            gaps_total: harvest.gaps_total,
            gaps: harvest.gaps,
        }
    }
}

fn found(counts: &Counts) -> Option<Found> {
    let round = |rate: f64| (rate * 10.0).round() / 10.0;
    let sought = counts
        .paces
        .values()
        .filter_map(|pace| Some(Found { rps: pace.rps, concurrency: pace.in_flight?, refused_rps: pace.refused_rps }));
    let all = sought.reduce(|all, one| Found {
        rps: all.rps + one.rps,
        concurrency: all.concurrency + one.concurrency,
        refused_rps: all.refused_rps.into_iter().chain(one.refused_rps).reduce(|a, b| a + b),
    })?;
    Some(Found { rps: round(all.rps), refused_rps: all.refused_rps.map(round), ..all })
}

fn bound_by(counts: &Counts, caps: Caps, found: Option<Found>) -> &'static str {
    let caps = found.map_or(caps, |found| Caps { rate: Rate::PerSecond(found.rps), concurrency: found.concurrency });
    let is_at_cap = caps.rate.per_second().is_some_and(|cap| counts.achieved_rps() >= 0.95 * cap);
    if is_at_cap {
        "rate"
    } else if counts.mean_in_flight() >= 0.8 * f64::from(caps.concurrency) {
        "concurrency"
    } else if counts.pauses > 0 {
        "provider"
    } else if found.is_some() {
        // It was on its way to what it found.
        "rate"
    } else {
        "work"
    }
}
