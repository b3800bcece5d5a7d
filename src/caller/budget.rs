use std::sync::atomic::{AtomicU64, Ordering};

/// How many attempts a run may still make.
#[derive(Debug)]
pub(super) struct Budget {
    most: Option<u64>,
    left: AtomicU64,
}

impl Budget {
    /// `None` is no limit.
    pub(super) fn new(most: Option<u64>) -> Self {
        Self { most, left: AtomicU64::new(most.unwrap_or(u64::MAX)) }
    }

    /// Whether one more attempt may be made; counts it.
    pub(super) fn take(&self) -> bool {
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }

    /// How many attempts there were, once all of them are made.
    pub(super) fn used_up(&self) -> Option<u64> {
        self.most.filter(|_| self.left.load(Ordering::Acquire) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grants_so_many_attempts_and_no_more() {
        let budget = Budget::new(Some(2));
        assert_eq!([budget.take(), budget.take(), budget.take(), budget.take()], [true, true, false, false]);
        assert_eq!(budget.used_up(), Some(2));
        let endless = Budget::new(None);
        assert!(endless.take());
        assert_eq!(endless.used_up(), None);
    }

    #[test]
    fn a_budget_is_exact_over_many_threads() {
        let budget = Budget::new(Some(1_000));
        let granted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| (0..500).filter(|_| budget.take()).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(granted, 1_000);
    }
}
