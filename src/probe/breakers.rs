use std::time::Duration;

use crate::caller::CallerSettings;
use crate::model::name::Name;
use crate::settings::breaker::{BreakerCounts, Breakers};

use super::limits::{Finding, Measurement, seconds, shortened};
use super::stand::{DATASET, Stand, StandError, without_limits};

/// The time a breaker is open is shortened to this.
const OPEN_FOR: Duration = Duration::from_millis(400);
/// Failures that are played at the most.
const MOST: u32 = 50;
/// What a busy machine may add.
const SLACK: Duration = Duration::from_millis(500);

/// A server that resets every connection is asked no more after so many failures in a row; then one call tries it.
pub(super) async fn measure(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let provider = &stated.providers.first().expect("a provider is stated").provider;
    let [stated, acting_settings] = [stated, acting].map(|settings| settings.breakers.of(provider, &Name::literal(DATASET)));
    if stated.counts == BreakerCounts::None {
        return Ok(Measurement::not_set("-"));
    }
    let failures = stated.failures_in_a_row.min(MOST);
    let (open_for, scale) = shortened(stated.open_for, OPEN_FOR);
    let mut template = acting_settings.clone();
    template.failures_in_a_row = template.failures_in_a_row.min(MOST);
    // The other trigger is out of the way.
    template.min_calls = u32::MAX;
    template.window = Duration::MAX;
    template.open_for = acting_settings.open_for.mul_f64(scale);
    template.max_open_for = acting_settings.max_open_for.max(acting_settings.open_for).mul_f64(scale);
    let mut settings = without_limits(acting);
    settings.breakers = Breakers { template, overrides: Default::default() };
    let stand = Stand::new(&settings, "[[fault]]\nwire = { kind = 'reset_before_answer' }\n").await?;
    for _ in 0..failures {
        // One by one, so that none is in flight when it opens.
        let _ = tokio::time::timeout(OPEN_FOR, stand.ask("11110")).await;
    }
    let sent = stand.seen().len();
    let tried = tokio::time::timeout(open_for * 2 + SLACK, stand.ask("11110")).await.is_ok();
    let arrivals = stand.arrivals();
    let cut = if scale < 1.0 { format!(" (set: {:.0} times as long)", 1.0 / scale) } else { String::new() };
    let expected = format!("{failures} failures, then nobody for {}{cut}", seconds(open_for));
    let silence = match arrivals.get(sent.wrapping_sub(1)..) {
        Some([last, next, ..]) => Some(next.saturating_sub(*last)),
        _ => None,
    };
    let measured = format!("{sent} failures, then nobody for {}", silence.map_or("too long".to_owned(), seconds));
    let finding = match silence {
        Some(silence) if silence < open_for => Finding::Fails,
        _ if sent != failures as usize => Finding::Late,
        Some(_) if tried => Finding::Acts,
        Some(_) | None => Finding::Late,
    };
    Ok(Measurement { expected, measured, finding })
}
