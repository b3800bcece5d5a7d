use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::model::rate::Rate;

use super::selection::{Reason, Selected};

/// What a run will cost, before anything is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub partitions: u64,
    pub by_reason: BTreeMap<Reason, u64>,
    /// Calls expected: the pages a partition had when last whole, else one.
    pub calls: u64,
    /// Seconds at the cap; `null` when nothing limits the rate.
    pub seconds: Option<f64>,
    /// Share of the daily quota of the dataset that needs most of its own; `null` without a quota.
    pub quota_share: Option<f64>,
    /// Nights until all is done within the quota; 1 when it fits one day, 0 when nothing is due.
    pub nights: u64,
}

/// The limits a cost is reckoned with.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub rate: Rate,
    /// Calls a day for each dataset.
    pub daily_calls: Option<u64>,
    /// So many of them are not for older months that are missing.
    pub reserve_calls: u64,
}

/// What the selected partitions will cost; `limits` gives those of each dataset.
pub fn cost<D: Ord + Clone>(selected: &[Selected<D>], limits: impl Fn(&D) -> Limits) -> Cost {
    let mut by_reason = BTreeMap::new();
    let mut by_dataset: BTreeMap<D, u64> = BTreeMap::new();
    let mut backlog: BTreeMap<D, u64> = BTreeMap::new();
    for item in selected {
        *by_reason.entry(item.reason).or_insert(0) += 1;
        let calls = u64::from(item.pages.unwrap_or(1).max(1));
        *by_dataset.entry(item.dataset.clone()).or_insert(0) += calls;
        if item.reason == Reason::Backfill {
            *backlog.entry(item.dataset.clone()).or_insert(0) += calls;
        }
    }
    let mut seconds = Some(Duration::ZERO);
    let mut quota_share: Option<f64> = None;
    let mut nights = u64::from(!selected.is_empty());
    for (dataset, &calls) in &by_dataset {
        let limits = limits(dataset);
        let own = limits.rate.per_second().map(|rate| Duration::from_secs_f64(calls as f64 / rate));
        seconds = seconds.zip(own).map(|(sum, own)| sum + own);
        if let Some(daily) = limits.daily_calls {
            let share = calls as f64 / daily as f64;
            quota_share = Some(quota_share.unwrap_or(0.0).max(share));
            let for_backlog = daily.saturating_sub(limits.reserve_calls).max(1);
            let backlog = backlog.get(dataset).copied().unwrap_or(0);
            nights = nights.max(calls.div_ceil(daily)).max(backlog.div_ceil(for_backlog));
        }
    }
    Cost {
        partitions: selected.len() as u64,
        by_reason,
        calls: by_dataset.values().sum(),
        seconds: seconds.map(|seconds| (seconds.as_secs_f64() * 10.0).round() / 10.0),
        quota_share: quota_share.map(|share| (share * 10_000.0).round() / 10_000.0),
        nights,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::Name;
    use crate::model::partition::Partition;

    fn items(dataset: &'static str, pages: &[Option<u32>]) -> Vec<Selected<&'static str>> {
        let partition = Partition::new([(Name::literal("month"), "2024-01")]);
        pages.iter().map(|&pages| Selected { dataset, partition: partition.clone(), reason: Reason::Backfill, pages }).collect()
    }

    #[test]
    fn a_cost_counts_known_pages_and_one_call_for_each_unknown_partition() {
        let limits = |_: &&str| Limits { rate: Rate::PerSecond(2.0), daily_calls: Some(4), reserve_calls: 0 };
        let all = [items("a", &[Some(3), None, Some(0)]), items("b", &[None])].concat();
        let cost = cost(&all, limits);
        assert_eq!((cost.partitions, cost.calls, cost.seconds, cost.quota_share, cost.nights), (4, 6, Some(3.0), Some(1.25), 2));
        assert_eq!(cost.by_reason, BTreeMap::from([(Reason::Backfill, 4)]));
        let kept_back = |dataset: &&str| Limits { reserve_calls: 3, ..limits(dataset) };
        assert_eq!(super::cost(&all, kept_back).nights, 5, "one call a day for the five of old months");
    }

    #[test]
    fn nothing_due_costs_nothing() {
        let cost = cost::<&str>(&[], |_| Limits { rate: Rate::PerSecond(1.0), daily_calls: Some(1), reserve_calls: 0 });
        assert_eq!((cost.calls, cost.seconds, cost.quota_share, cost.nights), (0, Some(0.0), None, 0));
    }

    #[test]
    fn no_limit_gives_no_time() {
        let cost = cost(&items("a", &[None]), |_| Limits { rate: Rate::Unlimited, daily_calls: None, reserve_calls: 0 });
        assert_eq!((cost.seconds, cost.quota_share, cost.nights), (None, None, 1));
    }
}
