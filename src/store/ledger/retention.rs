//! What is not kept for ever.

use jiff::Timestamp;

use super::spelling::instant;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::Tx;

/// Attempts are written in the order of time: the first that is young enough ends the search.
const PRUNE: &str = "delete from attempt where id in (
        select id from attempt
        where id < coalesce((select id from attempt where sent_at >= ?1 order by id limit 1), (select max(id) + 1 from attempt))
        order by id limit ?2
    )";
/// Lines of one transaction, so that pages never wait long for it.
pub const AT_ONCE: u64 = 10_000;

/// Deletes some of the lines that were sent before an instant; returns how many, and fewer than [`AT_ONCE`] when no more
/// are left.
pub fn prune_attempts(tx: &Tx<'_>, before: Timestamp) -> Result<u64, StoreError> {
    tx.execute(PRUNE, params![instant(before), AT_ONCE])
}
