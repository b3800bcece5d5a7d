use std::path::Path;

use serde_json::json;

use crate::caller::{CallerSettings, ProviderLimits};
use crate::definition::provider::Provider;
use crate::probe::limits::{Proof, ProofVerdict, prove};
use crate::report::exit::Exit;

use super::args::ProbeCommand;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::{Format, Terminal};

pub async fn run(command: &ProbeCommand, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let ProbeCommand::Limits { format } = command;
    let setup = Setup::load(config, Setup::environment(), |_| Ok(Vec::new()))?;
    terminal.start_log(setup.settings.log_format);
    let mut failed = false;
    let mut told = Vec::new();
    for provider in setup.providers() {
        terminal.note(&format!("{}: proving the limits in force against a practice portal, about ten seconds", provider.id));
        let settings = settings_of(&setup, provider);
        let proofs = prove(&settings, &settings).await.map_err(|error| CliError {
            exit: Exit::LocalResource,
            what: format!("no proof could be made: {error}"),
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
        providers: vec![ProviderLimits::of(provider)],
        http: setup.settings.http.clone(),
        retry: setup.settings.retry.clone(),
        max_calls: None,
    }
}

fn table(provider: &Provider, proofs: &[Proof]) -> String {
    let mut text = format!("{}\n", provider.id);
    for Proof { limit, expected, measured, verdict } in proofs {
        text.push_str(&format!("  {limit}: {verdict}\n    expected  {expected}\n    measured  {measured}\n"));
    }
    let failing = proofs.iter().filter(|proof| proof.verdict == ProofVerdict::Fails).count();
    match failing {
        0 => text.push_str("every limit that is set acts\n"),
        _ => text.push_str(&format!("{failing} of {} limits do not act as they should: please report this\n", proofs.len())),
    }
    text
}
