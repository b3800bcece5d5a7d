use std::time::Duration;

use crate::caller::CallerSettings;

use super::limits::Proof;
use super::stand::{Stand, StandError};

/// The shortest pause after a refusal for speed, less what the machine may take off.
const PAUSE: Duration = Duration::from_millis(950);

/// A refusal for speed stops all calls of the provider at once; one canary alone tests the way back.
pub(super) async fn prove(_: &CallerSettings, acting: &CallerSettings) -> Result<Proof, StandError> {
    let scenario = "rows = 3\n[[fault]]\nregion = '11110'\ntimes = 1\nanswer = { kind = 'gateway3', code = '23' }\n";
    let mut settings = acting.clone();
    settings.retry.error_pause = Duration::ZERO;
    let stand = Stand::new(&settings, scenario).await?;
    let refused = stand.ask("11110");
    let others = async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        stand.ask_all("11140", 3).await
    };
    let (came, others_came) = tokio::join!(refused, others);
    let seen = stand.seen();
    let silence = seen.get(1).map(|canary| canary.at.saturating_sub(seen[0].at));
    let is_alone = seen.get(1).is_some_and(|canary| canary.in_flight == 1);
    let after_canary = seen.get(2).zip(seen.get(1)).map(|(next, canary)| next.at >= canary.at);
    Ok(Proof::new(
        "pause after a refusal for speed",
        "nobody asks for 1 s, then one canary alone",
        match silence {
            Some(silence) => {
                format!("silence of {:.2} s, {}", silence.as_secs_f64(), if is_alone { "one canary" } else { "several at once" })
            }
            None => "no canary".to_owned(),
        },
        came.is_ok()
            && others_came == 3
            && silence.is_some_and(|silence| silence >= PAUSE)
            && is_alone
            && after_canary == Some(true),
    ))
}
