use std::collections::HashMap;

use jiff::Timestamp;

use crate::model::partition::Partition;
use crate::model::verdict::Verdict;

use super::selection::{STRIKES, Standing};

/// How a dataset stands: each wanted partition is in one of the four states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    pub wanted: u64,
    pub whole: u64,
    /// Never whole, and nothing is wrong: not asked yet, or deferred.
    pub waiting: u64,
    /// Failed or short; the next run asks again.
    pub gap: u64,
    /// Held, or failed on several days.
    pub needs_you: u64,
    pub oldest_check: Option<Timestamp>,
    pub newest_check: Option<Timestamp>,
}

/// State of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Whole,
    Waiting,
    Gap,
    NeedsYou,
}

/// The state of a partition that has this standing; `None` when it was never asked for.
pub fn state(standing: Option<&Standing>) -> State {
    let Some(standing) = standing else { return State::Waiting };
    match standing.last_verdict {
        Some(Verdict::Held) => State::NeedsYou,
        Some(Verdict::Failed | Verdict::Short) if standing.strikes >= STRIKES => State::NeedsYou,
        Some(Verdict::Failed | Verdict::Short) => State::Gap,
        Some(Verdict::Complete | Verdict::Empty | Verdict::Unverified | Verdict::Deferred | Verdict::Lost) | None => {
            if standing.is_published { State::Whole } else { State::Waiting }
        }
    }
}

/// How the wanted partitions of a dataset stand.
pub fn condition(wanted: &[Partition], standings: &HashMap<String, Standing>) -> Condition {
    let mut condition = Condition { wanted: wanted.len() as u64, ..Condition::default() };
    for partition in wanted {
        let standing = standings.get(&partition.key());
        *match state(standing) {
            State::Whole => &mut condition.whole,
            State::Waiting => &mut condition.waiting,
            State::Gap => &mut condition.gap,
            State::NeedsYou => &mut condition.needs_you,
        } += 1;
        if let Some(checked) = standing.and_then(|standing| standing.checked_at) {
            condition.oldest_check = Some(condition.oldest_check.map_or(checked, |oldest| oldest.min(checked)));
            condition.newest_check = Some(condition.newest_check.map_or(checked, |newest| newest.max(checked)));
        }
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::Name;

    #[test]
    fn a_partition_is_whole_waiting_a_gap_or_yours() {
        let check = |is_published: bool, last_verdict: Option<Verdict>, strikes: u32, expected: State| {
            let standing = Standing { is_published, last_verdict, strikes, ..Standing::default() };
            assert_eq!(state(Some(&standing)), expected, "{standing:?}");
        };
        assert_eq!(state(None), State::Waiting);
        check(true, Some(Verdict::Complete), 0, State::Whole);
        check(true, Some(Verdict::Empty), 0, State::Whole);
        check(true, Some(Verdict::Deferred), 0, State::Whole);
        check(false, Some(Verdict::Deferred), 0, State::Waiting);
        check(false, Some(Verdict::Lost), 0, State::Waiting);
        check(true, Some(Verdict::Failed), 1, State::Gap);
        check(false, Some(Verdict::Short), 2, State::Gap);
        check(false, Some(Verdict::Short), 3, State::NeedsYou);
        check(true, Some(Verdict::Held), 0, State::NeedsYou);
    }

    #[test]
    fn a_condition_counts_every_wanted_partition_once() {
        let partitions: Vec<Partition> =
            ["2024-01", "2024-02", "2024-03"].map(|month| Partition::new([(Name::literal("month"), month)])).into();
        let checked = |day: &str| Some(format!("2026-11-{day}T00:00:00Z").parse().unwrap());
        let whole = |checked_at| Standing { is_published: true, checked_at, ..Standing::default() };
        let standings = HashMap::from([(partitions[0].key(), whole(checked("02"))), (partitions[1].key(), whole(checked("01")))]);
        let condition = condition(&partitions, &standings);
        assert_eq!((condition.wanted, condition.whole, condition.waiting), (3, 2, 1));
        assert_eq!((condition.oldest_check, condition.newest_check), (checked("01"), checked("02")));
    }
}
