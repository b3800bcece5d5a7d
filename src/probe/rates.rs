use std::time::Duration;

use crate::caller::CallerSettings;
use crate::model::rate::Rate;

use super::limits::{Finding, Measurement};
use super::stand::{Stand, StandError, all, gaps, without_limits};

/// Calls are counted for about so long.
const SPAN: f64 = 2.0;
const FEWEST: f64 = 10.0;
const MOST: f64 = 1_000.0;
/// Slower rates are measured at this one, else it would take minutes.
const SLOWEST: f64 = FEWEST / SPAN;
/// The gap of single calls is looked at up to this rate: above it a busy machine moves more than the gap.
const FASTEST_GAPS: f64 = 200.0;

/// Calls without latency leave no faster than set, on the whole and one by one.
pub(super) async fn measure(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let Some(set) = stated.providers[0].rate.per_second() else {
        return Ok(Measurement::not_set("no rate is set: only the calls in flight are limited"));
    };
    let scale = (SLOWEST / set).max(1.0);
    let rate = set * scale;
    let mut settings = without_limits(acting);
    settings.providers[0].rate = match acting.providers[0].rate {
        Rate::PerSecond(acting) => Rate::PerSecond(acting * scale),
        Rate::Unlimited => Rate::Unlimited,
    };
    let workers = settings.providers[0].concurrency as usize;
    let calls = (rate * SPAN).clamp(FEWEST, MOST) as usize + 1;
    let stand = Stand::new(&settings, "rows = 3").await?;
    let work = async |worker: usize| {
        let mut came = 0;
        for _ in (worker..calls).step_by(workers) {
            came += usize::from(stand.ask("11110").await.is_ok());
        }
        came
    };
    let came: usize = all((0..workers).map(work)).await.into_iter().sum();
    let arrivals = stand.arrivals();
    let span = arrivals.last().zip(arrivals.first()).map_or(Duration::ZERO, |(last, first)| last.saturating_sub(*first));
    let achieved = (arrivals.len().saturating_sub(1)) as f64 / span.as_secs_f64().max(1e-9);
    let gaps = gaps(&arrivals);
    let close = gaps.iter().filter(|gap| gap.as_secs_f64() < 0.5 / rate).count();
    // The portal stamps arrivals, and a busy machine makes some of them late: the next one then looks too close.
    let are_apart = rate > FASTEST_GAPS || close <= gaps.len() / 5;
    let is_in_time = came == calls && achieved >= 0.5 * rate.min(MOST / SPAN);
    let faster = if scale > 1.0 { format!(" (set: {set}/s)") } else { String::new() };
    Ok(Measurement {
        expected: format!("{calls} calls leave at {rate}/s, one by one{faster}"),
        measured: format!("{achieved:.1}/s, {close} of {} gaps shorter than half of what is set", gaps.len()),
        // Only the lateness of the very first arrival makes a rate look higher than it was, and not by so much.
        finding: if achieved > 1.25 * rate || !are_apart || !is_in_time { Finding::Late } else { Finding::Acts },
    })
}
