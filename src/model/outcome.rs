use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::page::Page;

/// What one attempt came to: a value to branch on, never text to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Rows.
    Page,
    /// A recognised proof of zero rows.
    Empty,
    /// Heals by itself: ask the same again.
    Retry,
    /// Too fast: the provider is paused, then the same again.
    SlowDown,
    /// The daily quota is used up.
    Spent,
    /// The key or the address is not let in.
    Refused,
    /// This request can never work.
    Invalid,
    /// The partition must be split.
    TooBig,
    /// The walk must begin again at page 1.
    Restart,
    /// The source is still preparing the answer.
    Later,
    /// Nothing any rule names.
    Garbled,
}

impl Outcome {
    pub const ALL: [Self; 11] = [
        Self::Page,
        Self::Empty,
        Self::Retry,
        Self::SlowDown,
        Self::Spent,
        Self::Refused,
        Self::Invalid,
        Self::TooBig,
        Self::Restart,
        Self::Later,
        Self::Garbled,
    ];

    /// The spelling used in SQL, JSON and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Empty => "empty",
            Self::Retry => "retry",
            Self::SlowDown => "slow_down",
            Self::Spent => "spent",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::TooBig => "too_big",
            Self::Restart => "restart",
            Self::Later => "later",
            Self::Garbled => "garbled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a refusal reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Attempt,
    Job,
    Api,
    Run,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempt => "this attempt",
            Self::Job => "this job",
            Self::Api => "this API",
            Self::Run => "this run",
        })
    }
}

/// The kinds of [`Outcome`] that bring no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    Retry,
    /// A recognised page that is not the one its walk is due: asked again like [`TroubleKind::Retry`].
    Misfit,
    /// As [`TroubleKind::Misfit`], and all that is wrong is that some rows are missing.
    Uneven,
    SlowDown,
    Spent,
    Refused,
    Invalid,
    TooBig,
    Restart,
    Later,
    Garbled,
}

impl TroubleKind {
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Retry | Self::Misfit | Self::Uneven => Outcome::Retry,
            Self::SlowDown => Outcome::SlowDown,
            Self::Spent => Outcome::Spent,
            Self::Refused => Outcome::Refused,
            Self::Invalid => Outcome::Invalid,
            Self::TooBig => Outcome::TooBig,
            Self::Restart => Outcome::Restart,
            Self::Later => Outcome::Later,
            Self::Garbled => Outcome::Garbled,
        }
    }
}

/// An answer, or the lack of one, that brought no page.
///
/// No text in it holds the key: bodies are redacted before they are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub kind: TroubleKind,
    pub scope: Scope,
    /// The provider's own code, as sent (`"30"`, `"ERROR-290"`).
    pub code: Option<String>,
    /// One line: what came, in our words and at most 300 characters of the server's.
    pub why: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// What the server asked us to wait: from `Retry-After`, already a duration from now.
    pub retry_after: Option<Duration>,
}

impl Trouble {
    /// A trouble without code, hint or wish to wait.
    pub fn plain(kind: TroubleKind, scope: Scope, why: impl Into<String>) -> Self {
        Self { kind, scope, code: None, why: why.into(), hint: None, retry_after: None }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// What an answer is.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// A recognised success with rows.
    Page(Page),
    /// A recognised proof of zero; its page has no records.
    Empty(Page),
    Trouble(Trouble),
}

impl Judgement {
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Page(_) => Outcome::Page,
            Self::Empty(_) => Outcome::Empty,
            Self::Trouble(trouble) => trouble.kind.outcome(),
        }
    }
}
