use std::time::Duration;

use crate::definition::dataset::Dataset;
use crate::definition::provider::{Pacing, Provider};
use crate::plan::night::Night;
use crate::report::number::{counted, duration, grouped};
use crate::report::table::aligned;
use crate::settings::error::Problem;
use crate::settings::resolved::Settings;

use super::announce::breaker_line;

/// What is reckoned with for one API: its limits, what it is meant to give, and what is known of it.
pub struct Api<'a> {
    pub settings: &'a Settings,
    pub dataset: &'a Dataset,
    pub provider: &'a Provider,
    /// Partitions its target names.
    pub wanted: u64,
    pub night: Night,
    /// How long the latest good answers took, in milliseconds; empty where none is known.
    pub latencies: &'a [u64],
}

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A night that needs more of the day's calls than this leaves too few for failures and corrections.
const MOST_OF_A_DAY: f64 = 0.9;

impl Api<'_> {
    /// The arithmetic of one API, a line each.
    pub fn text(&self) -> String {
        let Self { settings, dataset, provider, .. } = self;
        let quota = provider.daily_calls.map_or("no daily quota".to_owned(), |daily| format!("{} calls a day", grouped(daily)));
        let bounds = match &provider.pacing {
            Pacing::Set => "",
            Pacing::Sought { .. } => "auto, at most ",
        };
        let limits = format!("{bounds}{} in flight, {}, {quota}", provider.concurrency, provider.rps);
        let breaker = breaker_line(settings, provider, &settings.breakers.of(&provider.id, &dataset.id));
        let mut rows = vec![
            ["one call".to_owned(), self.one_call()],
            ["rate".to_owned(), self.rate()],
            ["usual night".to_owned(), self.usual_night()],
        ];
        if self.night.missing > 0 {
            rows.push(["still to get".to_owned(), self.still_to_get()]);
        }
        rows.push(["in trouble".to_owned(), breaker]);
        format!("{} ({}): {limits}\n{}", dataset.id, provider.id, aligned(&rows))
    }

    /// What cannot work, each with its arithmetic.
    pub fn problems(&self) -> Vec<Problem> {
        let Self { dataset, provider, night, .. } = self;
        let mut problems = Vec::new();
        let mut object = |key: &str, what: String| {
            let path = format!("providers.{}.{key}", provider.id);
            let place = self.settings.origin(&path).map_or_else(|| format!("definition of {}", provider.id), str::to_owned);
            problems.push(Problem { place, what });
        };
        let calls = night.calls.ceil() as u64;
        if let Some(daily) = provider.daily_calls {
            let left = daily.saturating_sub(provider.reserve_calls);
            if calls > daily {
                let what = format!(
                    "`daily_calls` ({}) can never hold a usual night of `{}`: {}; read fewer months again (`refresh.every_run`), or fewer regions",
                    grouped(daily),
                    dataset.id,
                    counted(calls, "call"),
                );
                object("daily_calls", what);
            } else if calls >= left && night.missing > 0 {
                let what = format!(
                    "`reserve_calls` ({}) leaves {} of the day's {} calls, and a usual night of `{}` needs {}: older months that are missing would never be asked for",
                    grouped(provider.reserve_calls),
                    grouped(left),
                    grouped(daily),
                    dataset.id,
                    grouped(calls),
                );
                object("reserve_calls", what);
            }
        }
        if let Some(time) = self.time(night.calls).filter(|time| *time > DAY) {
            let what = format!(
                "a usual night of `{}` takes {}, longer than a day: {} at {:.3}/s",
                dataset.id,
                duration(time),
                counted(calls, "call"),
                self.reachable().unwrap_or_default(),
            );
            object("rps", what);
        }
        problems
    }

    /// What will hurt.
    pub fn warnings(&self) -> Vec<String> {
        let Self { dataset, provider, night, .. } = self;
        let mut warnings = Vec::new();
        if let (Some(rate), Some(seconds)) = (provider.rps.per_second(), self.latency()) {
            let needed = (rate * seconds).ceil() as u64;
            if needed > u64::from(provider.concurrency) {
                let at_most = self.by_permits().unwrap_or_default();
                let of = format!("{} in flight never reach {}", provider.concurrency, provider.rps);
                warnings.push(format!("{of}, only {at_most:.1}/s: `concurrency = {needed}` would, or a lower `rps`"));
            }
        }
        if let Some(daily) = provider.daily_calls {
            let share = night.calls / daily as f64;
            if (MOST_OF_A_DAY..=1.0).contains(&share) {
                let of = format!("a usual night of {} needs {:.0} % of the day's calls", dataset.id, share * 100.0);
                warnings.push(format!("{of}: what fails has no calls left to be asked again"));
            }
        }
        warnings
    }

    fn one_call(&self) -> String {
        let Settings { retry, http, .. } = self.settings;
        let tries = if retry.max_retries == 0 { "one try".to_owned() } else { format!("{} tries", retry.max_retries + 1) };
        let waits = retry.waits().into_iter().map(|wait| format!("{wait:?}")).collect::<Vec<_>>().join(" + ");
        let waits = if waits.is_empty() { String::new() } else { format!(" and {waits} between them") };
        let limit = retry.total_timeout.map_or(String::new(), |limit| format!(", ended at {limit:?}"));
        let longest = duration(retry.longest_call(http));
        format!("at worst {longest}: {tries} of {:?}{waits}{limit}", retry.longest_attempt(http))
    }

    fn rate(&self) -> String {
        let permits = self.provider.concurrency;
        match (self.latency(), self.by_permits(), self.provider.rps.per_second()) {
            (Some(seconds), Some(by_permits), rate) => {
                let known = format!("{} took {:.0} ms on the average", answers(self.latencies.len()), seconds * 1000.0);
                let bound = if rate.is_some_and(|rate| rate <= by_permits) { "the rate" } else { "calls in flight" };
                let reached = rate.map_or(by_permits, |rate| rate.min(by_permits));
                format!("{reached:.1}/s, bound by {bound}: {known}, so {permits} in flight reach {by_permits:.1}/s")
            }
            (None, _, Some(rate)) | (Some(_), None, Some(rate)) => {
                let within = f64::from(permits) / rate * 1000.0;
                format!("{rate}/s as long as answers take {within:.0} ms or less; none is known yet")
            }
            (None, _, None) | (Some(_), None, None) => {
                format!("as fast as {permits} in flight are answered; no answer is known yet")
            }
        }
    }

    fn usual_night(&self) -> String {
        let Night { partitions, calls, pages, .. } = self.night;
        let unit = if pages.is_some() { "" } else { " (a page each, as long as none is known)" };
        let [partitions, calls_told] = [partitions, calls].map(|count| grouped(count.ceil() as u64));
        let time = self.time(calls).map_or(String::new(), |time| format!(" in {}", duration(time)));
        let share = self.provider.daily_calls.map_or(String::new(), |daily| {
            format!(", {:.1} % of the day's {}", (calls / daily as f64 * 100.0).abs(), grouped(daily))
        });
        format!("{partitions} of {}: {calls_told} calls{unit}{time}{share}", counted(self.wanted, "partition"))
    }

    fn still_to_get(&self) -> String {
        let Night { missing, missing_calls, .. } = self.night;
        let time = self.time(missing_calls as f64).map_or(String::new(), |time| format!(" in {}", duration(time)));
        let nights = match (self.provider.daily_calls, self.calls_for_backlog()) {
            (None, _) => String::new(),
            (Some(_), Some(a_night)) => {
                format!(", spread by the quota over {}", counted(missing_calls.div_ceil(a_night), "night"))
            }
            (Some(_), None) => ", for which the quota leaves no room".to_owned(),
        };
        format!("{}: {} or more{time}{nights}", counted(missing, "partition"), counted(missing_calls, "call"))
    }

    /// Calls of a day that older months may have after a usual night; `None` where that is none.
    fn calls_for_backlog(&self) -> Option<u64> {
        let left = self.provider.daily_calls?.saturating_sub(self.provider.reserve_calls);
        left.checked_sub(self.night.calls.ceil() as u64).filter(|calls| *calls > 0)
    }

    /// Mean time of a good answer in seconds.
    fn latency(&self) -> Option<f64> {
        let sum: u64 = self.latencies.iter().sum();
        // The ledger rounds to whole milliseconds.
        (!self.latencies.is_empty()).then(|| (sum as f64 / self.latencies.len() as f64).max(0.5) / 1000.0)
    }

    /// Calls a second that the permits let through.
    fn by_permits(&self) -> Option<f64> {
        self.latency().map(|seconds| f64::from(self.provider.concurrency) / seconds)
    }

    /// Calls a second in the end, where anything bounds them.
    fn reachable(&self) -> Option<f64> {
        match (self.provider.rps.per_second(), self.by_permits()) {
            (Some(rate), Some(by_permits)) => Some(rate.min(by_permits)),
            (rate, by_permits) => rate.or(by_permits),
        }
    }

    fn time(&self, calls: f64) -> Option<Duration> {
        self.reachable().map(|rate| Duration::from_secs_f64(calls / rate))
    }
}

