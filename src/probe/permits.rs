use std::time::{Duration, Instant};

use crate::caller::CallerSettings;
use crate::model::rate::Rate;

use super::limits::{Proof, seconds};
use super::stand::{Stand, StandError};

const FAILING: &str = "11110";
const FAST: &str = "11140";
const SLOW: &str = "11170";
/// What a slow call takes.
const SLOW_CALL: Duration = Duration::from_secs(1);
/// What the machine may add.
const SLACK: Duration = Duration::from_millis(700);
/// Calls in flight above this are not tried: a thousand slow calls prove no more.
const MOST: u32 = 32;

/// In one run: calls that wait to be tried again leave their permits to others, at once when the error pause is over,
/// and with c permits 2c calls of a second take two. "At once" can thus not mean that the limit is switched off.
pub(super) async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Vec<Proof>, StandError> {
    let permits = stated.providers[0].concurrency;
    let counted = permits.min(MOST);
    let pause = stated.retry.error_pause;
    let mut settings = acting.clone();
    // The rate has a proof of its own; here it must not hold the calls back.
    settings.providers[0].rate = Rate::Unlimited;
    if permits > MOST && settings.providers[0].concurrency == permits {
        settings.providers[0].concurrency = MOST;
    }
    let wait = pause + Duration::from_secs(2);
    settings.retry.delay = wait;
    settings.retry.max_delay = settings.retry.max_delay.max(wait);
    settings.retry.max_retries = 1;
    settings.retry.total_timeout = None;
    let scenario = format!(
        "rows = 3\n\
         [[fault]]\nregion = '{FAILING}'\nanswer = {{ kind = 'html', status = 500 }}\n\
         [[fault]]\nregion = '{SLOW}'\nwait_ms = {}\n",
        SLOW_CALL.as_millis()
    );
    let stand = Stand::new(&settings, &scenario).await?;

    let began = Instant::now();
    let failing = async {
        stand.ask_all(FAILING, counted as usize).await;
    };
    let passing = async {
        // The failing calls come first to the permits.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let fast = stand.ask(FAST).await;
        let passed = began.elapsed();
        let slow_began = Instant::now();
        stand.ask_all(SLOW, 2 * counted as usize).await;
        (fast.is_ok(), passed, slow_began.elapsed())
    };
    let ((), (fast_came, passed, slow_took)) = tokio::join!(failing, passing);
    let most_slow_in_flight =
        stand.seen().iter().filter(|line| line.param("LAWD_CD") == Some(SLOW)).map(|line| line.in_flight).max().unwrap_or(0);

    let least = pause.saturating_sub(Duration::from_millis(20));
    let freed = Proof::new(
        "a waiting retry leaves its permit",
        format!(
            "{counted} of {counted} permits fail and wait {}; a fast call passes after the error pause of {}",
            seconds(wait),
            seconds(pause)
        ),
        format!("it passed after {}", seconds(passed)),
        fast_came && passed >= least && passed < pause + SLACK,
    );
    let two_rounds = 2 * SLOW_CALL;
    let held = Proof::new(
        "calls in flight",
        format!(
            "{} calls of {} with {counted} permits take {}, {counted} at once",
            2 * counted,
            seconds(SLOW_CALL),
            seconds(two_rounds)
        ),
        format!("{}, {most_slow_in_flight} at once", seconds(slow_took)),
        slow_took >= two_rounds && slow_took < two_rounds + SLACK && most_slow_in_flight <= counted,
    );
    Ok(vec![held, freed])
}
