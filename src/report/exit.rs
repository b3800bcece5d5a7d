use crate::model::verdict::Verdict;

/// What the program says to whoever started it. The number is the exit code.
///
/// The order is that of severity, least first: the severest thing that happened is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// Every partition asked for is complete, empty or unverified.
    Whole,
    /// Quota, breaker or deadline; nothing is wrong, run again later.
    Deferred,
    /// At least one partition short, failed or held.
    Incomplete,
    /// Key or permission.
    Refused,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// Store unreachable, damaged, newer than this program, or in need of a decision.
    Store,
    /// Disk, descriptors, permissions.
    LocalResource,
    /// A bug of ours.
    OwnFault,
    /// Another run holds the lock; told before any work.
    Locked,
    /// Usage or settings; told before any work.
    Usage,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::OwnFault => 1,
            Self::Usage => 2,
            Self::Incomplete => 3,
            Self::Locked => 4,
            Self::Refused => 5,
            Self::Deferred => 6,
            Self::Store => 7,
            Self::LocalResource => 8,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// What a partition with this verdict says about the run.
    pub fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Complete | Verdict::Empty | Verdict::Unverified => Self::Whole,
            Verdict::Held | Verdict::Short | Verdict::Failed | Verdict::Lost => Self::Incomplete,
            Verdict::Deferred => Self::Deferred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_severest_wins() {
        let severest_first = [
            Exit::OwnFault,
            Exit::LocalResource,
            Exit::Store,
            Exit::Terminated,
            Exit::Interrupted,
            Exit::Refused,
            Exit::Incomplete,
            Exit::Deferred,
            Exit::Whole,
        ];
        assert!(severest_first.is_sorted_by(|a, b| a > b));
        assert_eq!(severest_first.map(Exit::code), [1, 8, 7, 143, 130, 5, 3, 6, 0]);
    }
}
