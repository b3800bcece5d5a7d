use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;

use crate::model::name::Name;
use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::store::OpenMode;
use crate::store::url::{StoreUrl, StoreUrlError};

use super::args::{StoreArg, StoreCommand};
use super::error::CliError;
use super::setup::{Setup, refuse_password};
use super::terminal::Terminal;

/// What is done with a store as a whole.
pub async fn run(command: &StoreCommand, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    match command {
        StoreCommand::Backup { file, store } => backup(file, store, config, terminal).await,
        StoreCommand::Copy { from, to } => copy(from, to, config, terminal).await,
        StoreCommand::Migrate { datasets, collector, store } => {
            migrate(datasets, collector.as_deref(), store, config, terminal).await
        }
    }
}

async fn backup(file: &Path, store: &StoreArg, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(store.flags()))?;
    let url = setup.store_url()?;
    setup.open_store(&url, OpenMode::ReadOnly).await?.backup(file).await?;
    let shown = file.display();
    terminal.print(&format!("{url} as it is now is in {shown}\nnext: gapless status --store sqlite://{shown}\n"))
}

async fn copy(from: &str, to: &str, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    let [from, to] = [place(from, &setup)?, place(to, &setup)?];
    if from == to {
        return Err(CliError::usage(format!("{from} can not be copied to itself")));
    }
    // Opened to be written, so that it is brought up to date: both sides have the same tables then.
    let source = setup.open_store(&from, OpenMode::OpenExisting).await?;
    let lock = source.try_lock(&format!("process {}, copying", std::process::id()))?;
    let target = setup.open_store(&to, OpenMode::Create).await?;
    let target_lock = target.try_lock(&format!("process {}, copying", std::process::id()))?;
    let copied = source.copy_to(&target).await?;
    drop((lock, target_lock));
    source.close().await;
    target.close().await;
    let before = if copied.there_before == 0 { String::new() } else { format!(", {} there before", copied.there_before) };
    terminal.print(&format!(
        "{} copied{before}; every value of their rows is the same in {to}\nnext: gapless status --store '{to}', then set `store.url`\n",
        counted(copied.compared, "snapshot"),
    ))
}

fn place(text: &str, setup: &Setup) -> Result<StoreUrl, CliError> {
    let url: StoreUrl = text.parse().map_err(|error: StoreUrlError| CliError::usage(error.to_string()))?;
    refuse_password(&url)?;
    setup.completed(url.in_schema(&setup.settings.store.schema))
}

async fn migrate(
    datasets: &[String],
    collector: Option<&str>,
    store: &StoreArg,
    config: Option<&Path>,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let setup = Setup::load(config, Setup::environment(), |_| Ok(store.flags()))?;
    let url = setup.store_url()?;
    let collector: Option<Name> = collector
        .map(|role| role.parse().map_err(|_| CliError::usage(format!("`{role}` is no role: give small letters, digits and `_`"))))
        .transpose()?;
    let store = setup.open_store(&url, OpenMode::Create).await?;
    let lock = store.try_lock(&format!("process {}, migrating", std::process::id()))?;
    for list in setup.catalog.region_lists() {
        store.declare_regions(list, now).await?;
    }
    let mut names: BTreeSet<String> = setup.settings.targets.keys().chain(datasets).cloned().collect();
    for line in store.datasets().await? {
        // One whose definition is gone keeps its tables as they are.
        names.extend(setup.catalog.dataset(&line).is_some().then_some(line));
    }
    for name in &names {
        store.declare(setup.dataset(name)?, now).await?;
    }
    store.admit_reader().await?;
    if let Some(role) = &collector {
        store.admit(role).await?;
    }
    drop(lock);
    store.close().await;
    let admitted = collector.map(|role| format!(", and `{role}` may collect into them")).unwrap_or_default();
    terminal.print(&format!(
        "{url} has the tables of {}{admitted}\nnext: gapless collect, which needs no right to alter tables now\n",
        counted(names.len() as u64, "dataset"),
    ))
}
