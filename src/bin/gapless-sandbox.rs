//! The practice portal as a program of its own.

use std::error::Error;
use std::fs::File;
use std::io::{LineWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use gapless::sandbox::{Portal, RequestLine, Scenario};
use tokio::signal::unix::{SignalKind, signal};

/// A practice portal: answers like the real-transaction services of data.go.kr, plays faults, and logs every request.
#[derive(Parser)]
#[command(name = "gapless-sandbox", version)]
struct Args {
    /// Port on this machine alone; 0 takes any free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A scenario that is compiled in (plain, three-pages, demo, limits), or a TOML file
    #[arg(long, value_name = "FILE|NAME", default_value = "plain")]
    scenario: String,
    /// Write every request to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  {error}");
                cause = error.source();
            }
            ExitCode::from(2)
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let scenario = read_scenario(&args.scenario)?;
    let log = args.log.map(File::create).transpose().map_err(|error| format!("cannot write the log: {error}"))?;
    let log = log.map(|file| Mutex::new(LineWriter::new(file)));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let mut terminated = signal(SignalKind::terminate())?;
    let portal = Portal::start_telling(scenario, address, move |line| {
        if let Some(log) = &log {
            write_line(&mut *log.lock().expect("writing a line does not panic"), line);
        }
    })
    .await?;
    println!("listening on {}", portal.base_url());
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
    }
    Ok(())
}

fn read_scenario(text: &str) -> Result<Scenario, Box<dyn Error>> {
    if Scenario::NAMES.contains(&text) {
        return Ok(Scenario::named(text)?);
    }
    let file = std::fs::read_to_string(text)
        .map_err(|error| format!("`{text}` is neither a scenario ({}) nor a file: {error}", Scenario::NAMES.join(", ")))?;
    Ok(Scenario::from_toml(&file)?)
}

fn write_line(log: &mut impl Write, line: &RequestLine) {
    let json = serde_json::to_string(line).expect("a line of the log is plain data");
    if let Err(error) = writeln!(log, "{json}") {
        eprintln!("error: a line of the log is lost: {error}");
    }
}
