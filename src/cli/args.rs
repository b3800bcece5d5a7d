use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::plan::selection::Only;
use crate::settings::schema::parse_duration;

use super::terminal::Format;
use super::throughput_args::ThroughputArgs;

/// Collects paged public-data APIs without silent gaps.
///
/// After a run every partition is whole in the database, or named as missing with the reason, and the exit code says so:
/// 0 whole, 3 incomplete, 5 key refused, 6 deferred (run again later), 2 usage or settings, 4 locked, 7 store, 8 this machine.
#[derive(Debug, Parser)]
#[command(name = "gapless", version, disable_help_subcommand = true)]
pub struct Cli {
    /// Settings file instead of the usual ones
    #[arg(long, global = true, value_name = "FILE", help_heading = "Of every command")]
    pub config: Option<PathBuf>,
    /// Say nothing when all is well
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Of every command")]
    pub quiet: bool,
    /// Log every retry; twice: every attempt
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Of every command")]
    pub verbose: u8,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Collect what is due
    Collect(CollectArgs),
    /// Write a commented gapless.toml here, and make the store
    Init(InitArgs),
    /// Check key, permission, quota, store and clock: one call for each dataset
    Doctor(DoctorArgs),
    /// What is whole, what waits, what needs you
    Status(StatusArgs),
    /// Everything the ledger knows of one partition
    Why(WhyArgs),
    /// Publish what is held
    Accept(AcceptArgs),
    /// Compare ledger, rows and kept answers with each other; change nothing
    Audit(AuditArgs),
    /// Read kept answers again after a definition has changed; call nobody
    Replay(ReplayArgs),
    /// The store as a whole
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// See the whole story in under a minute: a practice portal, no key, no network
    Demo(DemoArgs),
    /// The datasets that can be collected
    Datasets {
        #[command(subcommand)]
        command: DatasetsCommand,
    },
    /// The settings in force
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Measure limits
    Probe {
        #[command(subcommand)]
        command: ProbeCommand,
    },
    /// Print the completion script of a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Datasets to collect; without any, those with a target in the settings
    #[arg(value_name = "DATASET")]
    pub datasets: Vec<String>,
    /// 2024-01, 2024-01..2024-12, 2006-01.. (to the current month), last:3
    #[arg(long, value_name = "SPAN")]
    pub months: Option<String>,
    /// Codes joined by commas, all, sido:11, @FILE
    #[arg(long, value_name = "LIST")]
    pub regions: Option<String>,
    /// Values of another axis
    #[arg(long = "axis", value_name = "NAME=V1,V2")]
    pub axes: Vec<String>,
    /// One partition: 11680,2024-03 or region=11680,month=2024-03
    #[arg(long = "partition", value_name = "P", conflicts_with_all = ["months", "regions", "axes"])]
    pub partitions: Vec<String>,
    /// Which of them to ask for
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub only: Only,
    /// Calls in flight at once, or auto: as many as the provider bears; PROVIDER=N with several providers
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub concurrency: Vec<String>,
    /// Calls a second over all workers, or none; PROVIDER=N with several providers
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub rps: Vec<String>,
    /// End the run after so many calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_calls: Option<u64>,
    /// End the run after so long, as `2h` or `90m`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_runtime: Option<Duration>,
    /// End with 0 instead of 6 when all that is deferred is older than the recent months
    #[arg(long)]
    pub deferred_ok: bool,
    /// Where to store, as sqlite://gapless.db or postgres://USER@HOST/DATABASE; made when it is not there
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Make the store of the settings when it is not there
    #[arg(long)]
    pub create: bool,
    /// Say what would be asked and what it costs; call and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// The store a command looks at.
#[derive(Debug, Default, Args)]
pub struct StoreArg {
    /// The store instead of the one of the settings
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

impl StoreArg {
    /// As settings: path, value, flag.
    pub fn flags(&self) -> Vec<(String, String, String)> {
        self.store.iter().map(|url| ("store.url".to_owned(), url.clone(), "--store".to_owned())).collect()
    }
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to store instead of gapless-demo.db; nothing may be there yet
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Where the store is to be
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Datasets to check; without any, those with a target in the settings
    #[arg(value_name = "DATASET")]
    pub datasets: Vec<String>,
    #[command(flatten)]
    pub store: StoreArg,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub store: StoreArg,
    /// Exit 3 when a dataset was not checked for so long, as `36h`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub fail_if_older: Option<Duration>,
    /// Exit 3 when a wanted partition is not whole, or something waits for a decision
    #[arg(long)]
    pub fail_if_incomplete: bool,
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct WhyArgs {
    pub dataset: String,
    /// 11680,2024-03 or region=11680,month=2024-03
    pub partition: String,
    #[command(flatten)]
    pub store: StoreArg,
}

#[derive(Debug, Args)]
pub struct AcceptArgs {
    pub dataset: Option<String>,
    /// 11680,2024-03 or region=11680,month=2024-03
    #[arg(value_name = "PARTITION")]
    pub partitions: Vec<String>,
    /// Everything that this run held
    #[arg(long, value_name = "N", conflicts_with_all = ["dataset", "partitions"])]
    pub run: Option<u32>,
    /// Why it is right, for the ledger
    #[arg(long, value_name = "TEXT", default_value = "looked at and found right")]
    pub why: String,
    #[command(flatten)]
    pub store: StoreArg,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Datasets to ask about with --online; without any, all that are stored
    #[arg(value_name = "DATASET", requires = "online")]
    pub datasets: Vec<String>,
    /// Ask each source for its total, one call for each whole partition
    #[arg(long)]
    pub online: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    pub dataset: String,
    #[command(flatten)]
    pub store: StoreArg,
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy it to a file, whole or not at all; safe during a run
    Backup {
        file: PathBuf,
        #[command(flatten)]
        store: StoreArg,
    },
    /// Carry everything over to an empty place, on either engine, and compare all rows; goes on where it was broken off
    Copy {
        #[arg(long, value_name = "URL")]
        from: String,
        #[arg(long, value_name = "URL")]
        to: String,
    },
    /// Make and alter all tables, so that `collect` runs without the rights to
    Migrate {
        /// Datasets to make tables for, beside those with a target in the settings and those that are stored
        #[arg(value_name = "DATASET")]
        datasets: Vec<String>,
        /// On PostgreSQL: a role that is to collect
        #[arg(long, value_name = "ROLE")]
        collector: Option<String>,
        #[command(flatten)]
        store: StoreArg,
    },
}

#[derive(Debug, Subcommand)]
pub enum DatasetsCommand {
    /// All of them
    List,
    /// Columns, axes and source of one
    Show { dataset: String },
    /// Check a definition file, or all definitions in force
    Check { file: Option<PathBuf> },
    /// What the program makes of a stored answer
    Try {
        dataset: String,
        file: PathBuf,
        /// HTTP status it came with
        #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(100..600))]
        status: u16,
    },
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Every value and where it came from
    Show,
    /// Every setting with its default and what it means, as a file to copy from
    Default,
    /// Check names, values and combinations, and tell what calls, rate and a usual night come to
    Check,
}

#[derive(Debug, Subcommand)]
pub enum ProbeCommand {
    /// Prove by behaviour, against an in-process server, that the limits in force act
    Limits {
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Find out which rate and how many calls in flight a source bears
    Throughput(ThroughputArgs),
}

impl ProbeCommand {
    pub fn format(&self) -> Format {
        match self {
            Self::Limits { format } => *format,
            Self::Throughput(args) => args.format,
        }
    }
}

/// The whole command line, for completions and the manual page.
pub fn command() -> clap::Command {
    Cli::command()
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).filter(|time| !time.is_zero()).ok_or_else(|| "give a time such as `2h` or `90m`".to_owned())
}
