use std::time::Duration;

use crate::caller::CallerSettings;
use crate::model::rate::Rate;

use super::limits::{Proof, ProofVerdict};
use super::stand::{Stand, StandError};

/// Calls are counted for about so long.
const SPAN: Duration = Duration::from_secs(2);
const FEWEST: f64 = 10.0;
const MOST: f64 = 400.0;

/// Calls without latency keep the set rate over any second, and the gap between any two.
pub(super) async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Proof, StandError> {
    let limit = "calls a second";
    let Rate::PerSecond(rate) = stated.providers[0].rate else {
        let verdict = ProofVerdict::NotSet;
        return Ok(Proof { limit, expected: "no limit is set".to_owned(), measured: "-".to_owned(), verdict });
    };
    let calls = (rate * SPAN.as_secs_f64()).clamp(FEWEST, MOST) as usize;
    let stand = Stand::new(acting, "rows = 3").await?;
    let workers = calls.min(64);
    let mut asked = 0;
    while asked < calls {
        let batch = workers.min(calls - asked);
        stand.ask_all("11110", batch).await;
        asked += batch;
    }
    let times: Vec<Duration> = stand.seen().iter().map(|line| line.at).collect();
    let span = times.last().zip(times.first()).map_or(Duration::ZERO, |(last, first)| last.saturating_sub(*first));
    let achieved = (times.len().saturating_sub(1)) as f64 / span.as_secs_f64().max(1e-9);
    let busiest = (0..times.len())
        .map(|first| times[first..].iter().take_while(|time| **time - times[first] < Duration::from_secs(1)).count())
        .max()
        .unwrap_or(0);
    let gap = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap_or_default();
    // The portal stamps arrivals, which a busy machine makes later by some milliseconds, one more than the other.
    let least_gap = Duration::from_secs_f64(0.5 / rate);
    let is_fast_enough = achieved >= 0.9 * rate.min(1000.0);
    Ok(Proof::new(
        limit,
        format!("{calls} calls at {rate}/s, at most {} in any second", rate.ceil() as u64 + 1),
        format!("{achieved:.1}/s, {busiest} in the busiest second, smallest gap {:.1} ms", gap.as_secs_f64() * 1000.0),
        is_fast_enough && busiest as f64 <= rate.ceil() + 1.0 && (gap >= least_gap || rate > 200.0),
    ))
}
