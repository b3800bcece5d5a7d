use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::caller::{Answer, Places, ProviderLimits};
use crate::collect::ration::{Allowance, DailyCalls};
use crate::definition::dataset::Dataset;
use crate::model::partition::Partition;
use crate::model::secret::ServiceKey;
use crate::report::exit::Exit;
use crate::report::number::{counted, grouped};
use crate::report::output::printable;
use crate::store::OpenMode;

use super::args::AuditArgs;
use super::ask::{caller, first_page};
use super::error::CliError;
use super::setup::Setup;
use super::terminal::Terminal;

/// What the source says of one partition now.
struct Answered {
    partition: Partition,
    stored: u64,
    /// Errors: why the source did not say.
    total: Result<Option<u64>, String>,
}

/// Asks each source for its totals and lists the partitions that have grown or shrunk since they were read.
pub async fn run(args: &AuditArgs, setup: &Setup, terminal: &Terminal) -> Result<Exit, CliError> {
    let store = Arc::new(setup.open_store(&setup.store_url()?, OpenMode::OpenExisting).await?);
    let lock = store.try_lock(&format!("process {}, auditing online", std::process::id()))?;
    let salt = store.salt().await?;
    let (mut text, mut exit) = (String::new(), Exit::Whole);
    for dataset in datasets(args, setup)? {
        let states = store.states(&dataset.id).await?;
        let whole: Vec<(Partition, u64)> = states
            .iter()
            .filter_map(|state| Some((Partition::parse(&state.key, &dataset.axis_names()).ok()?, state.published.as_ref()?.rows)))
            .collect();
        if whole.is_empty() {
            continue;
        }
        let provider = setup.provider_of(dataset);
        let key = setup.key(provider)?;
        let limits = ProviderLimits::of(provider);
        let key_id = ServiceKey::id_of(key.as_ref(), &salt);
        let (daily_calls, zone) = (provider.daily_calls, limits.zone.clone());
        let allowance = Allowance { dataset: dataset.id.clone(), key_id, daily_calls, zone };
        let calls = Arc::new(DailyCalls::new(store.clone(), Timestamp::now, vec![allowance]));
        terminal.note(&format!("{}: asking for {}", dataset.id, counted(whole.len() as u64, "total")));
        let caller = caller(setup, vec![limits], calls.clone())?;
        let places = Places::new(provider.concurrency as usize * 2);
        let mut asked = JoinSet::new();
        for (partition, stored) in whole {
            let call = first_page(&setup.catalog, dataset, provider, key.clone(), &partition, 1);
            let (caller, place) = (caller.clone(), places.take().await);
            asked.spawn(async move {
                let total = match caller.fetch(call).await {
                    Ok(fetched) => Ok(match fetched.answer {
                        Answer::Page(page) => page.total,
                        Answer::Empty(page) => page.total.or(Some(0)),
                    }),
                    Err(failure) => Err(failure.end.to_string()),
                };
                drop(place);
                Answered { partition, stored, total }
            });
        }
        let mut answers = asked.join_all().await;
        calls.settle().await?;
        answers.sort_by(|a, b| a.partition.cmp(&b.partition));
        let (told, worst) = told(dataset, &answers);
        text.push_str(&told);
        exit = exit.max(worst);
    }
    drop(lock);
    text.push_str("next: gapless collect DATASET --partition P --only all, for what has changed\n");
    terminal.print(&text)?;
    Ok(exit)
}

fn datasets<'a>(args: &'a AuditArgs, setup: &'a Setup) -> Result<Vec<&'a Arc<Dataset>>, CliError> {
    match args.datasets.as_slice() {
        [] => Ok(setup.catalog.datasets().collect()),
        named => named.iter().map(|name| setup.dataset(name)).collect(),
    }
}

fn told(dataset: &Dataset, answers: &[Answered]) -> (String, Exit) {
    let (mut text, mut changed, mut silent) = (String::new(), 0, 0);
    for Answered { partition, stored, total } in answers {
        let line = match total {
            Ok(Some(total)) if total == stored => continue,
            Ok(None) => continue,
            Ok(Some(total)) => {
                changed += 1;
                let how = if total > stored { "grown" } else { "shrunk" };
                format!("has {how}: {} rows stored, {} there now", grouped(*stored), grouped(*total))
            }
            Err(why) => {
                silent += 1;
                format!("was not told: {}", printable(why))
            }
        };
        text.push_str(&format!("{} {partition} {line}\n", dataset.id));
    }
    text.push_str(&format!(
        "{}: {} asked, {} changed, {} not told\n",
        dataset.id,
        counted(answers.len() as u64, "partition"),
        grouped(changed),
        grouped(silent)
    ));
    let exit = if changed > 0 || silent > 0 { Exit::Incomplete } else { Exit::Whole };
    (text, exit)
}
