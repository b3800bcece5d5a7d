use std::sync::Arc;

use super::record::{Records, RowHash};

/// One page of a job, read.
#[derive(Clone, Debug)]
pub struct Page {
    pub records: Records,
    /// One hash a record, in order: equal rows have equal hashes, whatever the order of their fields.
    pub row_hashes: Arc<[RowHash]>,
    /// Rows the source says the whole walk has; `None` when it did not say.
    pub total: Option<u64>,
    /// The page number the source says this is.
    pub page_echo: Option<u64>,
    /// The success code, as sent.
    pub code: Option<String>,
    /// Says that a next page exists or does not, where the dialect has such a sign.
    pub has_more: Option<bool>,
}

impl Page {
    /// A page that is stored already: what a walk must know of it, without its records.
    pub fn stored(row_hashes: Vec<RowHash>, total: Option<u64>) -> Self {
        let (page_echo, code, has_more) = (None, None, None);
        Self { records: Records::default(), row_hashes: row_hashes.into(), total, page_echo, code, has_more }
    }

    pub fn rows(&self) -> u64 {
        self.row_hashes.len() as u64
    }

    /// One hash over the rows in order: two pages with the same digest hold the same rows.
    pub fn digest(&self) -> PageDigest {
        let hashes: Vec<u8> = self.row_hashes.iter().flat_map(|hash| hash.0).collect();
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(&hashes).as_bytes()[..16]);
        PageDigest(digest)
    }
}

/// Hash over the rows of a page, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageDigest(pub [u8; 16]);
