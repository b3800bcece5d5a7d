use std::fmt;

/// Whether the calls of an API are let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// They are.
    Closed,
    /// None is: its server is in trouble.
    Open,
    /// A few are, to find out whether the server is back.
    HalfOpen,
}

/// What the calls of an API came to at one host while its breaker was closed, counted up since the host began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub answered: u64,
    pub failed: u64,
    /// Failures since the last answer, but for those of calls that had failed before it.
    pub failed_in_a_row: u64,
}

impl BreakerState {
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// The spelling used in SQL, JSON and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }

    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