fn answers(count: usize) -> String {
    counted(count as u64, "good answer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::catalog::Catalog;
    use crate::model::rate::Rate;

    /// 2 in flight, 10/s, 1,000 calls a day.
    fn provider() -> Provider {
        let catalog = Catalog::builtin();
        let shipped = catalog.providers().next().unwrap();
        Provider {
            concurrency: 2,
            rps: Rate::PerSecond(10.0),
            daily_calls: Some(1000),
            reserve_calls: 0,
            ..Provider::clone(shipped)
        }
    }

    fn of(provider: &Provider, night: Night, latencies: &[u64]) -> (String, Vec<String>, Vec<String>) {
        let (catalog, settings) = (Catalog::builtin(), Settings::defaults());
        let dataset = catalog.datasets().next().unwrap();
        let api = Api { settings: &settings, dataset, provider, wanted: 400, night, latencies };
        let problems = api.problems().into_iter().map(|problem| format!("{}: {}", problem.place, problem.what)).collect();
        (api.text(), problems, api.warnings())
    }

    fn a_night_of(calls: f64, missing: u64) -> Night {
        Night { partitions: calls, calls, missing, missing_calls: missing, pages: Some(1.0) }
    }

    fn assert_says(texts: &[String], parts: &[&str]) {
        assert_eq!(texts.len(), parts.len(), "{texts:?}");
        for (text, part) in texts.iter().zip(parts) {
            assert!(text.contains(part), "`{part}` in {text}");
        }
    }

    #[test]
    fn a_night_that_fits_is_told_with_its_time_and_share() {
        let (text, problems, warnings) = of(&provider(), a_night_of(100.0, 0), &[100, 140]);
        for said in ["at worst 6 min 22 s: 5 tries of 60.5s and 2s + 6s + 18s + 54s between them", "10.0/s, bound by the rate"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        for said in ["took 120 ms on the average, so 2 in flight reach 16.7/s", "100 calls in 10.0 s, 10.0 % of the day's 1,000"]
        {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("still to get"), "{text}");
        assert_says(&problems, &[]);
        assert_says(&warnings, &[]);
    }

    #[test]
    fn what_is_missing_waits_for_the_calls_that_usual_nights_leave() {
        let (text, problems, _) = of(&Provider { reserve_calls: 200, ..provider() }, a_night_of(300.0, 1200), &[]);
        assert!(
            text.contains("1,200 partitions: 1,200 calls or more in 2 min 00 s, spread by the quota over 3 nights"),
            "{text}"
        );
        assert_says(&problems, &[]);
        let (text, problems, _) = of(&Provider { reserve_calls: 700, ..provider() }, a_night_of(300.0, 1), &[]);
        assert!(text.contains("for which the quota leaves no room"), "{text}");
        assert_says(&problems, &["`reserve_calls` (700) leaves 300 of the day's 1,000 calls"]);
        let (_, problems, _) = of(&Provider { reserve_calls: 700, ..provider() }, a_night_of(300.0, 0), &[]);
        assert_says(&problems, &[]);
    }

    #[test]
    fn a_night_beyond_its_day_is_refused_with_the_arithmetic() {
        let (_, problems, warnings) = of(&provider(), a_night_of(1001.0, 0), &[]);
        assert_says(&problems, &["`daily_calls` (1,000) can never hold a usual night of"]);
        assert_says(&warnings, &[]);
        let slow = Provider { daily_calls: None, rps: Rate::PerSecond(0.01), ..provider() };
        assert_says(&of(&slow, a_night_of(864.0, 0), &[]).1, &[]);
        assert_says(&of(&slow, a_night_of(865.0, 0), &[]).1, &["takes 24 h 01 min, longer than a day: 865 calls at 0.010/s"]);
    }

    #[test]
    fn a_rate_that_the_permits_never_reach_and_a_day_without_room_are_warned_of() {
        assert_says(&of(&provider(), a_night_of(1.0, 0), &[200]).2, &[]);
        let said = "2 in flight never reach 10/s, only 9.9/s: `concurrency = 3` would, or a lower `rps`";
        assert_says(&of(&provider(), a_night_of(1.0, 0), &[201, 202]).2, &[said]);
        assert_says(&of(&provider(), a_night_of(899.0, 0), &[]).2, &[]);
        assert_says(&of(&provider(), a_night_of(900.0, 0), &[]).2, &["needs 90 % of the day's calls"]);
    }
}
