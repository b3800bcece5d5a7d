//! What a probe found, kept for later runs.

use jiff::Timestamp;

use crate::definition::provider::Provider;
use crate::probe::throughput::report::Throughput;
use crate::report::number::counted;
use crate::settings::layer::read_file;
use crate::settings::saved::{Saved, saved_beside, with_saved};

use super::error::CliError;
use super::setup::Setup;
use super::throughput::write;

/// Writes the answer below the user's settings; returns what to tell of it, or `None` where there is no answer.
pub fn save(setup: &Setup, provider: &Provider, report: &Throughput) -> Result<Option<String>, CliError> {
    let Some(answer) = report.result else { return Ok(None) };
    let file = saved_beside(setup.settings.file.as_deref());
    let shown = file.display().to_string();
    let before = if file.exists() { Some(read_file(&file)?) } else { None };
    let saved = Saved {
        provider: provider.id.clone(),
        rps: answer.rps,
        concurrency: answer.concurrency,
        probed_at: Timestamp::now(),
        base_url: provider.base_url.clone(),
        evidence: format!(
            "{} of {} in {:.0} s; {}",
            counted(report.tested.calls as u64, "call"),
            report.subject.dataset,
            report.tested.seconds,
            refusals(report),
        ),
    };
    write(&file, &with_saved(before.as_deref(), &shown, &saved)?)?;
    let mut told = format!(" saved   {shown}\n");
    for key in ["rps", "concurrency"] {
        if let Some(origin) = setup.settings.own_origin(&format!("providers.{}.{key}", provider.id)) {
            told.push_str(&format!(" but     your own `{key}` goes before it: {origin}\n"));
        }
    }
    Ok(Some(told))
}

fn refusals(report: &Throughput) -> String {
    let refused = report.steps.iter().filter(|step| step.refused > 0);
    match refused.map(|step| format!("{:.1}/s", step.offered)).collect::<Vec<_>>() {
        rates if rates.is_empty() => "nothing refused".to_owned(),
        rates => format!("refused at {}", rates.join(" and ")),
    }
}
