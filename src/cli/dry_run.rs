use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::plan::cost::{Cost, Limits, cost};
use crate::plan::selection::Reason;
use crate::report::exit::Exit;
use crate::report::number::{counted, duration, grouped};
use crate::store::state::{ApiState, to_come};
use crate::store::{OpenMode, Store};

use super::args::CollectArgs;
use super::error::CliError;
use super::orders::{Order, chosen, orders};
use super::setup::Setup;
use super::terminal::{Format, Terminal};

/// Says what would be asked and what it costs; neither calls nor writes anything.
pub async fn dry_run(args: &CollectArgs, setup: &Setup, terminal: &Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let orders = orders(args, setup, now)?;
    let url = setup.store_url()?;
    let store = match Store::exists(&url).await? {
        true => Some(setup.open_store(&url, OpenMode::ReadOnly).await?),
        false => None,
    };
    let chosen = chosen(args, &orders, setup, store.as_ref(), now).await?;
    if let Some(store) = store {
        for ApiState { dataset, blocked_until, why, .. } in store.api_states().await? {
            let is_asked = orders.iter().any(|order| order.dataset.id == dataset);
            if let Some(until) = to_come(blocked_until, now).filter(|_| is_asked) {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                terminal.note(&format!("{dataset} is left alone until {until:.0}{why}"));
            }
        }
        store.close().await;
    }
    let limits: HashMap<&Name, Limits> = orders
        .iter()
        .map(|Order { dataset, provider, .. }| {
            let Provider { rps: rate, daily_calls, reserve_calls, .. } = **provider;
            (&dataset.id, Limits { rate, daily_calls, reserve_calls })
        })
        .collect();
    let cost = cost(&chosen.selected, |dataset| limits[dataset]);
    if !chosen.need_person.is_empty() {
        let count = chosen.need_person.len() as u64;
        terminal.note(&format!("{} failed on several days and need a person: see `gapless status`", counted(count, "partition")));
    }
    for note in orders.iter().flat_map(|order| &order.target.notes) {
        terminal.note(note);
    }
    terminal.print(&match args.format {
        Format::Json => format!("{}\n", json!({ "plan": cost })),
        Format::Text => plan_text(&cost),
    })
}

fn plan_text(cost: &Cost) -> String {
    let reasons: Vec<String> =
        cost.by_reason.iter().map(|(reason, count)| format!("{} {}", grouped(*count), in_words(*reason))).collect();
    let reasons = if reasons.is_empty() { "nothing is due".to_owned() } else { reasons.join(", ") };
    let mut text = format!("{}: {reasons}\n", counted(cost.partitions, "partition"));
    let time = cost.seconds.map_or("no limit on the rate".to_owned(), |seconds| {
        format!("at least {} at the cap", duration(Duration::from_secs_f64(seconds)))
    });
    text.push_str(&format!("{} expected, {time}\n", counted(cost.calls, "call")));
    if let Some(share) = cost.quota_share {
        text.push_str(&format!("{:.1} % of the daily quota, {}\n", share * 100.0, counted(cost.nights, "night")));
    }
    let next = if cost.partitions == 0 { "gapless status" } else { "the same command without `--dry-run`" };
    text.push_str(&format!("nothing was called or written\nnext: {next}\n"));
    text
}

fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Recent => "of recent months",
        Reason::Failed => "failed before",
        Reason::Held => "held, to be read again",
        Reason::Refresh => "whole, asked for again",
        Reason::Backfill => "missing of older months",
    }
}
