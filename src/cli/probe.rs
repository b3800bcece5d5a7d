use std::path::Path;

use serde_json::json;

use crate::caller::{CallerSettings, Pace, ProviderLimits};
use crate::definition::provider::Provider;
use crate::probe::limits::{Proof, ProofVerdict, prove};
use crate::report::exit::Exit;

use super::args::ProbeCommand;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::{Format, Terminal};
use super::throughput;

pub async fn run(command: &ProbeCommand, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let format = match command {
        ProbeCommand::Limits { format } => format,
        ProbeCommand::Throughput(args) => return throughput::run(args, config, terminal).await,
    };
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    terminal.start_log(setup.settings.log_format);
    let mut failed = false;
    let mut told = Vec::new();
    for provider in setup.providers() {
        terminal.note(&format!("{}: trying the limits in force on a practice portal, about five seconds", provider.id));
        let settings = settings_of(&setup, provider);
        let proofs = prove(&settings, &settings).await.map_err(|error| CliError {
            exit: Exit::LocalResource,
            what: format!("no limit could be tried: {error}"),
            hint: None,
        })?;
        failed |= proofs.iter().any(|proof| proof.verdict == ProofVerdict::Fails);
        told.push((provider, proofs));
    }
    let text = match format {
        Format::Json => {
            let told: Vec<_> = told.iter().map(|(provider, proofs)| json!({"provider": provider.id, "proofs": proofs})).collect();
            format!("{}\n", json!({"probed": told}))
        }
        Format::Text => told.iter().map(|(provider, proofs)| table(provider, proofs)).collect(),
    };
    terminal.print(&text)?;
    Ok(if failed { Exit::OwnFault } else { Exit::Whole })
}

fn settings_of(setup: &Setup, provider: &Provider) -> CallerSettings {
    CallerSettings {
        // A pace that is looked for is bounded by the same limits, and these are to be proven.
        providers: vec![ProviderLimits { pace: Pace::Careful, ..ProviderLimits::of(provider) }],
        http: setup.settings.http.clone(),
        retry: setup.settings.retry.clone(),
        breakers: setup.settings.breakers.clone(),
        max_calls: None,
        max_runtime: None,
    }
}

/// Three lines a limit: whether it acts, what must be seen where it does, and what was seen.
fn table(provider: &Provider, proofs: &[Proof]) -> String {
    let mut text = format!("{}\n", provider.id);
    for Proof { limit, expected, measured, verdict } in proofs {
        text.push_str(&format!("  {verdict:<8} {limit}\n           expected  {expected}\n           measured  {measured}\n"));
    }
    let failing = proofs.iter().filter(|proof| proof.verdict == ProofVerdict::Fails).count();
    text.push_str(&match failing {
        0 => "every limit that is set acts\nnext: gapless collect --dry-run\n".to_owned(),
        _ => format!(
            "{failing} of {} limits do not act as set\nnext: run it again on a quiet machine; if it says the same, report it with this output\n",
            proofs.len()
        ),
    });
    text
}
