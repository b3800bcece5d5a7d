use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use crate::model::month::Month;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;

/// What the ledger knows of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether a snapshot of it is published.
    pub is_published: bool,
    /// Verdict of its latest job that ended.
    pub last_verdict: Option<Verdict>,
    /// Pages of its published snapshot.
    pub pages: Option<u32>,
}

/// Which of the wanted partitions a run asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    /// Missing and failed ones.
    #[default]
    Due,
    /// Those that were never published and did not fail.
    Missing,
    /// Those whose latest job failed, was short or lost.
    Failed,
    /// All of them, whole or not.
    All,
}

/// Why a partition is asked for; the order of the kinds is the order of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Missing, of the current month or one of the two before.
    Recent,
    /// Its latest job failed, was short or lost.
    Failed,
    /// Whole already, asked for all the same.
    Refresh,
    /// Missing, of an older month.
    Backfill,
}

/// A partition a run will collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected<D> {
    pub dataset: D,
    pub partition: Partition,
    pub reason: Reason,
    /// Pages it had when it was last whole.
    pub pages: Option<u32>,
}

/// Months that are still filling up: the current one and those before it.
pub const RECENT_MONTHS: u32 = 3;

/// The partitions of one dataset that a run asks for, and how many wanted ones it leaves out as whole or not chosen.
pub fn select<D: Clone>(
    dataset: &D,
    wanted: &[Partition],
    standings: &HashMap<String, Standing>,
    only: Only,
    current: Month,
) -> Vec<Selected<D>> {
    let mut selected = Vec::new();
    for partition in wanted {
        let standing = standings.get(&partition.key());
        if let Some(reason) = reason(partition, standing, only, current) {
            let pages = standing.and_then(|standing| standing.pages);
            selected.push(Selected { dataset: dataset.clone(), partition: partition.clone(), reason, pages });
        }
    }
    selected
}

/// Puts the partitions of all datasets in the order of the work: recent, failed, refresh, backfill newest first; within
/// a class the biggest first.
pub fn order<D>(selected: &mut [Selected<D>]) {
    selected.sort_by_cached_key(|item| {
        let month = month_of(&item.partition);
        let newest_first = match item.reason {
            Reason::Backfill => Reverse(month),
            Reason::Recent | Reason::Failed | Reason::Refresh => Reverse(None),
        };
        (item.reason, newest_first, Reverse(item.pages.unwrap_or(0)), Reverse(month))
    });
}

fn reason(partition: &Partition, standing: Option<&Standing>, only: Only, current: Month) -> Option<Reason> {
    let is_published = standing.is_some_and(|standing| standing.is_published);
    let has_failed = match standing.and_then(|standing| standing.last_verdict) {
        Some(Verdict::Short | Verdict::Failed | Verdict::Lost) => true,
        Some(Verdict::Complete | Verdict::Empty | Verdict::Unverified | Verdict::Held | Verdict::Deferred) | None => false,
    };
    let is_recent = month_of(partition).is_none_or(|month| month.until(current) < RECENT_MONTHS);
    let missing = if is_recent { Reason::Recent } else { Reason::Backfill };
    match (only, has_failed, is_published) {
        (Only::Due | Only::Failed | Only::All, true, _) => Some(Reason::Failed),
        (Only::Missing, true, _) | (Only::Failed, false, _) => None,
        (Only::Due | Only::Missing | Only::All, false, false) => Some(missing),
        (Only::Due | Only::Missing, false, true) => None,
        (Only::All, false, true) => Some(Reason::Refresh),
    }
}

fn month_of(partition: &Partition) -> Option<Month> {
    partition.value("month").and_then(|month| month.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::Name;

    fn partition(month: &str) -> Partition {
        Partition::new([(Name::literal("region"), "11110"), (Name::literal("month"), month)])
    }

    fn standing(is_published: bool, last_verdict: Option<Verdict>) -> Standing {
        Standing { is_published, last_verdict, pages: None }
    }

    #[test]
    fn what_is_due_follows_from_the_latest_job_and_the_published_snapshot() {
        use Reason::{Backfill, Failed, Recent, Refresh};
        let check = |standing: Option<Standing>, month: &str, expected: [Option<Reason>; 4]| {
            let of = |only| reason(&partition(month), standing.as_ref(), only, "2026-11".parse().unwrap());
            let reasons = [Only::Due, Only::Missing, Only::Failed, Only::All].map(of);
            assert_eq!(reasons, expected, "{standing:?} {month}");
        };
        check(None, "2026-11", [Some(Recent), Some(Recent), None, Some(Recent)]);
        check(None, "2026-09", [Some(Recent), Some(Recent), None, Some(Recent)]);
        check(None, "2026-08", [Some(Backfill), Some(Backfill), None, Some(Backfill)]);
        let whole = standing(true, Some(Verdict::Complete));
        check(Some(whole), "2024-01", [None, None, None, Some(Refresh)]);
        let deferred = standing(false, Some(Verdict::Deferred));
        check(Some(deferred), "2024-01", [Some(Backfill), Some(Backfill), None, Some(Backfill)]);
        for verdict in [Verdict::Short, Verdict::Failed, Verdict::Lost] {
            for is_published in [false, true] {
                let failed = standing(is_published, Some(verdict));
                check(Some(failed), "2024-01", [Some(Failed), None, Some(Failed), Some(Failed)]);
            }
        }
        check(Some(standing(true, Some(Verdict::Empty))), "2024-01", [None, None, None, Some(Refresh)]);
        check(Some(standing(true, Some(Verdict::Deferred))), "2024-01", [None, None, None, Some(Refresh)]);
    }

    #[test]
    fn fresh_months_come_first_and_a_backfill_goes_back_in_time() {
        let item = |month: &str, reason, pages| Selected { dataset: (), partition: partition(month), reason, pages };
        let mut items = [
            item("2020-01", Reason::Backfill, None),
            item("2021-05", Reason::Backfill, Some(9)),
            item("2024-01", Reason::Refresh, Some(1)),
            item("2022-01", Reason::Failed, Some(2)),
            item("2026-11", Reason::Recent, Some(1)),
            item("2023-02", Reason::Failed, Some(3)),
            item("2026-10", Reason::Recent, Some(5)),
        ];
        order(&mut items);
        let months: Vec<_> = items.iter().filter_map(|item| item.partition.value("month")).collect();
        assert_eq!(months, ["2026-10", "2026-11", "2023-02", "2022-01", "2024-01", "2021-05", "2020-01"]);
    }
}
