//! District reforms: rows of retired codes leave the view when those of all their successors enter it, never before and
//! never after, so that no row counts twice and none is missing.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::publish::drop_superseded;
use super::spelling::instant;
use crate::model::job::PartitionId;
use crate::model::name::Name;
use crate::store::audit::{Fault, Finding};
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::Superseded;
use crate::store::param::params;
use crate::store::state::ReformProgress;
use crate::store::tx::{Line, Misread, Tx};

const PLACE: &str = "select f.reform, f.side, f.day, p.key
    from partition p join reform f on f.code = p.region where p.id = ?1 and f.list = ?2";
const MEMBERS: &str = "select f.code, f.side, r.valid_from is not null
    from reform f join region r on r.list = f.list and r.code = f.code
    where f.list = ?1 and f.reform = ?2 order by f.code";
const STANDING: &str = "select id, published_job is not null, waiting_job is not null, checked_at
    from partition where dataset = ?1 and key = ?2";
const REPLACE: &str = "update partition
    set replaced_job = published_job, replaced_at = ?2, published_job = null, changed_at = ?2 where id = ?1";
const STEP_FORWARD: &str = "update partition
    set published_job = waiting_job, published_at = ?2, changed_at = ?2, waiting_job = null where id = ?1";
const STEP_BACK: &str = "update partition
    set waiting_job = published_job, published_job = null, published_at = null where id = ?1";
const STEP_FORWARD_ALONE: &str = "update partition
    set published_job = waiting_job, published_at = ?2, changed_at = ?2, waiting_job = null
    where waiting_job is not null and dataset in (select id from dataset where region_list = ?1)
    and region not in (select code from reform where list = ?1 and side = 'successor')";
/// Partitions of retired codes that have, or had, something to show.
const RETIRED: &str = "select d.id, d.region_axis, f.list, f.reform, f.day, p.key
    from partition p
    join dataset d on d.id = p.dataset
    join reform f on f.list = d.region_list and f.code = p.region and f.side = 'retired'
    where (p.published_job is not null or p.replaced_job is not null) and (?1 is null or f.list = ?1)
    order by d.id, f.list, f.reform, p.key";

/// On which side of its reform a code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Retired,
    Successor,
}

/// A reform in one dataset, for one combination of the other axes: one month, say.
pub struct Reform {
    dataset: Name,
    /// Side of the code it was looked up by.
    pub side: Side,
    day: Option<Date>,
    members: Vec<Member>,
}

struct Member {
    code: String,
    side: Side,
    /// The code was made by a reform: no row of it is from before.
    is_born: bool,
    key: String,
}

/// What the ledger has of a member's partition.
struct Standing {
    id: PartitionId,
    is_visible: bool,
    is_waiting: bool,
    checked_at: Option<Timestamp>,
}

/// A partition whose region takes part in a reform.
struct Place {
    dataset: Name,
    /// The axis that regions are of.
    axis: String,
    list: String,
    reform: String,
    day: Option<Date>,
    side: Side,
    key: String,
}

/// The reform that the region of a partition takes part in.
pub fn of_partition(tx: &Tx<'_>, declared: &Declared, partition: PartitionId) -> Result<Option<Reform>, StoreError> {
    let (Some(axis), Some(list)) = (declared.region_axis(), declared.region_list()) else { return Ok(None) };
    let place = tx.first(PLACE, params![partition.0, list.as_str()], |line| {
        Ok(Place {
            dataset: declared.id().clone(),
            axis: axis.to_string(),
            list: list.to_string(),
            reform: line.get(0)?,
            side: side(line, 1)?,
            day: day(line, 2)?,
            key: line.get(3)?,
        })
    })?;
    place.map(|place| place.reform(tx)).transpose()
}

/// Lets every reform of a list take effect on what is stored.
pub fn catch_up(tx: &Tx<'_>, list: &Name, now: Timestamp) -> Result<(), StoreError> {
    for place in retired(tx, Some(list))? {
        let reform = place.reform(tx)?;
        reform.settle(tx, Superseded::Removed, now)?;
        if reform.is_open(tx)? {
            reform.step_back(tx)?;
        }
    }
    // What waits for a reform that is no longer in the list would wait for ever.
    tx.change(STEP_FORWARD_ALONE, params![list.as_str(), instant(now)])
}

/// Partitions of retired codes that are visible beside a district that was made of them.
pub fn seen_twice(tx: &Tx<'_>) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    for place in retired(tx, None)? {
        let reform = place.reform(tx)?;
        if !reform.standing(tx, &place.key)?.is_some_and(|standing| standing.is_visible) {
            continue;
        }
        for member in reform.of_side(Side::Successor).filter(|member| member.is_born) {
            if reform.standing(tx, &member.key)?.is_some_and(|standing| standing.is_visible) {
                let fault = Fault::SeenTwice { beside: member.key.clone() };
                findings.push(Finding { dataset: place.dataset.to_string(), partition: Some(place.key.clone()), fault });
            }
        }
    }
    Ok(findings)
}

/// How far each reform has got.
pub fn progress(tx: &Tx<'_>) -> Result<Vec<ReformProgress>, StoreError> {
    let mut progress: Vec<ReformProgress> = Vec::new();
    for place in retired(tx, None)? {
        let reform = place.reform(tx)?;
        let begun = reform.not_begun();
        if progress.last().is_none_or(|last| last.dataset != begun.dataset || last.retired != begun.retired) {
            progress.push(begun);
        }
        let line = progress.last_mut().expect("one was pushed");
        if reform.standing(tx, &place.key)?.is_some_and(|standing| standing.is_visible) {
            line.visible += 1;
            line.awaited.extend(reform.awaited(tx)?);
        } else {
            line.replaced += 1;
        }
    }
    for line in &mut progress {
        line.awaited.sort();
        line.awaited.dedup();
    }
    Ok(progress)
}

