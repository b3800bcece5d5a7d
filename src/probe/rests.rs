use std::time::Duration;

use crate::caller::CallerSettings;

use super::limits::{Finding, Measurement, seconds, shortened};
use super::stand::{Stand, StandError, gaps, without_limits};

/// What the rest is shortened to.
const MOST: Duration = Duration::from_millis(500);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_millis(300);

/// After an error the call keeps its permit for a while: with one permit the next request leaves only then.
pub(super) async fn measure(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    if stated.retry.error_pause.is_zero() {
        return Ok(Measurement::not_set("no rest is set"));
    }
    let (rest, scale) = shortened(stated.retry.error_pause, MOST);
    let mut settings = without_limits(acting);
    settings.providers[0].concurrency = 1;
    settings.retry.error_pause = acting.retry.error_pause.mul_f64(scale);
    let stand = Stand::new(&settings, "[[fault]]\nanswer = { kind = 'html', status = 500 }\n").await?;
    stand.ask_all("11110", 2).await;
    let gap = gaps(&stand.arrivals()).first().copied();
    let cut = if scale < 1.0 { format!(" (set: {})", seconds(stated.retry.error_pause)) } else { String::new() };
    Ok(Measurement {
        expected: format!("with one permit the next call leaves {} after an error{cut}", seconds(rest)),
        measured: gap.map_or("nothing left".to_owned(), |gap| format!("it left after {}", seconds(gap))),
        finding: match gap {
            Some(gap) if gap < rest => Finding::Fails,
            Some(gap) if gap <= rest + SLACK => Finding::Acts,
            Some(_) | None => Finding::Late,
        },
    })
}
