use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{Nanos, nanos};

/// When the connections that are kept brought their last answers, in the order in which the client takes them again: the
/// last first.
///
/// A server closes a connection that nobody uses, and a request that crosses with that is not to blame. One that was used
/// a moment ago dies under a request for another reason: some limiters close it instead of an answer.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Vec<Nanos>>);

/// No server takes a connection for unused after so short a time.
const IN_USE: Duration = Duration::from_millis(500);

/// More are never kept; what stands deeper is of connections that are gone.
const MOST: usize = 64;

impl Kept {
    /// An answer was read to its end at `now`: its connection is kept.
    pub(super) fn put(&self, now: Nanos) {
        let mut kept = self.kept();
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push(now);
    }

    /// A request takes a connection, if one is kept. Whether that was in use until now; one that was put back while the
    /// request waited was.
    pub(super) fn take(&self, now: Nanos) -> bool {
        self.kept().pop().is_none_or(|since| now.saturating_sub(since) < nanos(IN_USE))
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Nanos>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn the_connection_that_was_used_last_is_taken_first() {
        let kept = Kept::default();
        kept.put(0);
        kept.put(900 * MS);
        assert!(kept.take(1_000 * MS));
        assert!(!kept.take(1_000 * MS), "the other has been idle for a second");
        assert!(kept.take(1_000 * MS), "it can only have come back while it was waited for");
    }

    #[test]
    fn connections_that_are_gone_are_forgotten_some_time() {
        let kept = Kept::default();
        (0..3 * MOST as Nanos).for_each(|at| kept.put(at));
        assert_eq!(kept.kept().len(), MOST);
        assert_eq!(kept.kept().first(), Some(&(2 * MOST as Nanos)));
    }
}
