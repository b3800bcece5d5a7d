use jiff::{SignedDuration, Timestamp};

use crate::definition::provider::Provider;
use crate::model::rate::Rate;
use crate::settings::resolved::Settings;
use crate::settings::saved::Probed;

/// Sources change their limits, and other programs come to use the same key.
const PROBE_IS_GOOD_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Why the rate of a provider may be too high.
pub fn rate_doubts(settings: &Settings, provider: &Provider, now: Timestamp) -> Vec<String> {
    let Provider { id, rps, documented_rps, .. } = provider;
    let mut doubts = Vec::new();
    if let (Some(rate), Some(documented)) = (rps.per_second(), *documented_rps)
        && rate > documented
    {
        doubts.push(format!("{id}: {rate} calls a second are more than the documented {documented}; expect refusals"));
    }
    doubts.extend(settings.probed(id).iter().flat_map(|probed| probe_doubts(probed, provider, now)));
    doubts
}

/// Limits that a probe found hold for a while only, and for the place they were found at.
fn probe_doubts(probed: &Probed, provider: &Provider, now: Timestamp) -> Vec<String> {
    let Provider { id, base_url, .. } = provider;
    let rps = Rate::PerSecond(probed.seed.rps);
    let mut doubts = Vec::new();
    if now.duration_since(probed.at) > PROBE_IS_GOOD_FOR {
        let day = probed.at.strftime("%F");
        doubts.push(format!("{id}: its {rps} were found on {day}; `gapless probe throughput` finds out whether they still hold"));
    }
    if probed.base_url != *base_url {
        doubts.push(format!("{id}: its {rps} were found at {}, not at {base_url}", probed.base_url));
    }
    doubts
}
