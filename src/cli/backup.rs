use std::path::Path;

use crate::report::exit::Exit;
use crate::store::OpenMode;

use super::args::StoreCommand;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// What is done with a store as a whole.
pub async fn run(command: &StoreCommand, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let StoreCommand::Backup { file, store } = command;
    let setup = Setup::load(config, Setup::environment(), |_| Ok(store.flags()))?;
    let url = setup.store_url()?;
    setup.open_store(&url, OpenMode::ReadOnly).await?.backup(file).await?;
    let shown = file.display();
    terminal.print(&format!("{url} as it is now is in {shown}\nnext: gapless status --store sqlite://{shown}\n"))
}
