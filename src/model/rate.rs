use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How many calls a second may leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateSpelling", into = "RateSpelling")]
pub enum Rate {
    /// From [`Rate::MIN`] to [`Rate::MAX`].
    PerSecond(f64),
    /// Written `none`: only the calls in flight are limited.
    Unlimited,
}

/// Why a text or number is no [`Rate`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a rate: give calls a second, more than 0 and at most {max}, or `none`", max = Rate::MAX)]
pub struct RateError {
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RateSpelling {
    Number(f64),
    Text(String),
}

impl Rate {
    /// Above it a call would leave every microsecond: no such source exists.
    pub const MAX: f64 = 1_000_000.0;
    /// Below it a call would leave once in twelve days.
    pub const MIN: f64 = 1e-6;

    /// Time between two calls; zero is no limit.
    pub fn interval(self) -> Duration {
        self.per_second().map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate))
    }

    pub fn per_second(self) -> Option<f64> {
        match self {
            Self::PerSecond(rate) => Some(rate),
            Self::Unlimited => None,
        }
    }
}

impl TryFrom<f64> for Rate {
    type Error = RateError;

    fn try_from(rate: f64) -> Result<Self, RateError> {
        let is_rate = (Self::MIN..=Self::MAX).contains(&rate);
        is_rate.then_some(Self::PerSecond(rate)).ok_or_else(|| RateError { text: rate.to_string() })
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        if text == "none" {
            return Ok(Self::Unlimited);
        }
        let rate: f64 = text.parse().map_err(|_| RateError { text: text.to_owned() })?;
        rate.try_into()
    }
}

impl TryFrom<RateSpelling> for Rate {
    type Error = RateError;

    fn try_from(spelling: RateSpelling) -> Result<Self, RateError> {
        match spelling {
            RateSpelling::Number(rate) => rate.try_into(),
            RateSpelling::Text(text) if text == "none" => Ok(Self::Unlimited),
            RateSpelling::Text(text) => Err(RateError { text }),
        }
    }
}

impl From<Rate> for RateSpelling {
    fn from(rate: Rate) -> Self {
        match rate {
            Rate::PerSecond(rate) => Self::Number(rate),
            Rate::Unlimited => Self::Text("none".to_owned()),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(f, "{rate}/s"),
            Self::Unlimited => f.write_str("no limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_positive_number_of_calls_a_second_or_none() {
        let check = |text: &str, rate: Option<Rate>| assert_eq!(text.parse::<Rate>().ok(), rate, "{text}");
        check("40", Some(Rate::PerSecond(40.0)));
        check("0.5", Some(Rate::PerSecond(0.5)));
        check("none", Some(Rate::Unlimited));
        check("1000000", Some(Rate::PerSecond(1e6)));
        for wrong in ["0", "-1", "NaN", "inf", "1000001", "1e9", "1e-300", "", "fast"] {
            check(wrong, None);
        }
    }
}
