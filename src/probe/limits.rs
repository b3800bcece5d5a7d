use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::caller::CallerSettings;

use super::{pauses, permits, rates, retries, timeouts};

pub use super::stand::StandError;

/// One limit held against what really happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    pub limit: &'static str,
    pub expected: String,
    pub measured: String,
    pub verdict: ProofVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofVerdict {
    Acts,
    Fails,
    /// The settings set no such limit.
    NotSet,
}

/// Proves by behaviour, against a practice portal, that the limits that are stated act.
///
/// `stated` is what the settings say; `acting` is what the caller is made with. They are the same except in tests, which
/// switch one limit off and must see its proof fail. Takes about ten seconds; the waits that are shortened are said.
pub async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Vec<Proof>, StandError> {
    let mut proofs = permits::prove(stated, acting).await?;
    proofs.push(rates::prove(stated, acting).await?);
    proofs.extend(timeouts::prove(stated, acting).await?);
    proofs.push(retries::prove(stated, acting).await?);
    proofs.push(pauses::prove(stated, acting).await?);
    Ok(proofs)
}

impl Proof {
    pub(super) fn new(limit: &'static str, expected: impl Into<String>, measured: impl Into<String>, holds: bool) -> Self {
        let verdict = if holds { ProofVerdict::Acts } else { ProofVerdict::Fails };
        Self { limit, expected: expected.into(), measured: measured.into(), verdict }
    }
}

impl fmt::Display for ProofVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acts => "acts",
            Self::Fails => "FAILS",
            Self::NotSet => "not set",
        })
    }
}

/// `0.53 s`.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
