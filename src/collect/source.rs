use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::caller::{KeyParam, PageRequest};
use crate::definition::dataset::{Dataset, Paging};
use crate::definition::dialect::Dialect;
use crate::definition::provider::Provider;
use crate::model::partition::Partition;
use crate::model::secret::ServiceKey;
use crate::reconcile::step::{Ask, PageRules};
use crate::store::dataset::Declared;

/// One dataset ready to be asked: its definitions, its key, and its tables in the store.
#[derive(Debug)]
pub struct Source {
    pub dataset: Arc<Dataset>,
    /// With the user's settings in front of the definition's.
    pub provider: Arc<Provider>,
    pub dialect: Arc<Dialect>,
    pub key: Option<ServiceKey>,
    pub declared: Declared,
    /// Calls refused as invalid since the last page.
    pub(super) invalid_in_a_row: AtomicU32,
}

impl Source {
    pub fn new(
        dataset: Arc<Dataset>,
        provider: Arc<Provider>,
        dialect: Arc<Dialect>,
        key: Option<ServiceKey>,
        declared: Declared,
    ) -> Self {
        Self { dataset, provider, dialect, key, declared, invalid_in_a_row: AtomicU32::new(0) }
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
