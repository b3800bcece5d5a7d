use std::time::Duration;

use crate::caller::CallerSettings;

use super::limits::{Proof, ProofVerdict};
use super::stand::{Stand, StandError};

/// All waits of the call together are shortened to this.
const TOGETHER: Duration = Duration::from_secs(2);
/// What the machine may add to a wait.
const SLACK: Duration = Duration::from_millis(150);

/// A connection reset before any answer is tried so many times, after waits that grow as set. Shortened, and said.
pub(super) async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Proof, StandError> {
    let limit = "retries and their waits";
    if stated.retry.max_retries == 0 {
        let expected = "no retries are set".to_owned();
        return Ok(Proof { limit, expected, measured: "-".to_owned(), verdict: ProofVerdict::NotSet });
    }
    let waits = stated.retry.waits();
    let together: Duration = waits.iter().sum();
    let scale = if together > TOGETHER { TOGETHER.as_secs_f64() / together.as_secs_f64() } else { 1.0 };
    let mut settings = acting.clone();
    settings.providers[0].rate = crate::model::rate::Rate::Unlimited;
    settings.retry.delay = settings.retry.delay.mul_f64(scale);
    settings.retry.max_delay = settings.retry.max_delay.mul_f64(scale);
    settings.retry.jitter = Duration::ZERO;
    settings.retry.total_timeout = None;
    settings.retry.error_pause = Duration::ZERO;
    let stand = Stand::new(&settings, "[[fault]]\nwire = { kind = 'reset_before_answer' }\n").await?;
    let failed = stand.ask("11110").await.is_err();
    let times: Vec<Duration> = stand.seen().iter().map(|line| line.at).collect();
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let as_set = gaps.len() == waits.len()
        && gaps.iter().zip(&waits).all(|(gap, wait)| {
            let due = wait.mul_f64(scale);
            *gap + Duration::from_millis(5) >= due && *gap <= due + SLACK
        });
    let shown = |durations: &[Duration]| {
        durations.iter().map(|duration| format!("{:.2}", duration.as_secs_f64())).collect::<Vec<_>>().join(", ")
    };
    let due: Vec<Duration> = waits.iter().map(|wait| wait.mul_f64(scale)).collect();
    Ok(Proof::new(
        limit,
        format!("{} requests, waits {} s (shortened {:.0} times)", waits.len() + 1, shown(&due), 1.0 / scale),
        format!("{} requests, waits {} s", times.len(), shown(&gaps)),
        failed && as_set,
    ))
}
