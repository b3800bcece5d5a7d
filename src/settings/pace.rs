//! Whether the pace of a provider is set or looked for, and within which bounds.

use super::overrides::ProviderOverrides;
use super::resolved::Settings;
use crate::definition::provider::{Pacing, Provider};
use crate::model::name::Name;
use crate::model::rate::Rate;

/// How many calls may be in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    Fixed(u32),
    /// As many as the provider turns out to bear.
    Auto,
}

/// Which paces are looked for, unless a provider says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    pub is_auto: bool,
    /// Calls in flight that are not exceeded where they are looked for.
    pub max_concurrency: u32,
}

/// Calls a second that are not exceeded where nobody says how many may be.
const MOST: f64 = 50.0;
/// The answer of a probe is this share of what may be.
const OF_PROBED: f64 = 0.95;

impl std::str::FromStr for Concurrency {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}

impl Settings {
    /// Whether the pace of a provider is looked for.
    pub fn is_auto(&self, provider: &Name) -> bool {
        match self.providers.get(provider.as_str()).and_then(|overrides| overrides.concurrency) {
            Some(Concurrency::Auto) => true,
            Some(Concurrency::Fixed(_)) if self.is_own(&format!("providers.{provider}.concurrency")) => false,
            Some(Concurrency::Fixed(_)) | None => self.limits.is_auto,
        }
    }

    /// Whether the pace of any provider may be looked for.
    pub fn is_any_auto(&self) -> bool {
        let of_its_own = |overrides: &ProviderOverrides| overrides.concurrency == Some(Concurrency::Auto);
        self.limits.is_auto || self.providers.values().any(of_its_own)
    }

    /// A provider with the user's values in front, and with bounds instead of limits where its pace is looked for.
    pub fn paced(&self, provider: Provider) -> Provider {
        let id = &provider.id;
        let overrides = self.providers.get(id.as_str());
        let own = |key: &str| self.is_own(&format!("providers.{id}.{key}"));
        if !self.is_auto(id) {
            return provider;
        }
        let seed = self.saved(id).filter(|probed| probed.base_url == provider.base_url).map(|probed| probed.seed);
        let asked = if own("rps") { overrides.and_then(|overrides| overrides.rps) } else { None };
        let by_settings = match (asked, provider.documented_rps, provider.rps) {
            (Some(Rate::PerSecond(rate)), _, _) => {
                (rate, self.origin(&format!("providers.{id}.rps")).unwrap_or_default().to_owned())
            }
            (None, None, Rate::PerSecond(rate)) if seed.is_none() => (rate, "definition".to_owned()),
            (Some(Rate::Unlimited), _, _) | (None, _, _) => (MOST, "no limit is known".to_owned()),
        };
        let documented = provider.most_by_documents();
        let probed = seed.map(|seed| (seed.rps / OF_PROBED, "a little above what a probe found".to_owned()));
        let bounds = [Some(by_settings), documented, probed].into_iter().flatten();
        let (ceiling, bound) = bounds.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the first is always there");
        let most = overrides.and_then(|overrides| overrides.max_concurrency).unwrap_or(self.limits.max_concurrency);
        let concurrency = seed.and_then(|seed| seed.concurrency).map_or(most, |probed| probed.min(most));
        // Shown, so not more exact than it is.
        let ceiling = if ceiling > 1.0 { (ceiling * 100.0).floor() / 100.0 } else { ceiling };
        let rps = Rate::try_from(ceiling).unwrap_or(Rate::PerSecond(Rate::MIN));
        Provider { concurrency, rps, pacing: Pacing::Sought { seed, bound }, ..provider }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::resolved::Files;
    use super::*;
    use crate::definition::catalog::Catalog;

    const SAVED: &str = "[providers.data_go_kr]\nrps = 19.0\nconcurrency = 3\nprobed_at = \"2026-11-29T18:00:00Z\"\n\
                         probed_url = \"https://apis.data.go.kr\"\n";

    /// Calls in flight, calls a second and whether a probe says where to begin; `None` where the pace is set.
    #[track_caller]
    fn check(own: &str, saved: &str, flags: &[(&str, &str)], expected: Option<(u32, f64, bool)>) {
        let files = Files { own: Some((Path::new("/x/own.toml"), own)), saved: Some((Path::new("/x/saved.toml"), saved)) };
        let flags = flags.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned(), "--flag".to_owned()));
        let settings = Settings::load(files, [], flags).unwrap();
        let shipped = Provider::clone(Catalog::builtin().provider(&Name::literal("data_go_kr")).unwrap());
        let provider = match settings.providers.get("data_go_kr") {
            Some(overrides) => overrides.apply(&shipped).unwrap(),
            None => shipped,
        };
        let paced = settings.paced(provider);
        let found = match paced.pacing {
            Pacing::Set => None,
            Pacing::Sought { seed, .. } => Some((paced.concurrency, paced.rps.per_second().unwrap(), seed.is_some())),
        };
        assert_eq!(found, expected, "{own:?} {saved:?}");
    }

    #[test]
    fn a_pace_is_looked_for_where_the_nearest_setting_says_so() {
        let auto = "[limits]\nconcurrency = \"auto\"\n";
        check("", "", &[], None);
        check("", SAVED, &[], None);
        check(auto, "", &[], Some((16, 27.0, false)));
        check("[providers.data_go_kr]\nconcurrency = \"auto\"", "", &[], Some((16, 27.0, false)));
        check("", "", &[("providers.data_go_kr.concurrency", "auto")], Some((16, 27.0, false)));
        check(&format!("{auto}[providers.data_go_kr]\nconcurrency = 4"), "", &[], None);
        check(auto, "", &[("providers.data_go_kr.concurrency", "4")], None);
    }

    #[test]
    fn a_pace_that_is_looked_for_stays_below_all_that_is_known() {
        let auto = &[("providers.data_go_kr.concurrency", "auto")];
        check("", SAVED, auto, Some((3, 20.0, true)));
        check("[providers.data_go_kr]\nrps = 12", SAVED, auto, Some((3, 12.0, true)));
        check("[providers.data_go_kr]\nrps = 40", "", auto, Some((16, 27.0, false)));
        check("[providers.data_go_kr]\nrps = \"none\"", "", auto, Some((16, 27.0, false)));
        check("[providers.data_go_kr]\ndocumented_rps = \"none\"", "", auto, Some((16, 10.0, false)));
        check("[providers.data_go_kr]\ndocumented_rps = \"none\"\nrps = \"none\"", "", auto, Some((16, 50.0, false)));
        check("[providers.data_go_kr]\ndocumented_rps = \"none\"\nrps = 80", "", auto, Some((16, 80.0, false)));
        check("[providers.data_go_kr]\nmax_concurrency = 2", SAVED, auto, Some((2, 20.0, true)));
        check("[limits]\nmax_concurrency = 5", "", auto, Some((5, 27.0, false)));
        check("[providers.data_go_kr]\nbase_url = \"https://elsewhere\"", SAVED, auto, Some((16, 27.0, false)));
    }
}
