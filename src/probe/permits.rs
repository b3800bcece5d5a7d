use std::time::{Duration, Instant};

use crate::caller::CallerSettings;

use super::limits::{Finding, Measurement, seconds};
use super::stand::{Stand, StandError, without_limits};

const FAILING: &str = "11110";
const FAST: &str = "11140";
/// What a slow call takes.
const SLOW_CALL: Duration = Duration::from_millis(500);
/// Calls in flight above this are not tried: a thousand slow calls prove no more.
const MOST: u32 = 32;
/// Calls that wait to be tried again, and for how long.
const WAITING: u32 = 4;
pub(super) const WAIT: Duration = Duration::from_millis(1_500);

/// Of 2c slow calls at once just c are at the portal at a time.
pub(super) async fn measure_in_flight(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let stated = stated.providers[0].concurrency;
    let permits = stated.min(MOST);
    let mut settings = without_limits(acting);
    // Where the number is cut for the experiment it is cut for the caller too, but only where that has the number stated.
    let is_as_stated = acting.providers[0].concurrency == stated;
    settings.providers[0].concurrency = if is_as_stated { permits } else { acting.providers[0].concurrency };
    let stand = Stand::new(&settings, &format!("rows = 3\nlatency_ms = {}\n", SLOW_CALL.as_millis())).await?;
    let calls = 2 * permits as usize;
    let began = Instant::now();
    let came = stand.ask_all(FAST, calls).await;
    let took = began.elapsed();
    let most = stand.seen().iter().map(|line| line.in_flight).max().unwrap_or(0);
    let cut = if permits < stated { format!(" (set: {stated})") } else { String::new() };
    let finding = match most {
        _ if most > permits => Finding::Fails,
        _ if most < permits || came < calls => Finding::Late,
        _ => Finding::Acts,
    };
    Ok(Measurement {
        expected: format!("{calls} calls of {} at once: {permits} in flight{cut}", seconds(SLOW_CALL)),
        measured: format!("at most {most} in flight, {came} answers after {}", seconds(took)),
        finding,
    })
}

/// Calls that wait to be tried again hold no permit: with all permits' calls waiting, another passes.
pub(super) async fn measure_freed(acting: &CallerSettings) -> Result<Measurement, StandError> {
    freed(without_limits(acting)).await
}

pub(super) async fn freed(mut settings: CallerSettings) -> Result<Measurement, StandError> {
    settings.providers[0].concurrency = WAITING;
    settings.retry.max_retries = 1;
    (settings.retry.delay, settings.retry.max_delay) = (WAIT, WAIT);
    let fault = format!("[[fault]]\nregion = '{FAILING}'\nanswer = {{ kind = 'html', status = 500 }}\n");
    let stand = Stand::new(&settings, &format!("rows = 3\n{fault}")).await?;
    let passing = async {
        stand.done_with(WAITING as usize).await;
        stand.ask(FAST).await
    };
    let (_, passed) = tokio::join!(stand.ask_all(FAILING, WAITING as usize), passing);
    let seen = stand.seen();
    let first = |region: &str, skipped: usize| {
        seen.iter().filter(|line| line.param("LAWD_CD") == Some(region)).nth(skipped).map(|line| line.at)
    };
    let (fast, again) = (first(FAST, 0), first(FAILING, WAITING as usize));
    let (measured, finding) = match (fast, again) {
        (Some(fast), Some(again)) => {
            let before = again.saturating_sub(fast);
            // A call that gives its permit back when its wait is over lets the other in a moment before it asks again.
            let finding = if before >= WAIT / 2 && passed.is_ok() { Finding::Acts } else { Finding::Late };
            (format!("it passed {} before the first of them was tried again", seconds(before)), finding)
        }
        (_, None) => ("they were not tried again".to_owned(), Finding::Late),
        (None, _) => ("it did not pass at all".to_owned(), Finding::Late),
    };
    let expected = format!("{WAITING} calls with {WAITING} permits fail and wait {}; another passes meanwhile", seconds(WAIT));
    Ok(Measurement { expected, measured, finding })
}
