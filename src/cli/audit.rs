use std::path::Path;

use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::report::output::printable;
use crate::store::OpenMode;

use super::args::AuditArgs;
use super::audit_online;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// Compares ledger, rows and kept bodies with each other; changes nothing.
pub async fn run(args: &AuditArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    terminal.start_log(setup.settings.log_format);
    let url = setup.store_url()?;
    let store = setup.open_store(&url, OpenMode::ReadOnly).await?;
    store.check().await?;
    let findings = store.audit().await?;
    let mut text = String::new();
    for finding in &findings {
        let partition = finding.partition.as_deref().unwrap_or("a partition the ledger no longer knows");
        text.push_str(&format!("{} {}: {}\n", finding.dataset, printable(partition), finding.fault));
    }
    if findings.is_empty() {
        text.push_str(&format!("{url}: ledger, rows and kept answers fit together\n"));
        if args.online {
            terminal.print(&text)?;
            store.close().await;
            return audit_online::run(args, &setup, terminal).await;
        }
        text.push_str("next: gapless status\n");
        return terminal.print(&text);
    }
    text.push_str(&format!(
        "{} found; nothing was changed\nnext: read the partitions again with `gapless collect DATASET --partition P --only all`\n",
        counted(findings.len() as u64, "fault")
    ));
    terminal.print(&text)?;
    Ok(Exit::Store)
}
