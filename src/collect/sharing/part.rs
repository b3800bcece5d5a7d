use crate::caller::Others;
use crate::model::job::RunId;
use crate::store::sharing::{Other, Terms};

/// What falls to one of the runs that keep limits together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) others: Others,
    /// Requests in flight over all runs, as the lowest of all settings has it.
    pub(super) fewest: u32,
    /// Requests that this run may have in flight: an equal part, at least 1.
    pub(super) permits: u32,
    /// Requests that all runs together may have in flight.
    pub(super) most: u32,
    /// What the others leave of them at this moment.
    pub(super) free: u32,
}

/// The lowest limit of any run holds for all. What does not divide goes to the earliest runs.
pub(super) fn part(run: RunId, own: Terms, others: &[Other]) -> Part {
    let count = u32::try_from(others.len()).unwrap_or(u32::MAX);
    let runs = count.saturating_add(1);
    let fewest = others.iter().map(|other| other.terms.concurrency).fold(own.concurrency, u32::min);
    let earlier = others.iter().filter(|other| other.run.0 < run.0).count();
    let is_one_more = (earlier as u64) < u64::from(fewest % runs);
    let most = fewest.max(runs);
    let held = others.iter().fold(0, |held: u32, other| held.saturating_add(other.held));
    Part {
        others: Others { count, slowest: others.iter().map(|other| other.terms.interval).max().unwrap_or_default() },
        fewest,
        permits: (fewest / runs + u32::from(is_one_more)).max(1),
        most,
        free: most.saturating_sub(held),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn terms(interval_ms: u64, concurrency: u32) -> Terms {
        Terms { interval: Duration::from_millis(interval_ms), concurrency }
    }

    /// The permits of runs 1, 2, 3 … that allow so many.
    fn permits(allowed: &[u32]) -> Vec<u32> {
        let run = |index: usize| RunId(index as i64 + 1);
        let part_of = |index: usize| {
            let other = |other: usize| Other { run: run(other), terms: terms(25, allowed[other]), held: 0 };
            let others: Vec<Other> = (0..allowed.len()).filter(|other| *other != index).map(other).collect();
            part(run(index), terms(25, allowed[index]), &others).permits
        };
        (0..allowed.len()).map(part_of).collect()
    }

    #[test]
    fn permits_are_divided_to_the_last_and_each_run_has_one() {
        let check = |allowed: &[u32], expected: &[u32]| assert_eq!(permits(allowed), expected, "{allowed:?}");
        check(&[6], &[6]);
        check(&[6, 6, 6], &[2, 2, 2]);
        check(&[7, 7, 7], &[3, 2, 2]);
        check(&[8, 8, 8], &[3, 3, 2]);
        check(&[8, 4, 8], &[2, 1, 1]);
        check(&[2, 2, 2], &[1, 1, 1]);
    }

    #[test]
    fn the_slowest_of_the_others_and_what_they_leave_are_told() {
        let other = |run, interval_ms, held| Other { run: RunId(run), terms: terms(interval_ms, 6), held };
        let alone = part(RunId(2), terms(25, 6), &[]);
        assert_eq!(alone, Part { others: Others { count: 0, slowest: Duration::ZERO }, fewest: 6, permits: 6, most: 6, free: 6 });
        let part = part(RunId(2), terms(25, 6), &[other(1, 50, 4), other(3, 0, 1)]);
        let others = Others { count: 2, slowest: Duration::from_millis(50) };
        assert_eq!(part, Part { others, fewest: 6, permits: 2, most: 6, free: 1 });
    }
}
