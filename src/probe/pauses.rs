use std::time::Duration;

use crate::caller::CallerSettings;
use crate::settings::retry::RetryAfterRule;

use super::limits::{Finding, Measurement, seconds};
use super::stand::{Stand, StandError, without_limits};

/// The code of a refusal for speed.
pub(super) const TOO_FAST: &str = "23";
/// The shortest pause after one.
const SHORTEST: Duration = Duration::from_secs(1);
/// What the portal asks to wait.
const ASKED: Duration = Duration::from_secs(2);
/// What an answer takes: long enough to see who else is in flight.
const LATENCY: Duration = Duration::from_millis(100);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_millis(500);
const OTHERS: usize = 3;

/// A refusal for speed stops all calls of the provider for as long as it asks; then one canary alone tests the way back.
/// `code` is what the portal refuses with: a code that means something else must let the proof fail.
pub(super) async fn measure(stated: &CallerSettings, acting: &CallerSettings, code: &str) -> Result<Measurement, StandError> {
    let pause = match stated.retry.retry_after {
        RetryAfterRule::Strict => ASKED,
        RetryAfterRule::Capped => ASKED.min(stated.retry.max_delay).max(SHORTEST),
        RetryAfterRule::Ignore => SHORTEST,
    };
    let scenario = format!(
        "rows = 3\nlatency_ms = {}\n[[fault]]\nregion = '11110'\ntimes = 1\n\
         answer = {{ kind = 'gateway3', code = '{code}', retry_after = {} }}\n",
        LATENCY.as_millis(),
        ASKED.as_secs()
    );
    let mut settings = without_limits(acting);
    // A refusal that is taken for an ordinary failure is to be seen asking again.
    settings.retry.max_retries = 1;
    let stand = Stand::new(&settings, &scenario).await?;
    let others = async {
        stand.done_with(1).await;
        tokio::time::sleep(LATENCY).await;
        stand.ask_all("11140", OTHERS).await
    };
    let (refused, others) = tokio::join!(stand.ask("11110"), others);
    let seen = stand.seen();
    let expected = format!("nobody asks for {}, then one canary alone", seconds(pause));
    let [first, canary, next, ..] = &*seen else {
        return Ok(Measurement { expected, measured: "no canary".to_owned(), finding: Finding::Late });
    };
    let silence = canary.at.saturating_sub(first.at);
    let is_alone = canary.in_flight == 1 && next.in_flight == 1;
    let measured = format!("nobody for {}, then {}", seconds(silence), if is_alone { "one alone" } else { "several at once" });
    let has_all = refused.is_ok() && others == OTHERS && seen.len() == OTHERS + 2;
    let finding = match () {
        () if silence < pause || !is_alone => Finding::Fails,
        () if silence > pause + SLACK || !has_all => Finding::Late,
        () => Finding::Acts,
    };
    Ok(Measurement { expected, measured, finding })
}
