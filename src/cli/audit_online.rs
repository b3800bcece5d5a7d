use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::caller::{Answer, Caller, Places, ProviderLimits};
use crate::collect::ration::{Allowance, DailyCalls};
use crate::collect::sharing::Asked;
use crate::definition::dataset::Dataset;
use crate::definition::provider::Provider;
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::secret::ServiceKey;
use crate::report::exit::Exit;
use crate::report::log::Log;
use crate::report::number::{counted, grouped};
use crate::report::output::printable;
use crate::store::{OpenMode, Store};

use super::args::AuditArgs;
use super::ask::{caller_in, first_page};
use super::company::Company;
use super::error::CliError;
use super::key_lock::KeyLock;
use super::setup::Setup;
use super::terminal::Terminal;

/// What the source says of one partition now.
struct Answered {
    partition: Partition,
    stored: u64,
    /// Errors: why the source did not say.
    total: Result<Option<u64>, String>,
}

/// A dataset whose whole partitions are asked for.
struct Subject<'a> {
    dataset: &'a Arc<Dataset>,
    provider: &'a Provider,
    key: Option<ServiceKey>,
    key_id: String,
    /// With the rows that are stored.
    whole: Vec<(Partition, u64)>,
}

/// Asks each source for its totals and lists the partitions that have grown or shrunk since they were read.
pub async fn run(args: &AuditArgs, setup: &Setup, terminal: &Terminal) -> Result<Exit, CliError> {
    let store = Arc::new(setup.open_store(&setup.store_url()?, OpenMode::OpenExisting).await?);
    let lock = store.try_lock(&format!("process {}, auditing online", std::process::id()))?;
    let subjects = subjects(args, setup, &store).await?;
    let providers: BTreeMap<&Name, &Subject<'_>> = subjects.iter().map(|subject| (&subject.provider.id, subject)).collect();
    let key_locks = providers
        .values()
        .map(|Subject { provider, key, .. }| KeyLock::try_take(provider, key.as_ref(), setup))
        .collect::<Result<Vec<_>, _>>()?;
    let run = store.begin_run(&lock, "audit --online", env!("CARGO_PKG_VERSION"), Timestamp::now()).await?;
    let limits: Vec<ProviderLimits> = providers.values().map(|subject| ProviderLimits::of(subject.provider)).collect();
    let asked = subjects.iter().map(Subject::asked).collect();
    let company = Company::join(&store, run, setup.settings.shared_limits, &limits, asked, Arc::new(Log)).await?;
    let calls = Arc::new(DailyCalls::new(store.clone(), Timestamp::now, subjects.iter().map(Subject::allowance).collect()));
    let (mut text, mut exit) = (String::new(), Exit::Whole);
    match caller_in(setup, limits, company.surroundings(calls.clone())) {
        Ok(caller) => {
            company.begin(&caller).await?;
            for subject in &subjects {
                let what = counted(subject.whole.len() as u64, "total");
                terminal.note(&format!("{}: asking for {what}", subject.dataset.id));
                let answers = tokio::select! {
                    answers = subject.ask(setup, &caller) => answers,
                    error = company.parting(&caller) => return Err(error.into()),
                };
                let (told, worst) = told(subject.dataset, &answers);
                text.push_str(&told);
                exit = exit.max(worst);
            }
        }
        Err(error) => {
            store.end_run(run, error.exit.code(), Timestamp::now()).await?;
            return Err(error);
        }
    }
    calls.settle().await?;
    store.end_run(run, exit.code(), Timestamp::now()).await?;
    drop(calls);
    drop(company);
    Store::close_shared(store).await;
    drop((lock, key_locks));
    text.push_str("next: gapless collect DATASET --partition P --only all, for what has changed\n");
    terminal.print(&text)?;
    Ok(exit)
}

/// Those that have whole partitions.
async fn subjects<'a>(args: &'a AuditArgs, setup: &'a Setup, store: &Store) -> Result<Vec<Subject<'a>>, CliError> {
    let salt = store.salt().await?;
    let mut subjects = Vec::new();
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
        let key_id = ServiceKey::id_of(key.as_ref(), &salt);
        subjects.push(Subject { dataset, provider, key, key_id, whole });
    }
    Ok(subjects)
}

impl Subject<'_> {
    fn asked(&self) -> Asked {
        let (dataset, provider) = (self.dataset.id.clone(), self.provider.id.clone());
        Asked { dataset, provider, key_id: self.key_id.clone() }
    }

    fn allowance(&self) -> Allowance {
        let (daily_calls, zone) = (self.provider.daily_calls, ProviderLimits::of(self.provider).zone);
        Allowance { dataset: self.dataset.id.clone(), key_id: self.key_id.clone(), daily_calls, zone }
    }

    /// The answers in the order of the partitions.
    async fn ask(&self, setup: &Setup, caller: &Caller) -> Vec<Answered> {
        let Self { dataset, provider, key, .. } = self;
        let places = Places::new(provider.concurrency as usize * 2);
        let mut asked = JoinSet::new();
        for (partition, stored) in self.whole.iter().cloned() {
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
        answers.sort_by(|a, b| a.partition.cmp(&b.partition));
        answers
    }
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
