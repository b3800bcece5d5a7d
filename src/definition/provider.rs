use serde::{Deserialize, Serialize};

use crate::model::name::Name;
use crate::model::rate::Rate;

/// Who answers: base URL, key, limits, dialect.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub id: Name,
    pub dialect: Name,
    #[serde(default)]
    pub title: String,
    /// Scheme, host and path that the datasets' paths are put behind; no trailing slash.
    pub base_url: String,
    /// How far a `base_url` of plain `http://` is allowed.
    #[serde(default)]
    pub plain_http: PlainHttp,
    /// Query parameter that carries the key; none for an open source.
    #[serde(default)]
    pub key_param: Option<String>,
    /// Where a key is applied for.
    #[serde(default)]
    pub key_url: Option<String>,
    /// Calls in flight at once.
    pub concurrency: u32,
    /// Calls a second over all workers.
    pub rps: Rate,
    /// Calls a second the provider documents; a higher `rps` is warned about.
    #[serde(default)]
    pub documented_rps: Option<f64>,
    /// Calls a day for each dataset and key.
    #[serde(default)]
    pub daily_calls: Option<u64>,
    /// So many of the daily calls are kept back from months that fill up an old backlog.
    #[serde(default)]
    pub reserve_calls: u64,
    /// Time zone of its days and months.
    pub zone: String,
    /// Calls of one dataset that may be refused as invalid in a row before the dataset is left alone.
    #[serde(default = "five")]
    pub invalid_in_a_row: u32,
    /// No part of a definition: whether calls in flight and calls a second are limits to be kept to, or bounds.
    #[serde(skip)]
    pub pacing: Pacing,
}

/// How a provider's pace comes about.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pacing {
    /// It is that of the limits.
    #[default]
    Set,
    /// It is looked for below the limits.
    Sought {
        /// What a probe found, to begin with.
        seed: Option<Seed>,
        /// Where the highest rate comes from, in words.
        bound: String,
    },
}

/// What a probe found that a provider bears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seed {
    pub rps: f64,
    pub concurrency: Option<u32>,
}

/// Nobody who looks for a limit asks faster than this part of what is documented.
const OF_DOCUMENTED: f64 = 0.9;

impl Provider {
    /// The highest rate to look for a limit at, by what the provider documents, and why.
    pub fn most_by_documents(&self) -> Option<(f64, String)> {
        let documented = self.documented_rps?;
        Some((OF_DOCUMENTED * documented, format!("nine tenths of the documented {documented}")))
    }
}

/// How far plain `http://` is allowed: whoever sits on the way reads the key, and can change what comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "bool", into = "bool")]
pub enum PlainHttp {
    /// To this machine alone.
    #[default]
    Loopback,
    /// Written `plain_http = true`: the provider offers nothing else.
    Anywhere,
}

impl From<bool> for PlainHttp {
    fn from(is_allowed: bool) -> Self {
        if is_allowed { Self::Anywhere } else { Self::Loopback }
    }
}

impl From<PlainHttp> for bool {
    fn from(plain_http: PlainHttp) -> Self {
        match plain_http {
            PlainHttp::Loopback => false,
            PlainHttp::Anywhere => true,
        }
    }
}

fn five() -> u32 {
    5
}