impl Place {
    fn reform(&self, tx: &Tx<'_>) -> Result<Reform, StoreError> {
        let members = tx.all(MEMBERS, params![self.list.as_str(), self.reform.as_str()], |line| {
            let code: String = line.get(0)?;
            Ok(Member { key: key_of(&self.key, &self.axis, &code), code, side: side(line, 1)?, is_born: line.get(2)? })
        })?;
        Ok(Reform { dataset: self.dataset.clone(), side: self.side, day: self.day, members })
    }
}

impl Reform {
    /// Whether a retired code is still visible.
    pub fn is_open(&self, tx: &Tx<'_>) -> Result<bool, StoreError> {
        for retired in self.of_side(Side::Retired) {
            if self.standing(tx, &retired.key)?.is_some_and(|standing| standing.is_visible) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Changes the old districts for the new ones, if nothing is awaited any more.
    pub fn settle(&self, tx: &Tx<'_>, superseded: Superseded, now: Timestamp) -> Result<(), StoreError> {
        if !self.is_open(tx)? || !self.awaited(tx)?.is_empty() {
            return Ok(());
        }
        for member in &self.members {
            let Some(standing) = self.standing(tx, &member.key)? else { continue };
            let change = match member.side {
                Side::Retired if standing.is_visible => REPLACE,
                Side::Successor if standing.is_waiting => STEP_FORWARD,
                Side::Retired | Side::Successor => continue,
            };
            tx.change(change, params![standing.id.0, instant(now)])?;
            match superseded {
                Superseded::Removed => drop_superseded(tx, &self.dataset, standing.id)?,
                Superseded::Kept => 0,
            };
        }
        Ok(())
    }

    /// New districts that were published before the reform was known count rows twice: they wait from now on.
    fn step_back(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        for member in self.of_side(Side::Successor).filter(|member| member.is_born) {
            if let Some(standing) = self.standing(tx, &member.key)?
                && standing.is_visible
                && !standing.is_waiting
            {
                tx.change(STEP_BACK, params![standing.id.0])?;
            }
        }
        Ok(())
    }

    /// Keys of successors that have no whole snapshot from after the day of the reform.
    fn awaited(&self, tx: &Tx<'_>) -> Result<Vec<String>, StoreError> {
        let mut awaited = Vec::new();
        for member in self.of_side(Side::Successor) {
            let standing = self.standing(tx, &member.key)?;
            let has_come = |standing: Standing| {
                (standing.is_visible || standing.is_waiting) && standing.checked_at.is_some_and(|at| self.has_passed(at))
            };
            if !standing.is_some_and(has_come) {
                awaited.push(member.key.clone());
            }
        }
        Ok(awaited)
    }

    /// Whether the day of the reform had begun everywhere: the store knows no zones, and waiting longer loses nothing.
    fn has_passed(&self, at: Timestamp) -> bool {
        let date = at.to_zoned_datetime(TimeZone::UTC).date();
        self.day.is_none_or(|day| date > day)
    }

    fn not_begun(&self) -> ReformProgress {
        let codes = |side| self.of_side(side).map(|member| member.code.clone()).collect();
        ReformProgress {
            dataset: self.dataset.to_string(),
            retired: codes(Side::Retired),
            successors: codes(Side::Successor),
            replaced: 0,
            visible: 0,
            awaited: Vec::new(),
        }
    }

    fn of_side(&self, side: Side) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.side == side)
    }

    fn standing(&self, tx: &Tx<'_>, key: &str) -> Result<Option<Standing>, StoreError> {
        tx.first(STANDING, params![self.dataset.as_str(), key], |line| {
            Ok(Standing {
                id: PartitionId(line.get(0)?),
                is_visible: line.get(1)?,
                is_waiting: line.get(2)?,
                checked_at: line.get::<Option<String>>(3)?.and_then(|at| at.parse().ok()),
            })
        })
    }
}

fn retired(tx: &Tx<'_>, list: Option<&Name>) -> Result<Vec<Place>, StoreError> {
    tx.all(RETIRED, params![list.map(Name::as_str)], |line| {
        Ok(Place {
            dataset: line.spelled(0)?,
            axis: line.get(1)?,
            list: line.get(2)?,
            reform: line.get(3)?,
            day: day(line, 4)?,
            side: Side::Retired,
            key: line.get(5)?,
        })
    })
}

/// The key of the partition that differs in its region alone.
fn key_of(key: &str, axis: &str, code: &str) -> String {
    let part = |part: &str| match part.split_once('=') {
        Some((name, _)) if name == axis => format!("{axis}={code}"),
        Some(_) | None => part.to_owned(),
    };
    key.split(',').map(part).collect::<Vec<_>>().join(",")
}

fn side(line: &Line<'_>, at: usize) -> Result<Side, Misread> {
    line.spelled_as(at, |text| Some(if text == "retired" { Side::Retired } else { Side::Successor }))
}

/// A day that does not read is none: then nothing is waited for but the successors themselves.
fn day(line: &Line<'_>, at: usize) -> Result<Option<Date>, Misread> {
    Ok(line.get::<Option<String>>(at)?.and_then(|day| day.parse().ok()))
}
