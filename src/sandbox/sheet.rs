use std::ops::Range;

use super::deal::Deal;
use super::service::Service;
use super::spread::{falls_within, mix};
use crate::model::month::Month;

/// A row as the portal would serve it: field names and texts, in the portal's order.
///
/// Texts are those of the XML, before escaping: leading blanks and commas kept, nothing as one blank.
pub type TrueRow = Vec<(&'static str, String)>;

/// All rows of one service, region and month, however many are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sheet {
    region: u32,
    month: Month,
    seed: u64,
    twins: f64,
}

impl Sheet {
    /// `twins` is the share of rows that repeat the row before them in every field.
    pub fn new(seed: u64, service: Service, region: &str, month: Month, twins: f64) -> Self {
        let seed = partition_hash(seed, service, region, Some(month));
        Self { region: region.parse().unwrap_or(0), month, seed, twins }
    }

    pub fn deals(&self, range: Range<u64>) -> Vec<Deal> {
        range.map(|index| Deal { region: self.region, month: self.month, seed: self.row_seed(index) }).collect()
    }

    fn row_seed(&self, index: u64) -> u64 {
        let is_twin = self.twins > 0.0 && index > 0 && falls_within(mix(self.seed, !index), self.twins);
        mix(self.seed, if is_twin { index - 1 } else { index })
    }
}

/// One number for a partition: the same in every run of every process.
pub(super) fn partition_hash(seed: u64, service: Service, region: &str, month: Option<Month>) -> u64 {
    let month = month.map_or(0, |month| u64::from(month.year() * 12 + month.number()));
    let region = region.bytes().fold(0, |hash, byte| mix(hash, byte.into()));
    mix(mix(mix(seed, service as u64), region), month)
}

pub(super) fn true_row(service: Service, deal: &Deal) -> TrueRow {
    let mut text = Vec::new();
    let fields = service.fields().iter();
    fields
        .map(|field| {
            text.clear();
            deal.write(field.kind, &mut text);
            (field.name, String::from_utf8(text.clone()).expect("values are made of words and digits"))
        })
        .collect()
}
