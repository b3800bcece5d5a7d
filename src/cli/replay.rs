use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::collect::replay::{Replayed, replay};
use crate::collect::source::{Past, Source};
use crate::collect::writer::{Keeping, Writer};
use crate::model::event::Listeners;
use crate::model::partition::Partition;
use crate::report::exit::Exit;
use crate::report::log::Log;
use crate::report::number::counted;
use crate::store::file::StoreFile;
use crate::store::job::Superseded;
use crate::store::{OpenMode, Store};

use super::args::ReplayArgs;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// Pages that may wait for the writer: they come from the disk, so few are enough.
const ROOM: usize = 4;

/// Reads kept answers of a dataset again and publishes them by the usual guards; calls nobody.
pub async fn run(args: &ReplayArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    terminal.start_log(setup.settings.log_format);
    let dataset = setup.dataset(&args.dataset)?;
    let url = setup.store_url()?;
    let store = Arc::new(setup.open_store(&url, OpenMode::OpenExisting).await?);
    let file = StoreFile::of(&url)?;
    let lock = store.try_lock(&format!("process {}, replaying", std::process::id()))?;
    let declared = store.declare(dataset, now).await?;
    let provider = setup.provider_of(dataset);
    let dialect = setup.catalog.dialect(&provider.dialect).expect("checked with the definitions").clone();
    let none = "none".to_owned();
    let source = Arc::new(Source::new(dataset.clone(), provider.clone(), dialect, None, none, declared, Past::HadRows));

    let run = store.begin_run(&lock, &format!("replay {}", dataset.id), env!("CARGO_PKG_VERSION"), now).await?;
    let superseded = if setup.settings.store.keep_snapshots { Superseded::Kept } else { Superseded::Removed };
    let keeping = Keeping { superseded, bodies: setup.settings.store.keep_bodies };
    let listener = Arc::new(Listeners(vec![Arc::new(Log)]));
    let writer = Writer::start(store.clone(), run, keeping, ROOM, Timestamp::now, listener)
        .map_err(|source| CliError::local("the writer cannot be started", source))?;
    let (mut again, mut without, mut not_whole) = (0, 0, 0);
    let (axes, desk) = (dataset.axis_names(), writer.desk());
    for state in store.states(&dataset.id).await? {
        let is_of_another_definition =
            state.published.as_ref().is_some_and(|snapshot| snapshot.definition_hash != source.declared.definition_hash());
        let Some(partition) = Partition::parse(&state.key, &axes).ok().filter(|_| is_of_another_definition) else { continue };
        let replayed = replay(&source, &partition, &store, &desk, setup.settings.max_pages, Timestamp::now);
        match replayed.await.map_err(|error| CliError { exit: Exit::Store, what: error.to_string(), hint: None })? {
            Replayed::Published => again += 1,
            Replayed::NotKept => without += 1,
            Replayed::NotPublished | Replayed::InWork => not_whole += 1,
        }
    }
    drop(desk);
    writer.finish().await?;
    let exit = if not_whole > 0 { Exit::Incomplete } else { Exit::Whole };
    store.end_run(run, exit.code(), Timestamp::now()).await?;
    file.iter().try_for_each(StoreFile::check)?;
    Store::close_shared(store).await;
    drop(lock);
    terminal.print(&format!(
        "{}: {} read again from kept answers, {} without kept answers, {} not published\nnobody was called\nnext: gapless status\n",
        dataset.id,
        counted(again, "partition"),
        without,
        not_whole,
    ))?;
    Ok(exit)
}
