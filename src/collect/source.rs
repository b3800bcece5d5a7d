use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::caller::{KeyParam, PageRequest};
use crate::definition::dataset::{Dataset, Paging};
use crate::definition::dialect::Dialect;
use crate::definition::provider::Provider;
use crate::model::job::JobId;
use crate::model::partition::Partition;
use crate::model::secret::ServiceKey;
use crate::reconcile::step::{Ask, PageRules};
use crate::store::dataset::Declared;
use crate::store::job::Planned;
use crate::store::state::PartitionState;

/// One dataset ready to be asked: its definitions, its key, and its tables in the store.
#[derive(Debug)]
pub struct Source {
    pub dataset: Arc<Dataset>,
    /// With the user's settings in front of the definition's.
    pub provider: Arc<Provider>,
    pub dialect: Arc<Dialect>,
    pub key: Option<ServiceKey>,
    /// Names the key in the ledger: a salted digest.
    pub key_id: String,
    pub declared: Declared,
    /// The last job of each partition that had ended when the run was planned; `None` where nothing was planned.
    planned: Option<HashMap<String, JobId>>,
    /// Whether any partition of it ever had a row. Until one has, proven zeros are not believed.
    pub(super) has_had_rows: AtomicBool,
}

/// What the store tells of a dataset before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    HadRows,
    NeverHadRows,
}

impl Source {
    pub fn new(
        dataset: Arc<Dataset>,
        provider: Arc<Provider>,
        dialect: Arc<Dialect>,
        key: Option<ServiceKey>,
        key_id: String,
        declared: Declared,
        past: Past,
    ) -> Self {
        let has_had_rows = AtomicBool::new(past == Past::HadRows);
        Self { dataset, provider, dialect, key, key_id, declared, planned: None, has_had_rows }
    }

    /// The same, in a run that was planned on these states: what has ended since was done by another.
    pub fn planned_on(self, states: &[PartitionState]) -> Self {
        let ended = states.iter().filter_map(|state| Some((state.key.clone(), state.last.as_ref()?.job)));
        Self { planned: Some(ended.collect()), ..self }
    }

    pub(super) fn planned(&self, partition: &Partition) -> Planned {
        self.planned.as_ref().map_or(Planned::Anyhow, |ended| Planned::After(ended.get(&partition.key()).copied()))
    }

    /// The provider's day.
    pub fn day(&self, now: Timestamp) -> Date {
        let zone = TimeZone::get(&self.provider.zone).expect("checked with the definitions and settings");
        now.to_zoned_datetime(zone).date()
    }

    /// The request for the page a walk asks for.
    pub fn request(&self, partition: &Partition, ask: &Ask) -> PageRequest {
        let param = self.provider.key_param.as_ref().zip(self.key.as_ref());
        PageRequest {
            base_url: self.provider.base_url.clone(),
            path: self.dataset.path.clone(),
            query: self.dataset.query(partition, ask.page, ask.size),
            key: param.map(|(name, key)| KeyParam { name: name.clone(), key: key.clone() }),
        }
    }

    /// What the definition says of the pages of a walk.
    pub fn page_rules(&self, max_pages: u32) -> PageRules {
        let Paging::Page { page_size, max_page_size, first, short_page_ends, .. } = self.dataset.paging;
        let most = max_page_size.unwrap_or(page_size).max(page_size);
        PageRules { size: page_size, most, first, short_page_ends, max_pages }
    }
}
