use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::caller::CallerSettings;

use super::{breakers, pauses, permits, rates, rests, retries, timeouts};

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

/// What one experiment showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measurement {
    pub(super) expected: String,
    pub(super) measured: String,
    pub(super) finding: Finding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Acts,
    /// More was let through than the limit allows: no machine is so busy that it does that.
    Fails,
    /// Something came late or not at all: the limit may be wrong, or the machine busy.
    Late,
    NotSet,
}

/// Proves by behaviour, against a practice portal, that the limits that are stated act.
///
/// `stated` is what the settings say; `acting` is what the caller is made with. They are the same except in tests, which
/// switch one limit off and must see its proof fail, and no other. Each limit is measured with all the others out of its
/// way. Takes about five seconds; what is shortened for that is said.
///
/// Errors: the practice portal or a caller cannot be started.
pub async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Vec<Proof>, StandError> {
    // Alone, because the others would disturb it most.
    let rate = proof("calls a second", async || rates::measure(stated, acting).await).await?;
    let proofs = tokio::try_join!(
        proof("calls in flight", async || permits::measure_in_flight(stated, acting).await),
        proof("a waiting retry leaves its permit", async || permits::measure_freed(acting).await),
        proof("rest after an error", async || rests::measure(stated, acting).await),
        proof("connect timeout", async || timeouts::measure_connect(stated, acting).await),
        proof("read timeout", async || timeouts::measure_read(stated, acting).await),
        proof("total timeout", async || timeouts::measure_total(stated, acting).await),
        proof("retries and their waits", async || retries::measure(stated, acting).await),
        proof("pause after a refusal for speed", async || pauses::measure(stated, acting, pauses::TOO_FAST).await),
        proof("breaker", async || breakers::measure(stated, acting).await),
    )?;
    let (in_flight, freed, rest, connect, read, total, retries, pause, breaker) = proofs;
    Ok(vec![in_flight, freed, rate, rest, connect, read, total, retries, pause, breaker])
}

/// How often what came late is measured.
const MEASUREMENTS: u32 = 3;

/// Measures until the finding is clear: a busy machine makes one measurement late, a wrong limit every one.
pub(super) async fn proof(
    limit: &'static str,
    measure: impl AsyncFn() -> Result<Measurement, StandError>,
) -> Result<Proof, StandError> {
    let mut number = 1;
    let Measurement { expected, mut measured, finding } = loop {
        let measurement = measure().await?;
        match measurement.finding {
            Finding::Late if number < MEASUREMENTS => number += 1,
            Finding::Acts | Finding::Fails | Finding::Late | Finding::NotSet => break measurement,
        }
    };
    if number > 1 {
        measured.push_str(&format!(" (measurement {number})"));
    }
    let verdict = match finding {
        Finding::Acts => ProofVerdict::Acts,
        Finding::Fails | Finding::Late => ProofVerdict::Fails,
        Finding::NotSet => ProofVerdict::NotSet,
    };
    Ok(Proof { limit, expected, measured, verdict })
}

impl Measurement {
    pub(super) fn not_set(expected: &str) -> Self {
        Self { expected: expected.to_owned(), measured: "-".to_owned(), finding: Finding::NotSet }
    }
}

impl fmt::Display for ProofVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
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

/// A duration as set, cut to `most` for the experiment: what it is then, and by which factor.
pub(super) fn shortened(stated: Duration, most: Duration) -> (Duration, f64) {
    if stated <= most {
        return (stated, 1.0);
    }
    (most, most.as_secs_f64() / stated.as_secs_f64())
}
