use serde::Serialize;

use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;

/// What became of the partitions of a run.
#[derive(Clone, Debug, Default)]
pub struct Harvest {
    pub partitions: PartitionCounts,
    /// Of the partitions, those that another run collected meanwhile.
    pub elsewhere: u64,
    pub rows: RowCounts,
    pub gaps_total: u64,
    pub gaps: Vec<Gap>,
    /// Jobs that ended because key or permission was refused.
    pub refused: u64,
    /// Jobs in which the program itself broke.
    pub bugs: u64,
    /// Deferred or skipped ones of months that are still filling up.
    pub recent_deferred: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartitionCounts {
    pub planned: u64,
    pub complete: u64,
    pub empty: u64,
    pub unverified: u64,
    pub held: u64,
    pub short: u64,
    pub failed: u64,
    pub deferred: u64,
    /// Never begun, because the run or their API was stopped before.
    pub skipped: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowCounts {
    pub promised: u64,
    pub received: u64,
    pub published: u64,
}

/// A partition that is not whole after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    pub dataset: Name,
    pub partition: Partition,
    /// A verdict, or `skipped`.
    pub verdict: &'static str,
    /// The page that could not be had, from 1.
    pub page: Option<u32>,
    pub promised: Option<u64>,
    pub received: u64,
    pub why: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl Gap {
    /// Whether the next run is enough.
    pub fn passes(&self) -> bool {
        matches!(self.verdict, "deferred" | "skipped")
    }
}

impl Harvest {
    /// Gaps that are listed one by one; the others are only counted.
    pub const GAPS_SHOWN: usize = 200;

    pub fn add(&mut self, verdict: Verdict) {
        let counts = &mut self.partitions;
        let count = match verdict {
            Verdict::Complete => &mut counts.complete,
            Verdict::Empty => &mut counts.empty,
            Verdict::Unverified => &mut counts.unverified,
            Verdict::Held => &mut counts.held,
            Verdict::Short => &mut counts.short,
            Verdict::Failed | Verdict::Lost => &mut counts.failed,
            Verdict::Deferred => &mut counts.deferred,
        };
        *count += 1;
    }

    /// Lists a gap, in front of those that pass by themselves: of these there may be thousands, and they must not push out
    /// one that somebody has to look at.
    pub fn add_gap(&mut self, gap: Gap) {
        self.gaps_total += 1;
        let at = if gap.passes() { self.gaps.len() } else { self.gaps.partition_point(|listed| !listed.passes()) };
        if at < Self::GAPS_SHOWN {
            self.gaps.insert(at, gap);
            self.gaps.truncate(Self::GAPS_SHOWN);
        }
    }

    /// Partitions whose snapshot is the visible one now.
    pub fn whole(&self) -> u64 {
        self.partitions.complete + self.partitions.empty + self.partitions.unverified
    }

    /// Adds what another part of the run brought in.
    pub fn merge(&mut self, other: Self) {
        let (own, others) = (&mut self.partitions, other.partitions);
        own.planned += others.planned;
        own.complete += others.complete;
        own.empty += others.empty;
        own.unverified += others.unverified;
        own.held += others.held;
        own.short += others.short;
        own.failed += others.failed;
        own.deferred += others.deferred;
        own.skipped += others.skipped;
        self.rows.promised += other.rows.promised;
        self.rows.received += other.rows.received;
        self.rows.published += other.rows.published;
        self.elsewhere += other.elsewhere;
        self.refused += other.refused;
        self.bugs += other.bugs;
        self.recent_deferred += other.recent_deferred;
        let listed = other.gaps.len() as u64;
        other.gaps.into_iter().for_each(|gap| self.add_gap(gap));
        self.gaps_total += other.gaps_total - listed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(verdict: &'static str, number: u32) -> Gap {
        let partition = Partition::new([(Name::literal("number"), number.to_string().as_str())]);
        let (promised, received, why, hint) = (None, 0, String::new(), None);
        Gap { dataset: Name::literal("any"), partition, verdict, page: None, promised, received, why, hint }
    }

    fn listed(harvest: &Harvest) -> Vec<String> {
        harvest.gaps.iter().map(|gap| format!("{} {}", gap.verdict, gap.partition)).collect()
    }

    #[test]
    fn what_passes_by_itself_pushes_out_nothing_that_does_not() {
        let mut harvest = Harvest::default();
        (0..300).for_each(|number| harvest.add_gap(gap("deferred", number)));
        harvest.add_gap(gap("failed", 300));
        harvest.add_gap(gap("skipped", 301));
        harvest.add_gap(gap("held", 302));
        assert_eq!((harvest.gaps.len(), harvest.gaps_total), (Harvest::GAPS_SHOWN, 303));
        assert_eq!(listed(&harvest)[..3], ["failed number=300", "held number=302", "deferred number=0"]);
        let mut other = Harvest::default();
        (0..300).for_each(|number| other.add_gap(gap("short", number)));
        harvest.merge(other);
        assert_eq!((harvest.gaps.len(), harvest.gaps_total), (Harvest::GAPS_SHOWN, 603));
        assert_eq!(listed(&harvest)[..3], ["failed number=300", "held number=302", "short number=0"]);
        assert_eq!(listed(&harvest)[199], "short number=197");
    }
}
