//! Daily calls and blocks of APIs.

use jiff::Timestamp;
use jiff::civil::Date;
use rusqlite::params;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::ledger::{count, count_at, instant, spelled};
use super::pages::number;
use crate::model::name::Name;
use crate::store::error::StoreError;
use crate::store::state::ApiState;

/// Days are compared as texts, which sort as they do; a later day begins at 0.
const CALLS: &str = "select calls from api_state where dataset = ?1 and key_id = ?2 and day >= ?3";
const RESERVE: &str = "insert into api_state (dataset, key_id, day, calls) values (?1, ?2, ?3, ?4)
    on conflict (dataset, key_id) do update
    set calls = excluded.calls + iif(day >= excluded.day, calls, 0), day = max(coalesce(day, ''), excluded.day)";
const GIVE_BACK: &str = "update api_state set calls = max(calls - ?4, 0) where dataset = ?1 and key_id = ?2 and day = ?3";
const BLOCK: &str = "insert into api_state (dataset, key_id, blocked_until, why) values (?1, ?2, ?3, ?4)
    on conflict (dataset, key_id) do update set blocked_until = excluded.blocked_until, why = excluded.why";
const API_STATES: &str = "select dataset, key_id, day, calls, blocked_until, why from api_state order by dataset, key_id";

impl SqliteStore {
    pub async fn reserve_calls(&self, dataset: &Name, key_id: &str, day: Date, want: u64, limit: u64) -> Result<u64, StoreError> {
        let (dataset, day) = (dataset.as_str(), day.to_string());
        self.write(|tx| {
            let calls = tx.first(CALLS, params![dataset, key_id, day], |row| count_at(row, 0))?.flatten().unwrap_or(0);
            let granted = want.min(limit.saturating_sub(calls));
            tx.execute(RESERVE, params![dataset, key_id, day, number(granted)])?;
            Ok(granted)
        })
        .await
    }

    pub async fn give_back(&self, dataset: &Name, key_id: &str, day: Date, unused: u64) -> Result<(), StoreError> {
        let (dataset, day) = (dataset.as_str(), day.to_string());
        self.write(|tx| tx.execute(GIVE_BACK, params![dataset, key_id, day, number(unused)]).map(drop)).await
    }

    pub async fn block(&self, dataset: &Name, key_id: &str, until: Timestamp, why: &str) -> Result<(), StoreError> {
        self.write(|tx| tx.execute(BLOCK, params![dataset.as_str(), key_id, instant(until), why]).map(drop)).await
    }

    pub async fn api_states(&self) -> Result<Vec<ApiState>, StoreError> {
        let rows = sqlx::query(API_STATES).fetch_all(&self.readers).await;
        rows.and_then(|rows| rows.iter().map(api_state).collect()).map_err(|source| self.failed(source))
    }
}

fn api_state(row: &SqliteRow) -> Result<ApiState, sqlx::Error> {
    Ok(ApiState {
        dataset: spelled(row, "dataset")?.ok_or_else(|| sqlx::Error::Decode("an API has no dataset".into()))?,
        key_id: row.try_get("key_id")?,
        day: spelled(row, "day")?,
        calls: count(row, "calls")?.unwrap_or(0),
        blocked_until: spelled(row, "blocked_until")?,
        why: row.try_get("why")?,
    })
}
