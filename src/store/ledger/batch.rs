//! Several changes in one transaction.

use std::time::{Duration, Instant};

use super::{jobs, pages, settle, takeover};
use crate::store::error::StoreError;
use crate::store::job::{Change, Changed};
use crate::store::tx::Tx;

/// How long a transaction may begin further changes: others wait for it, on other hosts too, and far from the database each
/// change takes its time.
const LONGEST: Duration = Duration::from_secs(1);

/// Makes changes in their order, the first at least; returns what came of those that were made in time.
pub fn make_some(tx: &Tx<'_>, changes: &[Change<'_>]) -> Result<Vec<Changed>, StoreError> {
    let (begun, mut made) = (Instant::now(), Vec::with_capacity(changes.len()));
    for change in changes {
        if !made.is_empty() && begun.elapsed() > LONGEST {
            break;
        }
        made.push(make(tx, change)?);
    }
    Ok(made)
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
