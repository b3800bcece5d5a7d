//! Rows compared with the answers that they were read from.

use crate::decode::{self, RawAnswer, Reading};
use crate::definition::dataset::Dataset;
use crate::definition::dialect::Dialect;
use crate::model::outcome::Judgement;
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::store::Store;
use crate::store::audit::{Fault, Finding};
use crate::store::dataset::Declared;
use crate::store::error::StoreError;

/// What comparing a partition with its kept answers came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rechecked {
    /// With what does not agree.
    Compared(Vec<Finding>),
    /// Some answer of it is not kept.
    NotKept,
}

/// Reads the kept answers of what a partition has, collected by this very definition, and compares each value. Holds one
/// page at a time and changes nothing.
///
/// An answer that is damaged is left out: [`Store::audit`] finds it.
pub async fn recheck(
    dataset: &Dataset,
    dialect: &Dialect,
    partition: &Partition,
    store: &Store,
) -> Result<Rechecked, StoreError> {
    let declared = Declared::new(dataset);
    let mut findings = Vec::new();
    let Some(mut pages) = store.kept_pages(&declared, partition).await? else { return Ok(Rechecked::NotKept) };
    while let Some(kept) = pages.next().await? {
        let Some(body) = kept.body else { return Ok(Rechecked::NotKept) };
        let Some(raw) = body.raw() else { continue };
        let (job, number) = (pages.job, kept.number);
        let fault = match page_of(raw, dataset, dialect) {
            None => Some(Fault::BodyOfNoRows { job, page: number }),
            Some(page) => match pages.differing_rows(&declared, number, &page).await? {
                0 => None,
                rows => Some(Fault::ValuesChanged { job, page: number, rows }),
            },
        };
        let of = |fault| Finding { dataset: dataset.id.to_string(), partition: Some(partition.key()), fault };
        findings.extend(fault.map(of));
    }
    Ok(Rechecked::Compared(findings))
}

/// The page a kept answer is; `None` when it is none by the definition of now.
pub(super) fn page_of(raw: Vec<u8>, dataset: &Dataset, dialect: &Dialect) -> Option<Page> {
    let answer = RawAnswer { status: 200, content_type: None, retry_after: None, body: raw.into() };
    let reading = Reading { records: &dataset.records, volatile: &dataset.volatile };
    match decode::judge(&answer, dialect, &reading) {
        Judgement::Page(page) => Some(page),
        Judgement::Empty(mut page) => {
            page.total.get_or_insert(0);
            Some(page)
        }
        Judgement::Trouble(_) => None,
    }
}
