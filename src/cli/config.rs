use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::caller::{ProviderLimits, Unrationed};
use crate::model::password::without_passwords;
use crate::report::exit::Exit;

use super::args::ConfigCommand;
use super::ask::caller;
use super::error::CliError;
use super::orders::target_of;
use super::setup::Setup;
use super::terminal::Terminal;

pub fn run(command: &ConfigCommand, config: Option<&Path>, terminal: &Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    match command {
        ConfigCommand::Show => terminal.print(&shown(&setup)),
        ConfigCommand::Check => {
            check(&setup)?;
            let file = setup.settings.file.as_ref().map_or("no settings file".to_owned(), |file| file.display().to_string());
            terminal.print(&format!("{file}: every name is known, every value is legal\nnext: gapless config show\n"))
        }
    }
}

/// What can be tried without a call: every target names partitions, and every provider can be asked.
fn check(setup: &Setup) -> Result<(), CliError> {
    for name in setup.settings.targets.keys() {
        let hint = format!("mend `[collect.{name}]`");
        target_of(setup.dataset(name)?, setup, Timestamp::now()).map_err(|error| error.with_hint(hint))?;
    }
    let askable = setup
        .providers()
        .try_for_each(|provider| caller(setup, vec![ProviderLimits::of(provider)], Arc::new(Unrationed)).map(drop));
    askable.map_err(|error| error.with_hint("mend `[http]`"))
}

fn shown(setup: &Setup) -> String {
    let mut text = match &setup.settings.file {
        Some(file) => format!("# settings file: {}\n", file.display()),
        None => "# settings file: none\n".to_owned(),
    };
    for (path, assigned) in setup.settings.values() {
        text.push_str(&format!("{path} = {:?}  # {}\n", without_passwords(&assigned.text), assigned.origin));
    }
    for provider in setup.catalog.providers() {
        let key = match setup.key(provider) {
            Ok(Some(key)) => format!("{} characters", key.length()),
            Ok(None) => "not needed".to_owned(),
            Err(error) => error.what,
        };
        text.push_str(&format!("# key of {}: {key}\n", provider.id));
    }
    for file in setup.catalog.shadowed() {
        text.push_str(&format!("# {} stands in front of a shipped definition\n", file.display()));
    }
    text
}
