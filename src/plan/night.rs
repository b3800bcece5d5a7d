use std::collections::HashMap;

use jiff::Timestamp;

use super::selection::{Circumstances, Only, Reason, Selected, Standing, select};
use crate::model::month::Month;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::settings::resolved::RefreshSettings;

/// What a dataset costs in a night on which everything is whole already, and what it costs to get there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Night {
    /// Partitions read again, on the average of a week.
    pub partitions: f64,
    /// Calls of those: the pages a partition had when last whole, else one.
    pub calls: f64,
    /// Partitions that were never whole.
    pub missing: u64,
    /// Calls of those: at least one each, more where a partition has more pages.
    pub missing_calls: u64,
    /// Pages of a partition that was whole, on the average; `None` where none was.
    pub pages: Option<f64>,
}

/// Nights in a week: what is refreshed weekly is due on one of them.
const NIGHTS: f64 = 7.0;

/// The usual night of a dataset; `month` is the current one in the provider's zone.
pub fn night(
    wanted: &[Partition],
    standings: &HashMap<String, Standing>,
    refresh: RefreshSettings,
    month: Month,
    now: Timestamp,
) -> Night {
    let known: Vec<f64> = wanted.iter().filter_map(|partition| standings.get(&partition.key())?.pages).map(f64::from).collect();
    let pages = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let due = |checked_at: Timestamp| {
        let whole = wanted.iter().map(|partition| {
            let key = partition.key();
            let pages = standings.get(&key).and_then(|standing| standing.pages);
            (key, whole_since(checked_at, pages))
        });
        select(&(), wanted, &whole.collect(), Circumstances { only: Only::Due, refresh, now, month }).selected
    };
    // Read last at the beginning of time, everything that is refreshed weekly is due; read just now, nothing of it is.
    let weekly = due(Timestamp::UNIX_EPOCH).into_iter().filter(|item| item.reason == Reason::Refresh).collect::<Vec<_>>();
    let nightly = due(now);
    let missing =
        wanted.iter().filter(|partition| !standings.get(&partition.key()).is_some_and(|standing| standing.is_published));
    let missing = missing.count() as u64;
    Night {
        partitions: nightly.len() as f64 + weekly.len() as f64 / NIGHTS,
        calls: calls(&nightly, pages) + calls(&weekly, pages) / NIGHTS,
        missing,
        missing_calls: (missing as f64 * pages.unwrap_or(1.0).max(1.0)).ceil() as u64,
        pages,
    }
}

fn whole_since(checked_at: Timestamp, pages: Option<u32>) -> Standing {
    let verdict = Some(Verdict::Complete);
    Standing { is_published: true, last_verdict: verdict, checked_at: Some(checked_at), pages, ..Standing::default() }
}

fn calls(selected: &[Selected<()>], usual: Option<f64>) -> f64 {
    selected.iter().map(|item| item.pages.map_or(usual.unwrap_or(1.0), f64::from).max(1.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::Name;

    fn months(count: u32) -> Vec<Partition> {
        let current: Month = "2026-11".parse().unwrap();
        let text = |back: u32| current.back(back).to_string();
        (0..count).map(|back| Partition::new([(Name::literal("month"), text(back).as_str())])).collect()
    }

    fn of(wanted: &[Partition], standings: &HashMap<String, Standing>) -> Night {
        let refresh = RefreshSettings { every_run: 3, weekly: 10 };
        night(wanted, standings, refresh, "2026-11".parse().unwrap(), "2026-11-30T03:00:00Z".parse().unwrap())
    }

    #[test]
    fn a_usual_night_reads_recent_months_and_a_seventh_of_those_refreshed_weekly() {
        let wanted = months(24);
        let night = of(&wanted, &HashMap::new());
        assert_eq!((night.partitions, night.calls, night.missing, night.missing_calls), (4.0, 4.0, 24, 24));
        assert_eq!(night.pages, None);
    }

    #[test]
    fn known_pages_count_and_stand_for_those_that_are_not_known() {
        let wanted = months(24);
        let at = "2026-11-29T03:00:00Z".parse().unwrap();
        let standings = [(0, 5), (1, 3)].map(|(index, pages): (usize, u32)| (wanted[index].key(), whole_since(at, Some(pages))));
        let night = of(&wanted, &HashMap::from(standings));
        assert_eq!((night.pages, night.missing, night.missing_calls), (Some(4.0), 22, 88));
        assert_eq!(night.calls, 5.0 + 3.0 + 4.0 + 4.0);
    }

    #[test]
    fn a_source_without_months_is_read_as_a_whole_each_night() {
        let wanted: Vec<_> = ["a", "b"].map(|region| Partition::new([(Name::literal("region"), region)])).into();
        assert_eq!(of(&wanted, &HashMap::new()).partitions, 2.0);
    }
}
