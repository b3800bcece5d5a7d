//! The rows of a store beside the rows the portal would serve if nothing went wrong.

use std::collections::BTreeMap;

use gapless::definition::catalog::Catalog;
use gapless::definition::column::{Column, ColumnType};
use gapless::sandbox::Service;

use crate::world::{World, month};

impl World {
    /// The published rows of a partition are the portal's, each as often as there.
    #[track_caller]
    pub fn assert_rows_are_true(&self, region: &str, text: &str) {
        let (published, truth) = (self.published_rows(region, text), self.true_rows(region, text));
        assert_eq!(published.len(), truth.len(), "rows of {region} {text}");
        assert!(published == truth, "{region} {text}: as many rows as there should be, but not the same");
    }

    /// Every column of the published rows of a partition, as texts in sorted order.
    pub fn published_rows(&self, region: &str, month: &str) -> Vec<Vec<String>> {
        self.published_rows_by_month(region).remove(month).unwrap_or_default()
    }

    /// As [`World::published_rows`], for every month with rows.
    pub fn published_rows_by_month(&self, region: &str) -> BTreeMap<String, Vec<Vec<String>>> {
        let ids = columns().iter().map(|column| column.id.to_string()).collect::<Vec<_>>().join(", ");
        let mut months: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for mut row in self.query(&format!("select month, {ids} from apt_trade where region = '{region}'")) {
            months.entry(row.remove(0)).or_default().push(row);
        }
        months.values_mut().for_each(|rows| rows.sort_unstable());
        months
    }

    /// The rows of a partition as the portal would serve them, as texts in sorted order.
    pub fn true_rows(&self, region: &str, text: &str) -> Vec<Vec<String>> {
        let columns = columns();
        let truth = self.portal().truth(Service::AptTrade, region, month(text));
        let row = |row: Vec<(&str, String)>| -> Vec<String> {
            assert_eq!(row.len(), columns.len(), "every field of the portal is a column");
            let field = |column: &Column| &row.iter().find(|(name, _)| *name == column.field).unwrap().1;
            columns.iter().map(|column| stored(column.kind, field(column))).collect()
        };
        let mut rows: Vec<Vec<String>> = truth.into_iter().map(row).collect();
        rows.sort_unstable();
        rows
    }
}

fn columns() -> Vec<Column> {
    Catalog::builtin().dataset("apt_trade").unwrap().columns.to_vec()
}

/// What a text of the portal is in the store, said here once more and in other words than the store's own.
fn stored(kind: ColumnType, text: &str) -> String {
    let text = text.trim();
    match kind {
        _ if text.is_empty() => "-".to_owned(),
        ColumnType::Text | ColumnType::Code => text.to_owned(),
        ColumnType::Integer => text.replace(',', "").parse::<i64>().unwrap().to_string(),
        ColumnType::Decimal => text.parse::<f64>().unwrap().to_string(),
        ColumnType::Date => format!("20{}", text.replace('.', "-")),
        ColumnType::Month | ColumnType::Time | ColumnType::Boolean | ColumnType::Json => panic!("no column of {kind:?}"),
    }
}
