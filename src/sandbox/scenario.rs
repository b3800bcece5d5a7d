use serde::Deserialize;

use super::answer::Answer;
use super::fault::{Fault, OneOrMany};
use super::limiter::Limit;
use super::regions::is_leaf;
use super::service::Service;
use super::sheet::{Sheet, TrueRow, partition_hash, true_row};
use super::spread::Spread;
use crate::model::month::Month;

/// How the portal behaves: what it holds, how fast it is, what it refuses, what goes wrong.
///
/// The default is a portal without limits and without faults, with 20 to 400 rows a partition.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The key to be asked with, decoded; any and none are right where it is not given.
    pub key: Option<String>,
    /// Another seed, other rows.
    pub seed: u64,
    /// Rows of a partition.
    pub rows: Spread,
    /// Exceptions from `rows`; the first that fits holds.
    #[serde(rename = "size")]
    pub sizes: Vec<SizeRule>,
    /// Share of rows that equal the row before them in every field.
    pub twins: f64,
    /// More rows than this are never on a page, whatever `numOfRows` asks, and nothing says so.
    pub page_cap: u64,
    /// Later months have no rows.
    pub last_month: Option<Month>,
    /// Codes without rows, besides the ones the portal knows as retired or as cities with districts.
    pub empty_regions: Vec<String>,
    pub empty_months: Vec<Month>,
    /// Time to a page, milliseconds.
    pub latency_ms: Spread,
    pub limit: Option<Limit>,
    pub quota: Option<Quota>,
    #[serde(rename = "fault")]
    pub faults: Vec<Fault>,
}

/// Rows of certain partitions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeRule {
    pub service: Option<OneOrMany<Service>>,
    pub region: Option<OneOrMany<String>>,
    pub month: Option<OneOrMany<Month>>,
    pub rows: Spread,
}

/// Calls a service takes before it says that the day is spent. The portal's day lasts as long as the portal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    pub daily_calls: u64,
    #[serde(default = "spent")]
    pub answer: Answer,
}

/// Why a text is no [`Scenario`].
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario is not valid")]
    Toml(#[source] Box<toml::de::Error>),
    #[error("there is no scenario `{name}`: known are {}", Scenario::NAMES.join(", "))]
    Unknown { name: String },
    #[error("fault {number} does nothing: give it `answer`, `content`, `echo_key`, `wire` or `wait_ms`")]
    Idle { number: usize },
    #[error("{setting} is {share}: a share is from 0 to 1")]
    Share { setting: String, share: f64 },
    #[error("{setting} counts down: its second number is below its first, or its median is 0")]
    Spread { setting: String },
}

impl Scenario {
    /// The scenarios that are compiled in.
    pub const NAMES: [&str; 4] = ["plain", "three-pages", "demo", "limits"];

    /// Reads a scenario.
    ///
    /// Errors: text that is no TOML, an unknown name, a value out of its range; the line is told where TOML knows it.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text).map_err(|error| ScenarioError::Toml(Box::new(error)))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// One of the scenarios that are compiled in.
    pub fn named(name: &str) -> Result<Self, ScenarioError> {
        let text = match name {
            "plain" => include_str!("../../config/scenarios/plain.toml"),
            "three-pages" => include_str!("../../config/scenarios/three-pages.toml"),
            "demo" => include_str!("../../config/scenarios/demo.toml"),
            "limits" => include_str!("../../config/scenarios/limits.toml"),
            _ => return Err(ScenarioError::Unknown { name: name.to_owned() }),
        };
        Self::from_toml(text)
    }

    /// The rows of a partition if nothing went wrong, in the portal's order.
    pub fn truth(&self, service: Service, region: &str, month: Month) -> Vec<TrueRow> {
        let rows = self.size(service, region, Some(month));
        let deals = Sheet::new(self.seed, service, region, month, self.twins).deals(0..rows);
        deals.iter().map(|deal| true_row(service, deal)).collect()
    }

    /// How many rows a partition has.
    pub(super) fn size(&self, service: Service, region: &str, month: Option<Month>) -> u64 {
        let Some(month) = month else { return 0 };
        let is_within = service.first_month() <= month && self.last_month.is_none_or(|last| month <= last);
        let is_empty = self.empty_months.contains(&month) || self.empty_regions.iter().any(|empty| empty == region);
        if !is_leaf(region) || !is_within || is_empty {
            return 0;
        }
        let rule = self.sizes.iter().find(|rule| rule.holds(service, region, month));
        let hash = partition_hash(self.seed, service, region, Some(month));
        rule.map_or(self.rows, |rule| rule.rows).pick(hash)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let check_share = |setting: String, share: f64| {
            if (0.0..=1.0).contains(&share) { Ok(()) } else { Err(ScenarioError::Share { setting, share }) }
        };
        let check_spread = |setting: String, spread: Spread| {
            if spread.is_ordered() { Ok(()) } else { Err(ScenarioError::Spread { setting }) }
        };
        check_share("twins".to_owned(), self.twins)?;
        check_spread("rows".to_owned(), self.rows)?;
        check_spread("latency_ms".to_owned(), self.latency_ms)?;
        for (position, rule) in self.sizes.iter().enumerate() {
            check_spread(format!("rows of size {}", position + 1), rule.rows)?;
        }
        for (position, fault) in self.faults.iter().enumerate() {
            let number = position + 1;
            if !fault.has_effect() {
                return Err(ScenarioError::Idle { number });
            }
            check_share(format!("share of fault {number}"), fault.share.unwrap_or(1.0))?;
            check_spread(format!("wait_ms of fault {number}"), fault.wait_ms.unwrap_or(Spread::Fixed(0)))?;
        }
        Ok(())
    }
}

impl SizeRule {
    fn holds(&self, service: Service, region: &str, month: Month) -> bool {
        self.service.as_ref().is_none_or(|wanted| wanted.holds(&service))
            && self.region.as_ref().is_none_or(|wanted| wanted.any(|known| known == region))
            && self.month.as_ref().is_none_or(|wanted| wanted.holds(&month))
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            key: None,
            seed: 0,
            rows: Spread::Between { from: 20, to: 400 },
            sizes: Vec::new(),
            twins: 0.0,
            page_cap: 10_000,
            last_month: None,
            empty_regions: Vec::new(),
            empty_months: Vec::new(),
            latency_ms: Spread::Fixed(0),
            limit: None,
            quota: None,
            faults: Vec::new(),
        }
    }
}

fn spent() -> Answer {
    Answer::Gateway3 { code: "22".to_owned(), status: None, retry_after: None }
}
