use std::io::{self, Write};

use indicatif::MultiProgress;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::model::breaker::BreakerState;
use crate::model::event::{Event, Listener, NextStep, Pace};
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;

use super::number;
use super::output::printable;

/// Tells the events of a run as log lines.
pub struct Log;

/// How much is logged, before `GAPLESS_LOG` is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Only what somebody must act on.
    Quiet,
    Normal,
    /// Every retry.
    Verbose,
    /// Every attempt.
    Debug,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStyle {
    Plain,
    Coloured,
    Json,
}

/// Sends the program's log to stderr, around the bars where there are any.
///
/// `level` is the value of `GAPLESS_LOG`, such as `trace`; it wins over the verbosity. Other libraries are never heard: what
/// they log may hold whole URLs, keys included.
pub fn start(verbosity: Verbosity, style: LogStyle, level: Option<&str>, bars: Option<MultiProgress>) {
    let level = level.and_then(|level| level.parse().ok()).unwrap_or(match verbosity {
        Verbosity::Quiet => LevelFilter::ERROR,
        Verbosity::Normal => LevelFilter::WARN,
        Verbosity::Verbose => LevelFilter::INFO,
        Verbosity::Debug => LevelFilter::DEBUG,
    });
    let filter = EnvFilter::new(format!("off,gapless={level}"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(AroundBars(bars)).with_target(false);
    let _ = match style {
        LogStyle::Plain => tracing::subscriber::set_global_default(subscriber.with_ansi(false).finish()),
        LogStyle::Coloured => tracing::subscriber::set_global_default(subscriber.with_ansi(true).finish()),
        LogStyle::Json => tracing::subscriber::set_global_default(subscriber.json().finish()),
    };
}

impl Listener for Log {
    fn hear(&self, event: &Event) {
        match event {
            Event::JobStarted { job, dataset, partition } => {
                tracing::debug!(job.id = job.0, %dataset, %partition, "job started");
            }
            Event::AttemptStarted { label, number, in_flight, permits } => {
                tracing::debug!(
                    job.id = label.job.0,
                    page = label.page.0,
                    attempt = number,
                    in_flight,
                    permits,
                    "asking page {} of {} {}",
                    label.page,
                    label.dataset,
                    label.partition
                );
            }
            Event::AttemptEnded { attempt, next } => {
                let label = &attempt.label;
                let what = attempt.why.as_deref().map(printable).unwrap_or_else(|| attempt.outcome.to_string());
                let took_ms = attempt.took.as_millis() as u64;
                if matches!(attempt.outcome, Outcome::Page | Outcome::Empty) {
                    tracing::debug!(job.id = label.job.0, page = label.page.0, took_ms, outcome = %attempt.outcome, "answered");
                    return;
                }
                let then = match next {
                    NextStep::RetryIn(wait) => format!("; again in {}", number::duration(*wait)),
                    NextStep::WaitForProvider => "; again when the provider answers".to_owned(),
                    NextStep::Done => String::new(),
                };
                tracing::info!(
                    job.id = label.job.0,
                    page = label.page.0,
                    attempt = attempt.number,
                    took_ms,
                    outcome = %attempt.outcome,
                    "page {} of {} {}: {what}{then}",
                    label.page,
                    label.dataset,
                    label.partition
                );
            }
            Event::PageStored { job, rows } => tracing::debug!(job.id = job.0, rows, "page stored"),
            Event::ReadRestarted { job, read, why } => {
                tracing::info!(job.id = job.0, read = read.0, "reading again from page 1: {}", printable(why));
            }
            Event::JobEnded { job, dataset, partition, verdict, rows, why } => {
                let why = why.as_deref().map(printable).unwrap_or_default();
                match verdict {
                    Verdict::Complete | Verdict::Empty | Verdict::Unverified => {
                        tracing::debug!(job.id = job.0, %dataset, %partition, rows, %verdict, "job ended");
                    }
                    Verdict::Deferred => {
                        tracing::info!(job.id = job.0, rows, "{dataset} {partition} is deferred: {why}");
                    }
                    Verdict::Held | Verdict::Short | Verdict::Failed | Verdict::Lost => {
                        tracing::error!(job.id = job.0, rows, "{dataset} {partition} is {verdict}: {why}");
                    }
                }
            }
            Event::ProviderPaused { provider, pause, why } => {
                let wait = number::duration(*pause);
                tracing::warn!(%provider, "{provider} refused for speed ({}); nobody asks for {wait}", printable(why));
            }
            Event::ProviderResumed { provider, dark } => {
                tracing::info!(%provider, "{provider} answers again after {}", number::duration(*dark));
            }
            // Whoever measures tells what follows from it.
            Event::RateAnnounced { provider, rps } => tracing::debug!(%provider, rps, "announces a rate"),
            Event::PaceChanged { provider, pace: Pace { rps, refused_rps, in_flight, .. } } => {
                let in_flight = in_flight.map(|most| format!(", at most {most} in flight")).unwrap_or_default();
                let refused = refused_rps.map(|rate| format!("; {rate:.1}/s was refused")).unwrap_or_default();
                tracing::debug!(%provider, "{provider} is asked at {rps:.1}/s{in_flight}{refused}");
            }
            Event::ApiBlocked { dataset, until, why, .. } => {
                let until = until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
                tracing::error!(%dataset, "{dataset} is left alone{until}: {}", printable(why));
            }
            Event::BreakerChanged { dataset, state, until, openings, why, is_waited_for } => {
                let why = printable(why);
                match state {
                    BreakerState::Open => {
                        let until = until.map(|until| format!(" before {until:.0}")).unwrap_or_default();
                        let then = if *is_waited_for { "its calls wait" } else { "its jobs are deferred" };
                        tracing::warn!(%dataset, openings, "{dataset} is in trouble and not asked{until}; {then}: {why}");
                    }
                    BreakerState::HalfOpen => tracing::warn!(%dataset, openings, "{dataset} is tried again: {why}"),
                    BreakerState::Closed => tracing::warn!(%dataset, "{dataset} is well again: {why}"),
                }
            }
            Event::Warned { what } => tracing::warn!("{}", printable(what)),
        }
    }
}

/// Writes whole lines to stderr with the bars out of the way.
#[derive(Clone)]
struct AroundBars(Option<MultiProgress>);

struct Line {
    bars: Option<MultiProgress>,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for AroundBars {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { bars: self.0.clone(), text: Vec::new() }
    }
}

impl Write for Line {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A stderr that is gone or full must not stop the work.
        let write = || drop(io::stderr().write_all(&self.text));
        match &self.bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }
}
