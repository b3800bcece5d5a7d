use std::time::Duration;

use crate::caller::CallerSettings;

use super::limits::{Finding, Measurement, shortened};
use super::stand::{Stand, StandError, gaps, without_limits};

/// All waits of the call together are shortened to this.
const TOGETHER: Duration = Duration::from_secs(2);
/// What a busy machine may add to a wait, besides a quarter of it.
const SLACK: Duration = Duration::from_millis(150);
/// Waits are computed in floating point.
const ROUNDING: Duration = Duration::from_millis(1);

/// A connection reset before any answer is tried so many times, after waits that grow as set, and not once more.
pub(super) async fn measure(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let (_, scale) = shortened(stated.retry.waits().iter().sum(), TOGETHER);
    let due: Vec<Duration> = stated.retry.waits().iter().map(|wait| wait.mul_f64(scale)).collect();
    let mut settings = without_limits(acting);
    settings.retry.max_retries = acting.retry.max_retries;
    settings.retry.delay = acting.retry.delay.mul_f64(scale);
    settings.retry.multiplier = acting.retry.multiplier;
    settings.retry.max_delay = acting.retry.max_delay.mul_f64(scale);
    let stand = Stand::new(&settings, "[[fault]]\nwire = { kind = 'reset_before_answer' }\n").await?;
    let patience = due.iter().map(|due| *due + slack(*due)).sum::<Duration>() + TOGETHER;
    let has_ended = tokio::time::timeout(patience, stand.ask("11110")).await.is_ok();
    let gaps = gaps(&stand.arrivals());
    let requests = gaps.len() + 1;
    let cut = if scale < 1.0 { format!(" (set: {:.0} times as long)", 1.0 / scale) } else { String::new() };
    let is_wrong = has_ended && requests < due.len() + 1
        || requests > due.len() + 1
        || gaps.iter().zip(&due).any(|(gap, due)| *gap + ROUNDING < *due);
    let is_late = !has_ended || gaps.iter().zip(&due).any(|(gap, due)| *gap > *due + slack(*due));
    Ok(Measurement {
        expected: format!("{}{cut}", told(due.len() + 1, &due)),
        measured: format!("{}{}", told(requests, &gaps), if has_ended { "" } else { ", and no end" }),
        finding: match (is_wrong, is_late) {
            (true, _) => Finding::Fails,
            (false, true) => Finding::Late,
            (false, false) => Finding::Acts,
        },
    })
}

fn slack(due: Duration) -> Duration {
    SLACK + due / 4
}

/// `3 requests, after 0.05, 0.15 s`.
fn told(requests: usize, waits: &[Duration]) -> String {
    let waits: Vec<String> = waits.iter().map(|wait| format!("{:.2}", wait.as_secs_f64())).collect();
    match requests {
        1 => "1 request, no retry".to_owned(),
        _ => format!("{requests} requests, waits of {} s", waits.join(", ")),
    }
}
