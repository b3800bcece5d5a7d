use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::duration;
use super::terminal::Format;

/// Asks faster and faster until something is refused, then less, and says what was tested. Nothing is stored.
#[derive(Debug, Args)]
pub struct ThroughputArgs {
    pub dataset: String,
    /// Partitions to ask for in turn; without any, those of the last three months
    #[arg(long = "partition", value_name = "P")]
    pub partitions: Vec<String>,
    /// Ask no more often than this
    #[arg(long, value_name = "N", default_value_t = 400, conflicts_with = "ladder", value_parser = clap::value_parser!(u32).range(30..=100_000))]
    pub max_calls: u32,
    /// Never ask faster, in calls a second; nor than nine tenths of a documented limit
    #[arg(long, value_name = "N", default_value = "50", conflicts_with = "ladder", value_parser = positive)]
    pub max_rps: f64,
    /// Never have more calls in flight
    #[arg(long, value_name = "N", default_value_t = 16, conflicts_with = "ladder", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_concurrency: u32,
    /// How long to wait, with single calls, until a source that refused answers again
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with = "ladder", value_parser = duration)]
    pub max_wait: Duration,
    /// Tries between the last rate that held and the first that did not
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "ladder", value_parser = clap::value_parser!(u32).range(0..=3))]
    pub refine: u32,
    /// A plain table instead, bounded by `--calls`: calls in flight and calls a second of each row
    #[arg(long, value_name = "N:RPS,…", num_args = 0..=1, default_missing_value = "2:40,4:40,6:40,6:60")]
    pub ladder: Option<String>,
    /// Calls of each row of the plain table
    #[arg(long, value_name = "N", default_value_t = 405, requires = "ladder", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub calls: u32,
    /// Draw it, as an .svg or .html file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Keep the answer below your settings, in gapless.probed.toml beside them
    #[arg(long, conflicts_with = "ladder")]
    pub save: bool,
    /// Spend more than a tenth of the calls a day that the source grants
    #[arg(long)]
    pub yes: bool,
    /// Say what it would cost; call nobody
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

fn positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate| (0.1..=10_000.0).contains(rate))
        .ok_or_else(|| "give calls a second, from 0.1 to 10000".to_owned())
}
