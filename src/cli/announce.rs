use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::caller::Start;
use crate::definition::provider::{Pacing, Provider};
use crate::model::name::Name;
use crate::model::rate::Rate;
use crate::report::number::duration;
use crate::settings::breaker::{BreakerCounts, BreakerSettings};
use crate::settings::resolved::Settings;
use crate::store::url::{ServerUrl, StoreUrl};

use super::doubts::rate_doubts;
use super::orders::Order;
use super::terminal::Terminal;

/// States the limits in force and where each came from, before anything is asked.
pub fn announce(settings: &Settings, orders: &[Order], url: &StoreUrl, now: Timestamp, terminal: &Terminal) {
    let file =
        settings.file.as_ref().map_or("defaults, no settings file".to_owned(), |file| format!("settings {}", file.display()));
    terminal.note(&format!("gapless {}: {file}, store {url}", env!("CARGO_PKG_VERSION")));
    if url.server().is_some_and(ServerUrl::is_readable_by_others) {
        terminal.note(&format!("warning: what is sent to {url} can be read on its way: add `sslmode=verify-full` to the URL"));
    }
    if let Some(line) = sharing_line(settings, url) {
        terminal.note(&line);
    }
    let mut said = BTreeSet::new();
    for Order { provider, .. } in orders {
        if !said.insert(&provider.id) {
            continue;
        }
        let waits = settings.retry.waits().into_iter().map(duration).collect::<Vec<_>>().join(", ");
        let limits = limits_line(settings, provider);
        terminal.note(&format!(
            "{}: {limits}, {} retries after {} ({})",
            provider.id,
            settings.retry.max_retries,
            if waits.is_empty() { "nothing" } else { &waits },
            settings.origin("retry.max_retries").unwrap_or("default"),
        ));
        for doubt in rate_doubts(settings, provider, now) {
            terminal.note(&format!("warning: {doubt}"));
        }
        let breakers = orders.iter().filter(|order| order.provider.id == provider.id).map(|order| &order.dataset.id);
        for line in breaker_lines(settings, provider, breakers) {
            terminal.note(&line);
        }
    }
}

/// Whether the limits hold for all hosts together, where there can be several.
pub fn sharing_line(settings: &Settings, url: &StoreUrl) -> Option<String> {
    url.server()?;
    let whose = match settings.shared_limits {
        true if settings.is_any_auto() => {
            "kept together with the other hosts that collect into this store; each looks for its pace below them, and the slowest pace holds for all"
        }
        true => "kept together with the other hosts that collect into this store",
        false => "each host keeps its own, and the source sees the sum",
    };
    Some(format!("limits: {whose} ({})", settings.origin("limits.shared").unwrap_or("default")))
}

/// The limits of a provider with their origins, or the bounds within which its pace is looked for.
fn limits_line(settings: &Settings, provider: &Provider) -> String {
    let Provider { id, concurrency, rps, pacing, .. } = provider;
    let origin = |key: &str| settings.origin(&format!("providers.{id}.{key}")).unwrap_or("definition").to_owned();
    let (from, bound) = match pacing {
        Pacing::Set => return format!("{concurrency} in flight ({}), {rps} ({})", origin("concurrency"), origin("rps")),
        Pacing::Sought { seed: None, bound } => (Rate::PerSecond(Start::COLD.rate).to_string(), bound),
        Pacing::Sought { seed: Some(seed), bound } => (format!("{} that a probe found", Rate::PerSecond(seed.rps)), bound),
    };
    format!("auto, from {from} to at most {rps} ({bound}), at most {concurrency} in flight")
}

/// When a dataset is left alone because its server is in trouble: one line for all datasets that have the same breaker.
fn breaker_lines<'a>(settings: &Settings, provider: &Provider, datasets: impl Iterator<Item = &'a Name>) -> Vec<String> {
    let mut told: Vec<(BreakerSettings, Vec<&str>)> = Vec::new();
    for dataset in datasets {
        let breaker = settings.breakers.of(&provider.id, dataset);
        match told.iter_mut().find(|(known, _)| *known == breaker) {
            Some((_, datasets)) => datasets.push(dataset.as_str()),
            None => told.push((breaker, vec![dataset.as_str()])),
        }
    }
    let is_one = told.len() == 1;
    let line = |(breaker, datasets): (BreakerSettings, Vec<&str>)| {
        let whose = if is_one { provider.id.to_string() } else { datasets.join(", ") };
        format!("{whose}: {}", breaker_line(settings, provider, &breaker))
    };
    told.into_iter().map(line).collect()
}

/// When an API is left alone because its server is in trouble.
pub fn breaker_line(settings: &Settings, provider: &Provider, breaker: &BreakerSettings) -> String {
    if breaker.counts == BreakerCounts::None {
        return "no breaker: a server in trouble is asked as often as the retries say".to_owned();
    }
    let reach = breaker.reach(provider.concurrency, provider.rps, &settings.http, &settings.retry);
    let lowered = match reach.calls < breaker.min_calls {
        true => format!(" (lowered to {} where all time out: {})", reach.calls.max(1), reach.arithmetic),
        false => String::new(),
    };
    format!(
        "left alone for {} when {} % of {} calls{lowered} fail within {}, or {} in a row",
        duration(breaker.open_for),
        breaker.failure_rate,
        breaker.min_calls,
        duration(breaker.window),
        breaker.failures_in_a_row,
    )
}
