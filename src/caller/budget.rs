use std::sync::atomic::{AtomicU64, Ordering};

/// How many attempts a run may still make.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    /// `None` is no limit.
    pub(super) fn new(calls: Option<u64>) -> Self {
        Self(AtomicU64::new(calls.unwrap_or(u64::MAX)))
    }

    /// Whether one more attempt may be made; counts it.
    pub(super) fn take(&self) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grants_so_many_attempts_and_no_more() {
        let budget = Budget::new(Some(2));
        assert_eq!([budget.take(), budget.take(), budget.take(), budget.take()], [true, true, false, false]);
    }
}
