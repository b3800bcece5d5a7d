use std::fmt;

use serde::{Deserialize, Serialize};

/// What a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Received equals promised, and every guard was passed.
    Complete,
    /// Zero rows, proven.
    Empty,
    /// The walk ended by itself; the source promises no total.
    Unverified,
    /// Whole, but suspicious beside what is published.
    Held,
    /// Not what was promised.
    Short,
    /// A page could not be had.
    Failed,
    /// Not asked to the end; the next run takes it up.
    Deferred,
    /// Its worker died and what it left cannot be gone on from.
    Lost,
}

impl Verdict {
    pub const ALL: [Self; 8] =
        [Self::Complete, Self::Empty, Self::Unverified, Self::Held, Self::Short, Self::Failed, Self::Deferred, Self::Lost];

    /// The spelling used in SQL, JSON and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Empty => "empty",
            Self::Unverified => "unverified",
            Self::Held => "held",
            Self::Short => "short",
            Self::Failed => "failed",
            Self::Deferred => "deferred",
            Self::Lost => "lost",
        }
    }

    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == text)
    }

    /// Whether its snapshot becomes the visible one.
    pub fn is_published(self) -> bool {
        match self {
            Self::Complete | Self::Empty | Self::Unverified => true,
            Self::Held | Self::Short | Self::Failed | Self::Deferred | Self::Lost => false,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_read_back_from_its_spelling() {
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::from_spelling(verdict.as_str()), Some(verdict));
        }
        assert_eq!(Verdict::from_spelling("whole"), None);
    }
}
