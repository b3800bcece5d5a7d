use std::collections::BTreeMap;
use std::time::Duration;

use super::error::Problem;
use super::http::HttpSettings;
use super::reader::Reader;
use super::resolved::Settings;
use super::retry::RetrySettings;
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::model::rate::Rate;

/// When an API is left alone because its server is in trouble: one template, and what providers and datasets have of
/// their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakers {
    pub template: BreakerSettings,
    /// By provider or dataset.
    pub overrides: BTreeMap<String, BreakerOverrides>,
}

/// The breaker of one API.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakerSettings {
    pub counts: BreakerCounts,
    /// How far back outcomes are looked at.
    pub window: Duration,
    /// Fewer outcomes than this say nothing.
    pub min_calls: u32,
    /// Failing outcomes of a hundred that open it.
    pub failure_rate: f64,
    /// As many failures without a success between them open it, however few outcomes there are.
    pub failures_in_a_row: u32,
    /// How long it is open the first time; twice as long each further time.
    pub open_for: Duration,
    pub max_open_for: Duration,
    /// Calls that find out whether the server is back.
    pub half_open_calls: u32,
    /// A trouble that lasts longer is not sat out: jobs are deferred.
    pub patience: Duration,
}

/// What counts as an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerCounts {
    /// Every request, retries among them.
    Attempts,
    /// What a call comes to in the end.
    Calls,
    /// Nothing: there is no breaker.
    None,
}

/// What was set for one provider or dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BreakerOverrides {
    pub counts: Option<BreakerCounts>,
    pub window: Option<Duration>,
    pub min_calls: Option<u32>,
    pub failure_rate: Option<f64>,
    pub failures_in_a_row: Option<u32>,
    pub open_for: Option<Duration>,
    pub max_open_for: Option<Duration>,
    pub half_open_calls: Option<u32>,
    pub patience: Option<Duration>,
}

/// How many outcomes a window holds at the most where every request takes as long as it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    pub calls: u32,
    /// `2 permits x 180s / 60.5s = 5`
    pub arithmetic: String,
}

impl Breakers {
    /// No API has one.
    pub fn none() -> Self {
        let template = BreakerSettings { counts: BreakerCounts::None, ..BreakerSettings::default() };
        Self { template, overrides: BTreeMap::new() }
    }

    /// The breaker of a dataset: its own values, then its provider's, then the template's.
    pub fn of(&self, provider: &Name, dataset: &Name) -> BreakerSettings {
        let mut settings = self.template.clone();
        for name in [provider, dataset] {
            if let Some(overrides) = self.overrides.get(name.as_str()) {
                overrides.apply(&mut settings);
            }
        }
        settings
    }

    pub(super) fn read(read: &Reader<'_>) -> Self {
        let template = BreakerOverrides::read(read, "breaker").whole();
        Self { template, overrides: read.named("breaker", BreakerOverrides::read) }
    }
}

impl BreakerSettings {
    /// How many outcomes its window can hold in the worst case: each request held by a permit until its total timeout.
    pub fn reach(&self, permits: u32, rate: Rate, http: &HttpSettings, retry: &RetrySettings) -> Reach {
        let attempt = retry.longest_attempt(http);
        let tries = retry.max_retries + 1;
        let (outcome, told_outcome) = match self.counts {
            BreakerCounts::Attempts | BreakerCounts::None => (attempt, format!("{attempt:?}")),
            BreakerCounts::Calls => (attempt * tries, format!("({tries} tries x {attempt:?})")),
        };
        let window = self.window.as_secs_f64();
        let by_permits = f64::from(permits) * window / outcome.as_secs_f64();
        let by_rate = rate.per_second().map_or(f64::INFINITY, |rate| rate * window);
        let told = |permits: &str, count: f64| format!("{permits} = {count:.0}", count = count.floor());
        let window = self.window;
        let arithmetic = if by_permits <= by_rate {
            told(&format!("{permits} permits x {window:?} / {told_outcome}"), by_permits)
        } else {
            told(&format!("{rate} x {window:?}"), by_rate)
        };
        Reach { calls: by_permits.min(by_rate).min(f64::from(u32::MAX)) as u32, arithmetic }
    }
}

impl Settings {
    /// Windows set by the user that can never hold the outcomes they wait for, each with its arithmetic.
    ///
    /// `apis` are the providers, the user's settings in front, each with one of its datasets.
    pub fn check_windows<'a>(&self, apis: impl Iterator<Item = (&'a Provider, &'a Name)>) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for (provider, dataset) in apis {
            let breaker = self.breakers.of(&provider.id, dataset);
            let reach = breaker.reach(provider.concurrency, provider.rps, &self.http, &self.retry);
            if reach.calls >= breaker.min_calls || breaker.counts == BreakerCounts::None {
                continue;
            }
            let paths = [dataset, &provider.id].map(|name| format!("breaker.{name}")).into_iter().chain(["breaker".to_owned()]);
            let mut set = paths.flat_map(|path| ["window", "min_calls"].map(|key| format!("{path}.{key}")));
            let Some(path) = set.find(|path| self.origin(path).is_some_and(|origin| origin != "default")) else { continue };
            let what = format!(
                "`breaker.window` ({:?}) can never hold `breaker.min_calls` ({}) of `{}` where its server does not answer: {}",
                breaker.window, breaker.min_calls, provider.id, reach.arithmetic
            );
            let problem = Problem { place: self.origin(&path).unwrap_or("default").to_owned(), what };
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        problems
    }

    /// What is wrong with a breaker by itself.
    pub(super) fn check_breakers(&self, mut object: impl FnMut(&str, String)) {
        let mut check = |path: String, breaker: &BreakerSettings| {
            if breaker.max_open_for < breaker.open_for {
                let what = format!(
                    "`{path}.max_open_for` ({:?}) is shorter than `{path}.open_for` ({:?})",
                    breaker.max_open_for, breaker.open_for
                );
                let set = ["max_open_for", "open_for"].map(|key| format!("{path}.{key}"));
                object(
                    set.iter().find(|path| self.origin(path).is_some_and(|origin| origin != "default")).unwrap_or(&set[0]),
                    what,
                );
            }
            if breaker.open_for.is_zero() {
                object(&format!("{path}.open_for"), format!("`{path}.open_for` must be longer than 0s"));
            }
            if breaker.window.is_zero() {
                object(&format!("{path}.window"), format!("`{path}.window` must be longer than 0s"));
            }
        };
        check("breaker".to_owned(), &self.breakers.template);
        for (name, overrides) in &self.breakers.overrides {
            let mut breaker = self.breakers.template.clone();
            overrides.apply(&mut breaker);
            if breaker != self.breakers.template {
                check(format!("breaker.{name}"), &breaker);
            }
        }
    }
}

