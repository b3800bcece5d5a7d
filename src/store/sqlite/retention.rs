//! What is not kept for ever.

use jiff::Timestamp;
use rusqlite::params;

use super::SqliteStore;
use super::ledger::instant;
use crate::store::error::StoreError;

/// Attempts are written in the order of time: the first that is young enough ends the search.
const PRUNE: &str = "delete from attempt where id in (
        select id from attempt
        where id < coalesce((select id from attempt where sent_at >= ?1 order by id limit 1), (select max(id) + 1 from attempt))
        order by id limit ?2
    )";
/// Lines of one transaction, so that pages never wait long for it.
const AT_ONCE: usize = 10_000;

impl SqliteStore {
    pub async fn prune_attempts(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let gone = self.write(|tx| tx.execute(PRUNE, params![instant(before), AT_ONCE as i64])).await?;
            pruned += gone as u64;
            if gone < AT_ONCE {
                return Ok(pruned);
            }
        }
    }
}
