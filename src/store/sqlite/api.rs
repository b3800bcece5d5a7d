//! What is remembered besides partitions: APIs, regions, the salt.

use rusqlite::params;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::ledger::{count, instant, required, spelled};
use super::pages::number;
use crate::definition::region::RegionList;
use crate::model::name::Name;
use crate::store::error::StoreError;
use crate::store::state::ApiState;

const API_STATE: &str =
    "select dataset, key_id, day, calls, blocked_until, why from api_state where dataset = ?1 and key_id = ?2";
const API_STATES: &str = "select dataset, key_id, day, calls, blocked_until, why from api_state order by dataset, key_id";
const SET_API_STATE: &str =
    "insert into api_state (dataset, key_id, day, calls, blocked_until, why) values (?1, ?2, ?3, ?4, ?5, ?6)
    on conflict (dataset, key_id) do update
    set day = excluded.day, calls = excluded.calls, blocked_until = excluded.blocked_until, why = excluded.why";
const SALT: &str = "select value from meta where name = 'salt'";
const DROP_REGIONS: &str = "delete from region where list = ?1";
const NEW_REGION: &str =
    "insert into region (list, code, name, valid_from, valid_to, kind, successors) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

impl SqliteStore {
    pub async fn api_state(&self, dataset: &Name, key_id: &str) -> Result<Option<ApiState>, StoreError> {
        let row = sqlx::query(API_STATE).bind(dataset.as_str()).bind(key_id).fetch_optional(&self.readers).await;
        row.and_then(|row| row.as_ref().map(api_state).transpose()).map_err(|source| self.failed(source))
    }

    pub async fn api_states(&self) -> Result<Vec<ApiState>, StoreError> {
        let rows = sqlx::query(API_STATES).fetch_all(&self.readers).await;
        rows.and_then(|rows| rows.iter().map(api_state).collect()).map_err(|source| self.failed(source))
    }

    pub async fn set_api_state(&self, state: &ApiState) -> Result<(), StoreError> {
        self.write(|tx| {
            let line = params![
                state.dataset.as_str(),
                state.key_id,
                state.day.to_string(),
                number(state.calls),
                state.blocked_until.map(instant),
                state.why,
            ];
            tx.execute(SET_API_STATE, line).map(drop)
        })
        .await
    }

    pub async fn salt(&self) -> Result<[u8; 32], StoreError> {
        let salt: Result<Vec<u8>, _> = sqlx::query_scalar(SALT).fetch_one(&self.readers).await;
        salt.and_then(|salt| salt.try_into().map_err(|_| sqlx::Error::Decode("a salt of another length".into())))
            .map_err(|source| self.failed(source))
    }

    pub async fn declare_regions(&self, list: &RegionList) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(DROP_REGIONS, params![list.id.as_str()])?;
            for region in list.iter() {
                let successors = (!region.successors.is_empty()).then(|| region.successors.join(","));
                let line = params![
                    list.id.as_str(),
                    region.code,
                    region.names.join(" "),
                    region.valid_from,
                    region.valid_to,
                    region.kind.as_str(),
                    successors
                ];
                tx.execute(NEW_REGION, line)?;
            }
            Ok(())
        })
        .await
    }
}

fn api_state(row: &SqliteRow) -> Result<ApiState, sqlx::Error> {
    let dataset: &str = row.try_get("dataset")?;
    Ok(ApiState {
        dataset: dataset.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
        key_id: row.try_get("key_id")?,
        day: required(spelled(row, "day")?)?,
        calls: required(count(row, "calls")?)?,
        blocked_until: spelled(row, "blocked_until")?,
        why: row.try_get("why")?,
    })
}