impl BreakerOverrides {
    fn read(read: &Reader<'_>, path: &str) -> Self {
        let at = |key: &str| format!("{path}.{key}");
        Self {
            counts: read.optional(&at("counts")).and_then(BreakerCounts::from_spelling),
            window: read.optional_duration(&at("window")),
            min_calls: read.optional_number(&at("min_calls")),
            failure_rate: read.optional_number(&at("failure_rate")),
            failures_in_a_row: read.optional_number(&at("failures_in_a_row")),
            open_for: read.optional_duration(&at("open_for")),
            max_open_for: read.optional_duration(&at("max_open_for")),
            half_open_calls: read.optional_number(&at("half_open_calls")),
            patience: read.optional_duration(&at("patience")),
        }
    }

    fn apply(&self, settings: &mut BreakerSettings) {
        let template = settings.clone();
        *settings = BreakerSettings {
            counts: self.counts.unwrap_or(template.counts),
            window: self.window.unwrap_or(template.window),
            min_calls: self.min_calls.unwrap_or(template.min_calls),
            failure_rate: self.failure_rate.unwrap_or(template.failure_rate),
            failures_in_a_row: self.failures_in_a_row.unwrap_or(template.failures_in_a_row),
            open_for: self.open_for.unwrap_or(template.open_for),
            max_open_for: self.max_open_for.unwrap_or(template.max_open_for),
            half_open_calls: self.half_open_calls.unwrap_or(template.half_open_calls),
            patience: self.patience.unwrap_or(template.patience),
        };
    }

    /// The template, of which the defaults set everything.
    fn whole(self) -> BreakerSettings {
        let set = "the defaults set it; a test compares them with the schema";
        BreakerSettings {
            counts: self.counts.expect(set),
            window: self.window.expect(set),
            min_calls: self.min_calls.expect(set),
            failure_rate: self.failure_rate.expect(set),
            failures_in_a_row: self.failures_in_a_row.expect(set),
            open_for: self.open_for.expect(set),
            max_open_for: self.max_open_for.expect(set),
            half_open_calls: self.half_open_calls.expect(set),
            patience: self.patience.expect(set),
        }
    }
}

impl BreakerCounts {
    fn from_spelling(text: &str) -> Option<Self> {
        match text {
            "attempts" => Some(Self::Attempts),
            "calls" => Some(Self::Calls),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

impl Default for BreakerSettings {
    /// The values of `config/default.toml`.
    fn default() -> Self {
        Settings::defaults().breakers.template
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_reaches_as_many_outcomes_as_permits_and_rate_allow_in_the_worst_case() {
        let http = HttpSettings::default();
        let retry = RetrySettings::default();
        let check = |counts, permits, rate: Rate, calls: u32, arithmetic: &str| {
            let breaker = BreakerSettings { counts, ..BreakerSettings::default() };
            let reach = breaker.reach(permits, rate, &http, &retry);
            assert_eq!((reach.calls, reach.arithmetic.as_str()), (calls, arithmetic));
        };
        let rate = Rate::PerSecond;
        check(BreakerCounts::Attempts, 2, rate(10.0), 5, "2 permits x 180s / 60.5s = 5");
        check(BreakerCounts::Attempts, 16, Rate::Unlimited, 47, "16 permits x 180s / 60.5s = 47");
        check(BreakerCounts::Calls, 16, rate(40.0), 9, "16 permits x 180s / (5 tries x 60.5s) = 9");
        check(BreakerCounts::Attempts, 16, rate(0.1), 18, "0.1/s x 180s = 18");
    }

    #[test]
    fn a_dataset_wins_over_its_provider_over_the_template() {
        let (provider, dataset) = (Name::literal("data_go_kr"), Name::literal("apt_trade"));
        let overrides = [
            ("data_go_kr", BreakerOverrides { min_calls: Some(7), open_for: Some(Duration::from_secs(9)), ..Default::default() }),
            ("apt_trade", BreakerOverrides { min_calls: Some(8), ..Default::default() }),
        ];
        let overrides = overrides.map(|(name, overrides)| (name.to_owned(), overrides)).into();
        let breakers = Breakers { template: BreakerSettings::default(), overrides };
        let settings = breakers.of(&provider, &dataset);
        assert_eq!((settings.min_calls, settings.open_for), (8, Duration::from_secs(9)));
        assert_eq!(breakers.of(&provider, &Name::literal("apt_rent")).min_calls, 7);
        assert_eq!(breakers.of(&Name::literal("other"), &Name::literal("deals")), breakers.template);
    }
}
