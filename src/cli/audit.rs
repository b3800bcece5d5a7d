use std::path::Path;

use crate::collect::recheck::{Rechecked, recheck};
use crate::model::partition::Partition;
use crate::report::exit::Exit;
use crate::report::number::counted;
use crate::report::output::printable;
use crate::store::audit::Finding;
use crate::store::{OpenMode, Store};

use super::args::AuditArgs;
use super::audit_online;
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// Compares ledger, rows and kept answers with each other, value by value; changes nothing.
pub async fn run(args: &AuditArgs, config: Option<&Path>, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let setup = Setup::load(config, Setup::environment(), |_| Ok(args.store.flags()))?;
    terminal.start_log(setup.settings.log_format);
    let url = setup.store_url()?;
    let store = setup.open_store(&url, OpenMode::ReadOnly).await?;
    store.check().await?;
    let mut findings = store.audit().await?;
    let uncompared = compare_values(&setup, &store, &mut findings).await?;
    let mut text = String::new();
    for finding in &findings {
        let partition = finding.partition.as_deref().unwrap_or("a partition the ledger no longer knows");
        text.push_str(&format!("{} {}: {}\n", finding.dataset, printable(partition), finding.fault));
    }
    text.push_str(&uncompared);
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

/// Adds to the findings where values are not those of the kept answers; returns what could not be compared, in lines.
async fn compare_values(setup: &Setup, store: &Store, findings: &mut Vec<Finding>) -> Result<String, CliError> {
    let mut uncompared = String::new();
    for id in store.datasets().await? {
        let Some(dataset) = setup.catalog.datasets().find(|dataset| dataset.id.as_str() == id) else {
            uncompared.push_str(&format!("{id}: values not compared with kept answers, no dataset of that name is defined\n"));
            continue;
        };
        let dialect = setup.catalog.dialect(&setup.provider_of(dataset).dialect).expect("checked with the definitions");
        let (axes, hash) = (dataset.axis_names(), dataset.hash());
        let (mut not_kept, mut earlier) = (0, 0);
        for state in store.states(&dataset.id).await? {
            let Some(snapshot) = &state.published else { continue };
            match Partition::parse(&state.key, &axes) {
                Ok(partition) if snapshot.definition_hash == hash => match recheck(dataset, dialect, &partition, store).await? {
                    Rechecked::Compared(found) => findings.extend(found),
                    Rechecked::NotKept => not_kept += 1,
                },
                Ok(_) | Err(_) => earlier += 1,
            }
        }
        let whose = |count| format!("{id}: values of {} not compared", counted(count, "partition"));
        if not_kept > 0 {
            uncompared.push_str(&format!("{}, whose answers are not kept\n", whose(not_kept)));
        }
        if earlier > 0 {
            let by = "collected by an earlier definition";
            uncompared.push_str(&format!("{}, {by}; `gapless replay {id}` reads them again\n", whose(earlier)));
        }
    }
    Ok(uncompared)
}
