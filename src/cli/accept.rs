use std::path::Path;

use jiff::Timestamp;

use crate::definition::dataset::Dataset;
use crate::model::partition::Partition;
use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::store::cell::Cell;
use crate::store::job::{Decision, Superseded};
use crate::store::{OpenMode, Store};

use super::args::AcceptArgs;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// Publishes what is held, on a person's word, and leaves a trace of who said so.
pub async fn run(args: &AcceptArgs, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    let store = setup.open_store(&setup.store_url()?, OpenMode::OpenExisting).await?;
    let lock = store.try_lock(&format!("process {}, accepting", std::process::id()))?;
    let who = setup.variable("USER").or(setup.variable("LOGNAME")).unwrap_or("unknown").to_owned();
    let mut text = String::new();
    // All are read before the first is published: a word that cannot be read changes nothing.
    let asked = wanted(args, &store).await?.into_iter().map(|(name, key)| {
        let dataset = setup.dataset(&name)?;
        Ok((dataset, parse(dataset, &key)?))
    });
    let asked: Vec<_> = asked.collect::<Result<_, CliError>>()?;
    let mut accepted = 0;
    for (dataset, partition) in &asked {
        let name = &dataset.id;
        let declared = store.declare(dataset, now).await?;
        let superseded = if setup.settings.store.keep_snapshots { Superseded::Kept } else { Superseded::Removed };
        let decision = Decision::Accept { who: &who, why: &args.why, superseded, now };
        match store.decide(&declared, partition, decision).await? {
            Some(_) => {
                accepted += 1;
                text.push_str(&format!("{name} {partition} is published\n"));
            }
            None => text.push_str(&format!("{name} {partition}: nothing of it is held\n")),
        }
    }
    store.close().await;
    drop(lock);
    if accepted > 0 {
        text.push_str(&format!("{} accepted by {who}\n", counted(accepted as u64, "partition")));
    }
    text.push_str("next: gapless status\n");
    terminal.print(&text)?;
    Ok(if accepted == asked.len() { Exit::Whole } else { Exit::Incomplete })
}

/// Dataset and partition of each that is to be published.
async fn wanted(args: &AcceptArgs, store: &Store) -> Result<Vec<(String, String)>, CliError> {
    let Some(run) = args.run else {
        let dataset = args.dataset.clone().ok_or_else(|| {
            CliError::usage("say what to accept: a dataset and its partitions, or `--run N` for all that run N held")
        })?;
        if args.partitions.is_empty() {
            return Err(CliError::usage(format!("name the partitions of {dataset} to accept")));
        }
        return Ok(args.partitions.iter().map(|partition| (dataset.clone(), partition.clone())).collect());
    };
    let sql = format!(
        "select p.dataset, p.key from job j join partition p on p.id = j.partition where j.run = {run} and j.verdict = 'held' \
         order by p.dataset, p.key"
    );
    let mut found = Vec::new();
    let text = |cell: &Cell<'_>| match cell {
        Cell::Text(text) => (*text).to_owned(),
        Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Blob(_) => String::new(),
    };
    store.select(&sql, |cells| found.push((text(&cells[0]), text(&cells[1])))).await?;
    match found.is_empty() {
        true => Err(CliError::usage(format!("run {run} held nothing"))),
        false => Ok(found),
    }
}

fn parse(dataset: &Dataset, text: &str) -> Result<Partition, CliError> {
    Partition::parse(text, &dataset.axis_names()).map_err(|error| CliError::usage(error.to_string()))
}
