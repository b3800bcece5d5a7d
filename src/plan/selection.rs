use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::month::Month;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::settings::resolved::RefreshSettings;

/// What the ledger knows of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether a snapshot of it is published.
    pub is_published: bool,
    /// Verdict of its latest job that ended.
    pub last_verdict: Option<Verdict>,
    /// When that job ended.
    pub last_ended: Option<Timestamp>,
    /// When it was last read as a whole.
    pub checked_at: Option<Timestamp>,
    /// Days on which it failed although its API answered others, since it was last whole.
    pub strikes: u32,
    /// Pages of its published snapshot.
    pub pages: Option<u32>,
}

/// Which of the wanted partitions a run asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    /// Missing, failed, and those whose refresh is due
    #[default]
    Due,
    /// Those that were never whole and did not fail
    Missing,
    /// Those whose latest job failed, was short or lost
    Failed,
    /// All of them, whole or not
    All,
}

/// Why a partition is asked for; the order of the kinds is the order of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Missing or to be read again, of a month that is still filling up.
    Recent,
    /// Its latest job failed, was short or lost.
    Failed,
    /// Its latest snapshot is held: read again, the same content on three days publishes itself.
    Held,
    /// Whole already, read again.
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

/// A partition that keeps failing: asked once a week, and listed for a person meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedsPerson<D> {
    pub dataset: D,
    pub partition: Partition,
    pub verdict: Verdict,
    pub strikes: u32,
    /// When it will be asked again.
    pub again_at: Timestamp,
}

/// What a run is to do with the wanted partitions of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<D> {
    pub selected: Vec<Selected<D>>,
    pub need_person: Vec<NeedsPerson<D>>,
}

/// When and by which rules a choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub only: Only,
    pub refresh: RefreshSettings,
    pub now: Timestamp,
    /// The current month in the provider's zone.
    pub month: Month,
}

/// After so many strikes a partition needs a person.
pub const STRIKES: u32 = 3;
/// How long a partition that needs a person is left alone, and the age at which a weekly refresh is due.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
/// A weekly job that begins a little earlier than last week's still counts as a week later.
const WEEK_SLACK: Duration = Duration::from_secs(6 * 3600);

/// What is to be asked for of one dataset.
pub fn select<D: Clone>(
    dataset: &D,
    wanted: &[Partition],
    standings: &HashMap<String, Standing>,
    circumstances: Circumstances,
) -> Choice<D> {
    let mut choice = Choice { selected: Vec::new(), need_person: Vec::new() };
    let unknown = Standing::default();
    for partition in wanted {
        let standing = standings.get(&partition.key()).unwrap_or(&unknown);
        if let Some(waiting) = needs_person(dataset, partition, standing, circumstances) {
            choice.need_person.push(waiting);
        } else if let Some(reason) = reason(partition, standing, circumstances) {
            let (dataset, partition, pages) = (dataset.clone(), partition.clone(), standing.pages);
            choice.selected.push(Selected { dataset, partition, reason, pages });
        }
    }
    choice
}

/// Puts the partitions of all datasets in the order of the work: recent, failed, refresh, backfill newest first; within
/// a class the biggest first.
pub fn order<D>(selected: &mut [Selected<D>]) {
    selected.sort_by_cached_key(|item| {
        let month = month_of(&item.partition);
        let newest_first = match item.reason {
            Reason::Backfill => Reverse(month),
            Reason::Recent | Reason::Failed | Reason::Held | Reason::Refresh => Reverse(None),
        };
        (item.reason, newest_first, Reverse(item.pages.unwrap_or(0)), Reverse(month))
    });
}

fn needs_person<D: Clone>(
    dataset: &D,
    partition: &Partition,
    standing: &Standing,
    Circumstances { only, now, .. }: Circumstances,
) -> Option<NeedsPerson<D>> {
    let verdict = standing.last_verdict.filter(|verdict| has_failed(*verdict))?;
    let again_at = standing.last_ended?.checked_add(WEEK).ok()?;
    // A failure that is still to come was written while the clock was wrong: it is waited for no longer than one of now.
    let waits = again_at.duration_since(now).unsigned_abs() <= WEEK + WEEK_SLACK;
    let is_waiting = standing.strikes >= STRIKES && waits && now < again_at.checked_sub(WEEK_SLACK).unwrap_or(again_at);
    let (dataset, partition, strikes) = (dataset.clone(), partition.clone(), standing.strikes);
    (only == Only::Due && is_waiting).then_some(NeedsPerson { dataset, partition, verdict, strikes, again_at })
}

fn reason(partition: &Partition, standing: &Standing, circumstances: Circumstances) -> Option<Reason> {
    let Circumstances { only, refresh, now, month } = circumstances;
    let age = month_of(partition).map_or(0, |of| of.until(month));
    let is_recent = age < refresh.every_run.max(1);
    let is_stale = standing.checked_at.is_none_or(|at| now.duration_since(at).unsigned_abs() >= WEEK - WEEK_SLACK);
    let missing = if is_recent { Reason::Recent } else { Reason::Backfill };
    let again = match (only, standing.is_published) {
        (Only::Failed, _) => None,
        (Only::Due | Only::Missing | Only::All, false) => Some(missing),
        (Only::Missing, true) => None,
        (Only::All, true) => Some(if is_recent { Reason::Recent } else { Reason::Refresh }),
        (Only::Due, true) if age < refresh.every_run => Some(Reason::Recent),
        (Only::Due, true) => (age < refresh.weekly && is_stale).then_some(Reason::Refresh),
    };
    match standing.last_verdict {
        Some(verdict) if has_failed(verdict) => (only != Only::Missing).then_some(Reason::Failed),
        Some(Verdict::Held) if matches!(only, Only::Due | Only::All) => Some(Reason::Held),
        Some(_) | None => again,
    }
}

fn has_failed(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Short | Verdict::Failed | Verdict::Lost => true,
        Verdict::Complete | Verdict::Empty | Verdict::Unverified | Verdict::Held | Verdict::Deferred => false,
    }
}

fn month_of(partition: &Partition) -> Option<Month> {
    partition.value("month").and_then(|month| month.parse().ok())
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
