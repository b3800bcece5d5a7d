use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde::Deserialize;

use super::answer::Answer;
use super::content::Content;
use super::page::Asked;
use super::service::Service;
use super::sheet::partition_hash;
use super::spread::{Spread, falls_within, mix};
use super::wire::Wire;
use crate::model::month::Month;

/// One rule of a scenario: which requests it catches, and what happens to them.
///
/// The first rule that catches a request plays; what it does not say stays as it is, so that rules can mix, for example
/// a wrong total that trickles.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    /// How the log calls it; made up of its parts where it is not given.
    pub name: Option<String>,

    pub service: Option<OneOrMany<Service>>,
    pub region: Option<OneOrMany<String>>,
    pub month: Option<OneOrMany<Month>>,
    pub page: Option<Pages>,
    /// Which reading of the partition, from 1: one more for every page 1 that was answered as a page and unharmed on
    /// the wire. A fault that heals in the second reading has `read = 1`.
    pub read: Option<OneOrMany<u32>>,
    pub connection: Option<ConnectionAge>,
    /// Only the first so many requests of each page of each partition; every one where it is not given.
    pub times: Option<NonZeroU32>,
    /// Only this share of all pages: always the same ones.
    pub share: Option<f64>,
    /// Only from then on, and only until then: milliseconds since the portal's first request. A server that is down for
    /// a while has both.
    pub from_ms: Option<u64>,
    pub until_ms: Option<u64>,

    /// Waits before the answer, milliseconds, instead of the scenario's latency.
    pub wait_ms: Option<Spread>,
    /// What is answered instead of a page.
    pub answer: Option<Answer>,
    /// How the page is falsified.
    pub content: Option<Content>,
    /// The key as asked with appears in the answer's message.
    pub echo_key: Option<KeyEcho>,
    /// What happens on the wire.
    pub wire: Option<Wire>,
}

/// One value or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "one value, or a list of them")]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// Page numbers: `2`, `[2, 3]`, `{ from = 2 }` or `{ from = 2, to = 4 }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a page number, a list of them, or `{ from = …, to = … }`", deny_unknown_fields)]
pub enum Pages {
    One(NonZeroU64),
    Many(Vec<NonZeroU64>),
    Range { from: NonZeroU64, to: Option<NonZeroU64> },
}

/// Whether the connection has carried a request before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionAge {
    Fresh,
    Reused,
}

/// How a key is echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyEcho {
    Decoded,
    Encoded,
}

impl Fault {
    /// Whether the rule catches this request, its `times` apart. `age` is the time since the portal's first request.
    pub(super) fn catches(&self, asked: &Asked, read: u32, connection: ConnectionAge, rule: usize, age: Duration) -> bool {
        let age_ms = age.as_millis();
        self.from_ms.is_none_or(|from| u128::from(from) <= age_ms)
            && self.until_ms.is_none_or(|until| age_ms < u128::from(until))
            && self.service.as_ref().is_none_or(|wanted| wanted.holds(&asked.service))
            && self.region.as_ref().is_none_or(|wanted| wanted.any(|region| **region == *asked.region))
            && self.month.as_ref().is_none_or(|wanted| asked.month.is_some_and(|month| wanted.holds(&month)))
            && self.page.as_ref().is_none_or(|wanted| wanted.holds(asked.page))
            && self.read.as_ref().is_none_or(|wanted| wanted.holds(&read))
            && self.connection.is_none_or(|wanted| wanted == connection)
            && self.share.is_none_or(|share| {
                let partition = partition_hash(rule as u64, asked.service, &asked.region, asked.month);
                falls_within(mix(partition, asked.page), share)
            })
    }

    /// Whether the client gets a whole answer that shows a page, true or false.
    pub(super) fn serves_page(&self) -> bool {
        self.answer.is_none() && self.wire.as_ref().is_none_or(Wire::is_harmless)
    }

    /// Whether it does anything at all.
    pub(super) fn has_effect(&self) -> bool {
        self.wait_ms.is_some()
            || self.answer.is_some()
            || self.content.is_some()
            || self.echo_key.is_some()
            || self.wire.is_some()
    }
}

/// What it plays, for the log: `wire cut_body`, `answer gateway3 + wire trickle`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return f.write_str(name);
        }
        let parts = [
            self.answer.as_ref().map(|answer| format!("answer {}", answer.kind())),
            self.content.as_ref().map(|content| format!("content {}", content.kind())),
            self.echo_key.map(|_| "echo_key".to_owned()),
            self.wire.as_ref().map(|wire| format!("wire {}", wire.kind())),
            self.wait_ms.map(|_| "wait".to_owned()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" + "))
    }
}

impl<T: PartialEq> OneOrMany<T> {
    pub(super) fn holds(&self, value: &T) -> bool {
        self.any(|known| known == value)
    }

    pub(super) fn any(&self, matches: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::One(known) => matches(known),
            Self::Many(known) => known.iter().any(matches),
        }
    }
}

impl Pages {
    fn holds(&self, page: u64) -> bool {
        match self {
            Self::One(known) => known.get() == page,
            Self::Many(known) => known.iter().any(|known| known.get() == page),
            Self::Range { from, to } => from.get() <= page && to.is_none_or(|to| page <= to.get()),
        }
    }
}
