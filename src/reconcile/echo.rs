use crate::definition::dataset::{AxisDefinition, AxisKind, Dataset};
use crate::model::partition::Partition;
use crate::model::record::{Record, Records};

/// Says which records belong to another partition than the one asked for; `None` when all belong to it.
///
/// A record without the fields that would tell is not judged.
pub fn foreign_rows(records: &Records, dataset: &Dataset, partition: &Partition) -> Option<String> {
    let axes: Vec<_> = dataset.axes.iter().filter(|axis| !axis.echo.is_empty()).collect();
    let mut foreign = 0_u64;
    let mut example = None;
    for record in records.iter() {
        let stray = axes.iter().find_map(|axis| {
            let due = partition.value(axis.id.as_str()).unwrap_or_default();
            echoed(axis, record).filter(|value| value != due).map(|value| (axis, value))
        });
        if let Some((axis, value)) = stray {
            foreign += 1;
            example.get_or_insert_with(|| format!("{} {value}", axis.id));
        }
    }
    let example = example?;
    Some(format!("foreign rows: {foreign} of {} belong to another partition, {example} for one", records.len()))
}

/// The axis value a record repeats, written as the partition writes it.
fn echoed(axis: &AxisDefinition, record: Record<'_>) -> Option<String> {
    let mut parts = Vec::with_capacity(axis.echo.len());
    for field in &axis.echo {
        let text = record.field(field)?.text().trim();
        if text.is_empty() {
            return None;
        }
        parts.push(text);
    }
    match axis.kind {
        AxisKind::Region | AxisKind::Values => Some(parts.concat()),
        AxisKind::Month => Some(match parts.as_slice() {
            [year, month] => format!("{year}-{month:0>2}"),
            [month] if month.len() == 6 => format!("{}-{}", &month[..4], &month[4..]),
            _ => parts.concat(),
        }),
    }
}
