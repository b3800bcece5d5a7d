//! What a child process costs.

use std::process::Command;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::Outcome;

/// What one process took from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Seconds.
    pub wall: f64,
    /// Seconds of all its threads, in user and kernel.
    pub cpu: f64,
    /// Largest resident set, in units of 1,000,000 bytes.
    pub peak_mb: f64,
}

impl Usage {
    /// The median of each figure by itself.
    pub fn median(usages: &[Self]) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = usages.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Self { wall: median(|usage| usage.wall), cpu: median(|usage| usage.cpu), peak_mb: median(|usage| usage.peak_mb) }
    }
}

/// Runs a command beneath a small process of its own, and returns what that process says it took.
///
/// The kernel adds up what all children took and keeps the largest peak of them, so each needs a parent of its own.
pub fn run(command: &Command) -> Outcome<Usage> {
    let mut measured = Command::new(std::env::current_exe()?);
    measured.arg("measure").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measured.env(name, value),
            None => measured.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        measured.current_dir(folder);
    }
    let output = measured.output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let line = String::from_utf8(output.stdout)?;
    let figures = line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let [wall, cpu, peak_mb] = figures[..] else { return Err(format!("no usage: `{line}`").into()) };
    Ok(Usage { wall, cpu, peak_mb })
}

/// Runs a program and prints the seconds of its wall and CPU time and its peak memory.
pub fn here(program: &str, arguments: &[&str]) -> Outcome<()> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments);
    // The program takes what begins like its own settings for a misspelt one.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GAPLESS_BENCH_") {
            command.env_remove(name);
        }
    }
    let output = command.output()?;
    let wall = begun.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6;
    // The kernel counts in units of 1,024 bytes.
    println!("{wall} {cpu} {}", usage.max_rss() as f64 * 1024.0 / 1e6);
    Ok(())
}
