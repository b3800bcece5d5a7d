use std::collections::VecDeque;

use super::Store;
use super::dataset::Declared;
use super::error::StoreError;
use super::ledger::values;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::page::Page;

/// The answers that a snapshot was read from, one page after another. Holds one body at a time.
#[derive(Debug)]
pub struct KeptPages<'s> {
    store: &'s Store,
    pub job: JobId,
    read: ReadNumber,
    left: VecDeque<PageNumber>,
}

/// One page of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPage {
    pub number: PageNumber,
    /// `None` when bodies were not kept, or the snapshot was superseded meanwhile.
    pub body: Option<KeptBody>,
}

impl<'s> KeptPages<'s> {
    pub(super) fn new(store: &'s Store, job: JobId, read: ReadNumber, pages: Vec<PageNumber>) -> Self {
        Self { store, job, read, left: pages.into() }
    }

    /// Pages that are still to come.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Rows of a page that are stored with other values than `page`, read from its kept answer, has.
    pub async fn differing_rows(&self, declared: &Declared, number: PageNumber, page: &Page) -> Result<u64, StoreError> {
        let place = (self.job, self.read, number);
        self.store.engine.read(|tx| values::differing(tx, declared, place, page)).await
    }

    /// The next page; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<KeptPage>, StoreError> {
        let Some(number) = self.left.pop_front() else { return Ok(None) };
        let body = self.store.body(self.job, self.read, number).await?;
        Ok(Some(KeptPage { number, body }))
    }
}
