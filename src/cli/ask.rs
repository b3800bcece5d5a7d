//! Single calls beside a run: what `doctor` and `audit --online` ask.

use std::sync::Arc;

use jiff::Timestamp;

use crate::caller::{Call, Caller, CallerSettings, Clock, KeyParam, PageRequest, ProviderLimits, Ration, Surroundings};
use crate::collect::ration::{Allowance, DailyCalls};
use crate::decode::{self, RawAnswer, Reading};
use crate::definition::catalog::Catalog;
use crate::definition::dataset::Dataset;
use crate::definition::provider::Provider;
use crate::model::attempt::CallLabel;
use crate::model::job::{JobId, PageNumber, ReadNumber, RunId};
use crate::model::partition::Partition;
use crate::model::secret::ServiceKey;
use crate::report::log::Log;
use crate::settings::breaker::Breakers;
use crate::store::{OpenMode, Store};

use super::error::CliError;
use super::setup::Setup;

/// The call for page 1 of a partition, with so many rows.
pub fn first_page(
    catalog: &Catalog,
    dataset: &Arc<Dataset>,
    provider: &Provider,
    key: Option<ServiceKey>,
    partition: &Partition,
    size: u32,
) -> Call {
    let param = provider.key_param.clone().zip(key).map(|(name, key)| KeyParam { name, key });
    let dialect = catalog.dialect(&provider.dialect).expect("checked with the definitions").clone();
    let asked = Arc::clone(dataset);
    Call {
        provider: provider.id.clone(),
        label: CallLabel {
            dataset: dataset.id.clone(),
            partition: partition.clone(),
            job: JobId(0),
            read: ReadNumber::FIRST,
            page: PageNumber::FIRST,
        },
        request: PageRequest {
            base_url: provider.base_url.clone(),
            path: dataset.path.clone(),
            query: dataset.query(partition, PageNumber::FIRST, size),
            key: param,
        },
        judge: Arc::new(move |answer: RawAnswer| {
            decode::judge(&answer, &dialect, &Reading { records: &asked.records, volatile: &asked.volatile })
        }),
        place: None,
        abandoned: None,
        failed: None,
    }
}

/// A caller for single calls of this process alone.
pub fn caller(setup: &Setup, providers: Vec<ProviderLimits>, ration: Arc<dyn Ration>) -> Result<Caller, CliError> {
    let (clock, listener) = (Clock::precise(), Arc::new(Log));
    caller_in(setup, providers, Surroundings { clock, random: Arc::new(fastrand::f64), listener, ration, slots: None })
}

/// A caller for single calls: one retry at most.
pub fn caller_in(setup: &Setup, providers: Vec<ProviderLimits>, surroundings: Surroundings) -> Result<Caller, CliError> {
    let mut retry = setup.settings.retry.clone();
    retry.max_retries = retry.max_retries.min(1);
    let settings = CallerSettings {
        providers,
        http: setup.settings.http.clone(),
        retry,
        // Few calls, which are to say what is wrong.
        breakers: Breakers::none(),
        max_calls: None,
        max_runtime: None,
    };
    Caller::new(settings, surroundings).map_err(|error| CliError::usage(error.to_string()))
}

/// Counts the calls in the store, where there is one: they are calls of the day like all others.
pub async fn daily_calls(
    setup: &Setup,
    dataset: &Dataset,
    provider: &Provider,
    key: Option<&ServiceKey>,
) -> Result<Option<Arc<DailyCalls>>, CliError> {
    let url = setup.store_url()?;
    if !Store::exists(&url).await? {
        return Ok(None);
    }
    let store = setup.open_store(&url, OpenMode::OpenExisting).await?;
    let salt = Store::salt(&store).await?;
    let allowance = Allowance {
        dataset: dataset.id.clone(),
        key_id: ServiceKey::id_of(key, &salt),
        daily_calls: provider.daily_calls,
        zone: ProviderLimits::of(provider).zone,
    };
    Ok(Some(Arc::new(DailyCalls::new(Arc::new(store), Timestamp::now, vec![allowance]))))
}

/// A run on whatever host that asks the provider with the same key at this moment, where the store knows of other hosts.
pub async fn run_at_work(setup: &Setup, provider: &Provider, key: Option<&ServiceKey>) -> Result<Option<RunId>, CliError> {
    let url = setup.store_url()?;
    if !Store::exists(&url).await? {
        return Ok(None);
    }
    let store = setup.open_store(&url, OpenMode::ReadOnly).await?;
    let first = match store.limits() {
        Some(limits) => limits.runs_at_work(&provider.id, &ServiceKey::id_of(key, &store.salt().await?)).await?.first().copied(),
        None => None,
    };
    store.close().await;
    Ok(first)
}
