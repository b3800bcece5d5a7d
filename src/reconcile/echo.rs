use crate::definition::dataset::{AxisDefinition, AxisKind, Dataset};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::record::{Record, Records};
use crate::model::tree::NameId;

/// Says which records belong to another partition than the one asked for; `None` when all belong to it.
///
/// A record without the fields that would tell is not judged.
pub fn foreign_rows(records: &Records, dataset: &Dataset, partition: &Partition) -> Option<String> {
    let echoes: Vec<Echo<'_>> = dataset.axes.iter().filter_map(|axis| Echo::of(axis, records, partition)).collect();
    let mut foreign = 0_u64;
    let mut example = None;
    let mut told = Vec::new();
    for record in records.iter() {
        let stray = echoes.iter().find(|echo| echo.is_told_by(record, &mut told) && !echo.is_due(&told));
        if let Some(echo) = stray {
            foreign += 1;
            example.get_or_insert_with(|| format!("{} {}", echo.axis, echo.written(&told)));
        }
    }
    let example = example?;
    Some(format!("foreign rows: {foreign} of {} belong to another partition, {example} for one", records.len()))
}

/// The axis value that records repeat.
struct Echo<'a> {
    axis: &'a Name,
    kind: AxisKind,
    /// The fields that repeat it, joined when there are several.
    fields: Vec<NameId>,
    due: &'a str,
}

impl<'a> Echo<'a> {
    /// `None` when no record can repeat it.
    fn of(axis: &'a AxisDefinition, records: &Records, partition: &'a Partition) -> Option<Self> {
        let fields: Option<Vec<NameId>> = axis.echo.iter().map(|field| records.name_id(field)).collect();
        let fields = fields.filter(|fields| !fields.is_empty())?;
        Some(Self { axis: &axis.id, kind: axis.kind, fields, due: partition.value(axis.id.as_str()).unwrap_or_default() })
    }

    /// Whether the record has all the fields; their texts are put in `told`.
    fn is_told_by<'r>(&self, record: Record<'r>, told: &mut Vec<&'r str>) -> bool {
        told.clear();
        let texts = self.fields.iter().filter_map(|id| record.fields().find(|field| field.name_id() == *id));
        told.extend(texts.map(|field| field.text().trim()).filter(|text| !text.is_empty()));
        told.len() == self.fields.len()
    }

    /// Whether the texts are the value asked for. Nothing is put together: this is asked for every row.
    fn is_due(&self, told: &[&str]) -> bool {
        match (self.kind, told) {
            (AxisKind::Month, [year, month]) => {
                let due = self.due.strip_prefix(year).and_then(|rest| rest.strip_prefix('-'));
                due.is_some_and(|due| due == *month || (month.len() == 1 && due.strip_prefix('0') == Some(month)))
            }
            (AxisKind::Month, [month]) if month.len() == 6 => {
                self.due.split_once('-').is_some_and(|(year, due)| month.strip_prefix(year) == Some(due))
            }
            (AxisKind::Month | AxisKind::Region | AxisKind::Values, texts) => {
                texts.iter().try_fold(self.due, |rest, text| rest.strip_prefix(text)) == Some("")
            }
        }
    }

    /// The texts as the partition would write them.
    fn written(&self, told: &[&str]) -> String {
        match (self.kind, told) {
            (AxisKind::Month, [year, month]) => format!("{year}-{month:0>2}"),
            (AxisKind::Month, [month]) if month.len() == 6 && month.is_ascii() => format!("{}-{}", &month[..4], &month[4..]),
            (AxisKind::Month | AxisKind::Region | AxisKind::Values, texts) => texts.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::tree::{NodeKind, Span, TreeBuilder};

    const DATASET: &str = r#"
        id = "apt_trade"
        provider = "practice"
        path = "trades"
        paging = { kind = "page", page_param = "pageNo", size_param = "numOfRows", page_size = 1000 }
        column = []
    "#;

    fn records(rows: &[&[(&str, &str)]]) -> Records {
        let mut tree = TreeBuilder::new();
        let list = tree.open(NameId::NONE, NodeKind::Array, Span::Owned(""));
        for row in rows {
            let record = tree.open(NameId::NONE, NodeKind::Object, Span::Owned(""));
            for (name, text) in *row {
                let name = tree.name(name);
                tree.leaf(name, NodeKind::Text, Span::Owned(text));
            }
            tree.close(record);
        }
        tree.close(list);
        let tree = Arc::new(tree.finish(String::new()));
        let items = tree.root().children().map(|record| record.index()).collect();
        Records::new(tree, items)
    }

    /// What one record of region 11110 and month 2024-03 is found to be of.
    fn found(axis: &str, record: &[(&str, &str)]) -> Option<String> {
        let dataset: Dataset = toml::from_str(&format!("{DATASET}\naxes = [{axis}]")).unwrap();
        let value = if axis.contains("month") { "2024-03" } else { "11110" };
        let partition = Partition::new([(dataset.axes[0].id.clone(), value.to_owned())]);
        foreign_rows(&records(&[record]), &dataset, &partition)
    }

    #[test]
    fn a_row_of_another_partition_is_foreign_however_its_value_is_spelled() {
        let check = |axis: &str, record: &[(&str, &str)], expected: Option<&str>| {
            let told = expected.map(|value| format!("foreign rows: 1 of 1 belong to another partition, {value} for one"));
            assert_eq!(found(axis, record), told, "{axis} {record:?}");
        };
        let region = r#"{ id = "region", kind = "region", echo = ["sgg"] }"#;
        check(region, &[("sgg", "11110")], None);
        check(region, &[("sgg", " 11110 ")], None);
        check(region, &[("sgg", "11140")], Some("region 11140"));
        check(region, &[("sgg", "1111")], Some("region 1111"));
        check(region, &[("sgg", "111100")], Some("region 111100"));
        let parts = r#"{ id = "region", kind = "region", echo = ["sido", "sgg"] }"#;
        check(parts, &[("sido", "11"), ("sgg", "110")], None);
        check(parts, &[("sgg", "110"), ("sido", "11")], None);
        check(parts, &[("sido", "11"), ("sgg", "140")], Some("region 11140"));
        let month = r#"{ id = "month", kind = "month", echo = ["year", "month"] }"#;
        check(month, &[("year", "2024"), ("month", "3")], None);
        check(month, &[("year", "2024"), ("month", "03")], None);
        check(month, &[("year", "2024"), ("month", "4")], Some("month 2024-04"));
        check(month, &[("year", "2023"), ("month", "3")], Some("month 2023-03"));
        check(month, &[("year", "2024"), ("month", "003")], Some("month 2024-003"));
        let compact = r#"{ id = "month", kind = "month", echo = ["ym"] }"#;
        check(compact, &[("ym", "202403")], None);
        check(compact, &[("ym", "2024-03")], None);
        check(compact, &[("ym", "202404")], Some("month 2024-04"));
        check(compact, &[("ym", "삼월")], Some("month 삼월"));
    }

    #[test]
    fn a_row_that_does_not_tell_its_partition_is_not_judged() {
        let check = |record: &[(&str, &str)]| {
            let axis = r#"{ id = "month", kind = "month", echo = ["year", "month"] }"#;
            assert_eq!(found(axis, record), None, "{record:?}");
        };
        check(&[("year", "1999")]);
        check(&[("year", "1999"), ("month", " ")]);
        check(&[("other", "1999")]);
    }
}
