//! What the tables of a dataset mean, where people with other programs look for it.

use super::session::comment;
use crate::definition::column::Column;
use crate::definition::dataset::Dataset;
use crate::model::name::Name;

/// Comments on the view, the table and their columns.
pub fn comments(dataset: &Dataset) -> String {
    let id = &dataset.id;
    let mut sql = comment(&format!("view \"{id}\""), &dataset.title);
    sql.push_str(&comment(&format!("table \"{id}_rows\""), &format!("{}: rows of every snapshot that is kept", dataset.title)));
    for column in &dataset.columns {
        let text = meaning(column);
        for relation in [id.to_string(), format!("{id}_rows")] {
            sql.push_str(&comment(&format!("column \"{relation}\".\"{}\"", column.id), &text));
        }
    }
    sql
}

pub fn grants(dataset: &Dataset, role: &Name) -> String {
    format!("grant select on \"{id}\", \"{id}_rows\" to \"{role}\"", id = dataset.id)
}

/// Its labels, its unit and the field it is read from.
fn meaning(column: &Column) -> String {
    let labels: Vec<&str> = [&column.label, &column.label_ko].into_iter().flatten().map(String::as_str).collect();
    let unit = column.unit.as_ref().map(|unit| format!("[{unit}]"));
    let field = format!("(field {})", column.field);
    [labels.join(" / "), unit.unwrap_or_default(), field]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
