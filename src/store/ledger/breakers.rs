//! What became of the breakers of APIs.

use super::spelling::instant;
use crate::model::breaker::BreakerState;
use crate::model::job::RunId;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::state::BreakerChange;
use crate::store::tx::{Line, Misread, Tx};

const RECORD: &str = "insert into breaker_change (run, dataset, key_id, changed_at, state, open_until, openings, why)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const LAST: &str = "select dataset, key_id, changed_at, state, open_until, openings, why from breaker_change
    where id in (select max(id) from breaker_change group by dataset, key_id) order by dataset, key_id";
const AFTER: &str = "select dataset, key_id, changed_at, state, open_until, openings, why, id from breaker_change
    where id > ?1 and run <> ?2 order by id";
const NEWEST: &str = "select coalesce(max(id), 0) from breaker_change";

pub fn record(tx: &Tx<'_>, run: RunId, change: &BreakerChange) -> Result<(), StoreError> {
    let BreakerChange { dataset, key_id, changed_at, state, open_until, openings, why } = change;
    let (changed_at, open_until) = (instant(*changed_at), open_until.map(instant));
    let (dataset, key_id, why) = (dataset.as_str(), key_id.as_str(), why.as_str());
    tx.change(RECORD, params![run.0, dataset, key_id, changed_at, state.as_str(), open_until, *openings, why])
}

pub fn last(tx: &Tx<'_>) -> Result<Vec<BreakerChange>, StoreError> {
    tx.all(LAST, &[], change)
}

/// Changes after a line of that number, but for those of one run, with their numbers.
pub fn after(tx: &Tx<'_>, id: i64, run: RunId) -> Result<Vec<(i64, BreakerChange)>, StoreError> {
    tx.all(AFTER, params![id, run.0], |line| Ok((line.get(7)?, change(line)?)))
}

/// The number of the newest line.
pub fn newest(tx: &Tx<'_>) -> Result<i64, StoreError> {
    Ok(tx.first(NEWEST, &[], |line| line.get(0))?.unwrap_or(0))
}

fn change(line: &Line<'_>) -> Result<BreakerChange, Misread> {
    Ok(BreakerChange {
        dataset: line.spelled(0)?,
        key_id: line.get(1)?,
        changed_at: line.spelled(2)?,
        state: line.spelled_as(3, BreakerState::from_spelling)?,
        open_until: line.spelled_or_null(4)?,
        openings: line.get(5)?,
        why: line.get(6)?,
    })
}
