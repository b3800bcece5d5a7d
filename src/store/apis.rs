//! What the store remembers of APIs: their daily calls, blocks, breakers and answers.

use jiff::Timestamp;
use jiff::civil::Date;

use super::Store;
use super::error::StoreError;
use super::ledger::{breakers, latency, quota};
use super::state::{ApiState, BreakerChange};
use crate::model::job::RunId;
use crate::model::name::Name;

impl Store {
    /// Reserves calls of an API before they are sent, at most `want`; returns how many may be sent.
    ///
    /// `day` is the provider's. What is granted counts as sent, whatever becomes of the program, so that over all
    /// processes of the store no day ever has more than `limit`. The count of a later day begins at 0; one of an
    /// earlier day, by a clock set back, goes on with the later.
    pub async fn reserve_calls(&self, dataset: &Name, key_id: &str, day: Date, want: u64, limit: u64) -> Result<u64, StoreError> {
        self.engine.write(|tx| quota::reserve(tx, dataset, key_id, day, want, limit)).await
    }

    /// Gives back calls that were reserved on `day` and not sent. Nothing happens when the day is over.
    pub async fn give_back(&self, dataset: &Name, key_id: &str, day: Date, unused: u64) -> Result<(), StoreError> {
        self.engine.write(|tx| quota::give_back(tx, dataset, key_id, day, unused)).await
    }

    /// Remembers that an API is not to be asked before `until`. What was remembered before is replaced.
    pub async fn block(&self, dataset: &Name, key_id: &str, until: Timestamp, why: &str) -> Result<(), StoreError> {
        self.engine.write(|tx| quota::block(tx, dataset, key_id, until, why)).await
    }

    /// What is remembered of every API, by dataset and key.
    pub async fn api_states(&self) -> Result<Vec<ApiState>, StoreError> {
        self.engine.read(quota::states).await
    }

    /// Adds a line to what became of the breaker of an API.
    pub async fn record_breaker(&self, run: RunId, change: &BreakerChange) -> Result<(), StoreError> {
        self.engine.write(|tx| breakers::record(tx, run, change)).await
    }

    /// The last change of the breaker of every API that ever had one, by dataset and key.
    pub async fn breakers(&self) -> Result<Vec<BreakerChange>, StoreError> {
        self.engine.read(breakers::last).await
    }

    /// What became of breakers in other runs after a change of that number, with the numbers.
    pub async fn breakers_after(&self, id: i64, run: RunId) -> Result<Vec<(i64, BreakerChange)>, StoreError> {
        self.engine.read(|tx| breakers::after(tx, id, run)).await
    }

    /// The number of the newest change of a breaker; 0 before the first.
    pub async fn newest_breaker_change(&self) -> Result<i64, StoreError> {
        self.engine.read(breakers::newest).await
    }

    /// How long the latest good answers of a dataset took, in milliseconds, newest first, at most `count` of them.
    pub async fn latencies(&self, dataset: &Name, count: u32) -> Result<Vec<u64>, StoreError> {
        self.engine.read(|tx| latency::latest(tx, dataset, count)).await
    }
}
