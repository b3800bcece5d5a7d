//! The command line: one file per command.

mod accept;
mod announce;
mod args;
mod arithmetic;
mod ask;
mod audit;
mod audit_online;
mod collect;
mod company;
mod config;
mod datasets;
mod demo;
mod doctor;
mod doubts;
mod dry_run;
mod error;
mod init;
mod key_lock;
mod orders;
mod probe;
mod replay;
mod run;
mod save;
mod setup;
mod signal;
mod status;
mod store;
mod terminal;
mod throughput;
mod throughput_args;
mod why;

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

pub use args::Cli;
use args::Command;
pub use error::CliError;

use crate::report::exit::Exit;
use terminal::{Format, Terminal};

/// Runs the program with the arguments and environment of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = match error.print() {
                _ if error.use_stderr() => Exit::Usage,
                Err(failed) if failed.kind() != ErrorKind::BrokenPipe => Exit::LocalResource,
                Ok(()) | Err(_) => Exit::Whole,
            };
            return ExitCode::from(exit.code());
        }
    };
    let mut terminal = Terminal::of_process(cli.quiet, cli.verbose);
    let format = cli.command.format();
    let runtime = tokio::runtime::Builder::new_multi_thread().max_blocking_threads(16).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = unbroken(|| runtime.block_on(dispatch(cli, &mut terminal)));
            if ended.is_err() {
                // What is still under way ends with the process: a runtime shut down beneath it would make it panic.
                std::mem::forget(runtime);
            }
            ended
        }
        Err(source) => Err(CliError::local("the program cannot start its threads", source)),
    };
    let exit = ended.unwrap_or_else(|error| terminal.fail(&error, format));
    ExitCode::from(exit.code())
}

/// A bug of ours ends with its exit code, as everything does; where it broke is on stderr already.
fn unbroken(work: impl FnOnce() -> Result<Exit, CliError>) -> Result<Exit, CliError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let what = "gapless itself broke: this is a bug; what was stored is safe".to_owned();
        let hint = "please report it with the lines above and the output of `gapless config show`; keys are never in it";
        Err(CliError { exit: Exit::OwnFault, what, hint: None }.with_hint(hint))
    })
}

async fn dispatch(cli: Cli, terminal: &mut Terminal) -> Result<Exit, CliError> {
    match cli.command {
        Command::Collect(args) => collect::run(&args, cli.config.as_deref(), terminal).await,
        Command::Init(args) => init::run(&args, terminal).await,
        Command::Doctor(args) => doctor::run(&args, cli.config.as_deref(), terminal).await,
        Command::Status(args) => status::run(&args, cli.config.as_deref(), terminal).await,
        Command::Accept(args) => accept::run(&args, cli.config.as_deref(), terminal).await,
        Command::Audit(args) => audit::run(&args, cli.config.as_deref(), terminal).await,
        Command::Replay(args) => replay::run(&args, cli.config.as_deref(), terminal).await,
        Command::Store { command } => store::run(&command, cli.config.as_deref(), terminal).await,
        Command::Why(args) => why::run(&args, cli.config.as_deref(), terminal).await,
        Command::Demo(args) => demo::run(&args, terminal).await,
        Command::Datasets { command } => datasets::run(&command, cli.config.as_deref(), terminal),
        Command::Config { command } => config::run(&command, cli.config.as_deref(), terminal).await,
        Command::Probe { command } => probe::run(&command, cli.config.as_deref(), terminal).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "gapless", &mut script);
            terminal.print(&String::from_utf8_lossy(&script))
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(args::command())
                .render(&mut page)
                .map_err(|source| CliError::local("the page cannot be made", source))?;
            terminal.print(&String::from_utf8_lossy(&page))
        }
    }
}

impl Command {
    /// How the command prints, so that its errors print likewise.
    fn format(&self) -> Format {
        match self {
            Self::Collect(args) => args.format,
            Self::Status(args) => args.format,
            Self::Probe { command } => command.format(),
            Self::Init(_)
            | Self::Doctor(_)
            | Self::Why(_)
            | Self::Accept(_)
            | Self::Audit(_)
            | Self::Replay(_)
            | Self::Store { .. }
            | Self::Demo(_)
            | Self::Datasets { .. }
            | Self::Config { .. }
            | Self::Completions { .. }
            | Self::Man => Format::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_ends_with_its_own_exit_code() {
        let told = unbroken(|| panic!("a bug")).unwrap_err();
        assert_eq!((told.exit, told.exit.code()), (Exit::OwnFault, 1));
        assert!(told.hint.is_some());
        assert!(matches!(unbroken(|| Ok(Exit::Deferred)), Ok(Exit::Deferred)));
    }
}
