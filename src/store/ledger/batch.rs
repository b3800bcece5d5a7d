//! Several changes in one transaction.

use super::{jobs, pages, settle, takeover};
use crate::store::error::StoreError;
use crate::store::job::{Change, Changed};
use crate::store::tx::Tx;

pub fn make_all(tx: &Tx<'_>, changes: &[Change<'_>]) -> Result<Vec<Changed>, StoreError> {
    changes.iter().map(|change| make(tx, change)).collect()
}

/// Whether nothing is looked at but jobs that are held.
pub fn is_of_pages(changes: &[Change<'_>]) -> bool {
    changes.iter().all(|change| match change {
        Change::Page(_) | Change::Attempts(_) | Change::OpenRead { .. } => true,
        Change::Start(_) | Change::End(_) => false,
    })
}

fn make(tx: &Tx<'_>, change: &Change<'_>) -> Result<Changed, StoreError> {
    match change {
        Change::Start(start) => takeover::start(tx, start).map(Changed::Claimed),
        Change::Page(page) => pages::store(tx, page).map(|()| Changed::Stored),
        Change::Attempts(attempts) => pages::record(tx, attempts).map(|()| Changed::Stored),
        Change::OpenRead { job, read } => jobs::open_read(tx, job, *read).map(|()| Changed::Stored),
        Change::End(end) => settle::settle(tx, end).map(Changed::Ended),
    }
}
