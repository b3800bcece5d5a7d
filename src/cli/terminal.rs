use std::io::{self, IsTerminal, Write};

use indicatif::{MultiProgress, ProgressDrawTarget};
use serde_json::json;

use crate::report::exit::Exit;
use crate::report::log::{self, LogStyle, Verbosity};
use crate::report::output::{Written, printable, write_to};
use crate::settings::resolved::LogFormat;

use super::error::CliError;

/// How a command prints its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Both ends of the terminal: stdout carries the result, stderr everything else.
pub struct Terminal {
    pub verbosity: Verbosity,
    /// There only when stderr is a terminal and wants to be drawn on.
    pub bars: Option<MultiProgress>,
    /// Whether a person sits at stdin and stderr.
    pub is_interactive: bool,
    has_colour: bool,
    log_level: Option<String>,
}

impl Terminal {
    /// The terminal this process was started on.
    pub fn of_process(quiet: bool, verbose: u8) -> Self {
        let verbosity = match (quiet, verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        };
        let is_terminal = io::stderr().is_terminal();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let wants_bars = is_terminal && !is_dumb && verbosity != Verbosity::Quiet;
        Self {
            verbosity,
            bars: wants_bars.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())),
            is_interactive: is_terminal && io::stdin().is_terminal(),
            has_colour: is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            log_level: std::env::var("GAPLESS_LOG").ok(),
        }
    }

    /// Begins to log; JSON lines leave no room for bars.
    pub fn start_log(&mut self, format: LogFormat) {
        let style = match format {
            LogFormat::Json => {
                self.bars = None;
                LogStyle::Json
            }
            LogFormat::Text if self.has_colour => LogStyle::Coloured,
            LogFormat::Text => LogStyle::Plain,
        };
        log::start(self.verbosity, style, self.log_level.as_deref(), self.bars.clone());
    }

    /// The result, on stdout.
    pub fn print(&self, text: &str) -> Result<Exit, CliError> {
        match write_to(&mut io::stdout().lock(), text) {
            Written::Whole | Written::PipeClosed => Ok(Exit::Whole),
            Written::Failed(source) => Err(CliError::local("the result cannot be written to stdout", source)),
        }
    }

    /// A line for a person, on stderr; nothing when quiet.
    pub fn note(&self, text: &str) {
        if self.verbosity == Verbosity::Quiet {
            return;
        }
        // A stderr that is gone or full must not stop the work.
        let write = || drop(writeln!(io::stderr().lock(), "{text}"));
        match &self.bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    /// Tells an error, as text on stderr or as JSON on stdout, and says how the program ends.
    pub fn fail(&self, error: &CliError, format: Format) -> Exit {
        let is_told = match format {
            Format::Text => false,
            Format::Json => {
                let told = json!({"exit_code": error.exit.code(), "error": {"what": error.what, "hint": error.hint}});
                match write_to(&mut io::stdout().lock(), &format!("{told}\n")) {
                    Written::Whole | Written::PipeClosed => true,
                    // A stdout that takes nothing must not keep the error to itself.
                    Written::Failed(_) => false,
                }
            }
        };
        if !is_told {
            let hint = error.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            // Each line by itself: what came from outside must not steer the terminal.
            let what = error.what.split('\n').map(printable).collect::<Vec<_>>().join("\n");
            drop(write_to(&mut io::stderr().lock(), &format!("error: {what}\n{hint}")));
        }
        error.exit
    }
}
