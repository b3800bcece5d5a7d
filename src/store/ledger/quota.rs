//! Daily calls and blocks of APIs.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::spelling::instant;
use crate::model::name::Name;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::state::ApiState;
use crate::store::tx::Tx;

/// Days are compared as texts, which sort as they do; a later day begins at 0. So does one that only a clock that was wrong
/// can have written: it would be the day of all runs until it comes.
const CALLS: &str = "select calls from api_state where dataset = ?1 and key_id = ?2 and day between ?3 and ?4";
const RESERVE: &str = "insert into api_state (dataset, key_id, day, calls) values (?1, ?2, ?3, ?4)
    on conflict (dataset, key_id) do update
    set calls = excluded.calls + case when api_state.day between excluded.day and ?5 then api_state.calls else 0 end,
        day = case when api_state.day between excluded.day and ?5 then api_state.day else excluded.day end";
/// Further ahead no clock that was merely set back can have been.
const DAYS_AHEAD: i64 = 2;
const GIVE_BACK: &str = "update api_state set calls = case when calls > ?4 then calls - ?4 else 0 end
    where dataset = ?1 and key_id = ?2 and day = ?3";
const BLOCK: &str = "insert into api_state (dataset, key_id, blocked_until, why) values (?1, ?2, ?3, ?4)
    on conflict (dataset, key_id) do update set blocked_until = excluded.blocked_until, why = excluded.why";
const API_STATES: &str = "select dataset, key_id, day, calls, blocked_until, why from api_state order by dataset, key_id";

pub fn reserve(tx: &Tx<'_>, dataset: &Name, key_id: &str, day: Date, want: u64, limit: u64) -> Result<u64, StoreError> {
    let farthest = day.saturating_add(DAYS_AHEAD.days()).to_string();
    let (dataset, day) = (dataset.as_str(), day.to_string());
    let of_today = params![dataset, key_id, day.as_str(), farthest.as_str()];
    let calls: u64 = tx.first(CALLS, of_today, |line| line.get(0))?.unwrap_or(0);
    let granted = want.min(limit.saturating_sub(calls));
    tx.change(RESERVE, params![dataset, key_id, day, granted, farthest])?;
    Ok(granted)
}

pub fn give_back(tx: &Tx<'_>, dataset: &Name, key_id: &str, day: Date, unused: u64) -> Result<(), StoreError> {
    tx.change(GIVE_BACK, params![dataset.as_str(), key_id, day.to_string(), unused])
}

pub fn block(tx: &Tx<'_>, dataset: &Name, key_id: &str, until: Timestamp, why: &str) -> Result<(), StoreError> {
    tx.change(BLOCK, params![dataset.as_str(), key_id, instant(until), why])
}

pub fn states(tx: &Tx<'_>) -> Result<Vec<ApiState>, StoreError> {
    tx.all(API_STATES, &[], |line| {
        Ok(ApiState {
            dataset: line.spelled(0)?,
            key_id: line.get(1)?,
            day: line.spelled_or_null(2)?,
            calls: line.get(3)?,
            blocked_until: line.spelled_or_null(4)?,
            why: line.get(5)?,
        })
    })
}
