//! Tables and views of datasets.

use jiff::Timestamp;

use super::spelling::instant;
use crate::definition::column::Column;
use crate::definition::dataset::{AxisKind, Dataset};
use crate::definition::reserved::dataset_objection;
use crate::model::name::Name;
use crate::store::dialect::Dialect;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::Tx;

const DATASET: &str = "select axes from dataset where id = ?1";
const COLUMNS: &str = "select id, type from declared_column where dataset = ?1 order by position";
const DECLARE_DATASET: &str = "insert into dataset (id, title, axes, region_axis, region_list, declared_at)
    values (?1, ?2, ?3, ?4, ?5, ?6)
    on conflict (id) do update set title = excluded.title, region_list = excluded.region_list
    where dataset.title <> excluded.title or dataset.region_list is distinct from excluded.region_list";
const DECLARE_COLUMN: &str = "insert into declared_column (dataset, position, id, field, type, unit, label, label_ko)
    values (?1, (select coalesce(max(position), 0) + 1 from declared_column where dataset = ?1), ?2, ?3, ?4, ?5, ?6, ?7)
    on conflict (dataset, id) do update
    set field = excluded.field, unit = excluded.unit, label = excluded.label, label_ko = excluded.label_ko
    where declared_column.field <> excluded.field or declared_column.unit is distinct from excluded.unit
    or declared_column.label is distinct from excluded.label or declared_column.label_ko is distinct from excluded.label_ko";

/// Makes the tables and the view of a dataset, or adds what its definition has grown by.
pub fn declare(tx: &Tx<'_>, dataset: &Dataset, now: Timestamp) -> Result<(), StoreError> {
    let id = dataset.id.as_str();
    if dataset_objection(id).is_some() {
        return Err(StoreError::ReservedName { dataset: dataset.id.clone() });
    }
    let axes = dataset.axis_names().iter().map(|axis| axis.as_str().to_owned()).collect::<Vec<_>>().join(",");
    let known_axes: Option<String> = tx.first(DATASET, params![id], |line| line.get(0))?;
    let known: Vec<(String, String)> = tx.all(COLUMNS, params![id], |line| Ok((line.get(0)?, line.get(1)?)))?;
    if let Some(known_axes) = &known_axes {
        refuse_change(dataset, known_axes, &axes, &known)?;
    }
    let region = dataset.axis(AxisKind::Region);
    let (axis, list) = (region.map(|axis| axis.id.as_str()), region.and_then(|axis| axis.list.as_ref()).map(Name::as_str));
    // What is there already and the same is left alone: who may not alter tables can collect all the same.
    let mut changed =
        tx.execute(DECLARE_DATASET, params![id, dataset.title.as_str(), axes.as_str(), axis, list, instant(now)])?;
    for column in &dataset.columns {
        let (unit, label, label_ko) = (column.unit.as_deref(), column.label.as_deref(), column.label_ko.as_deref());
        let values = params![id, column.id.as_str(), column.field.as_str(), column.kind.as_str(), unit, label, label_ko];
        changed += tx.execute(DECLARE_COLUMN, values)?;
    }
    let added: Vec<&Column> =
        dataset.columns.iter().filter(|column| known.iter().all(|(id, _)| id != column.id.as_str())).collect();
    if known_axes.is_none() {
        tx.execute(&table_sql(dataset, tx.dialect()), &[])?;
        tx.execute(&index_sql(dataset), &[])?;
    } else {
        for column in &added {
            let (name, kind) = (&column.id, (tx.dialect().storage)(column.kind));
            tx.execute(&format!("alter table \"{id}_rows\" add column \"{name}\" {kind}"), &[])?;
        }
    }
    if known_axes.is_none() || !added.is_empty() {
        let columns: Vec<String> = tx.all(COLUMNS, params![id], |line| line.get(0))?;
        tx.execute(&format!("drop view if exists \"{id}\""), &[])?;
        tx.execute(&view_sql(dataset, &columns, tx.dialect()), &[])?;
    }
    if changed > 0 { tx.describe(dataset) } else { Ok(()) }
}

fn refuse_change(dataset: &Dataset, known_axes: &str, axes: &str, known: &[(String, String)]) -> Result<(), StoreError> {
    let changed = |column: &str, old: String, new: String| {
        Err(StoreError::DefinitionChanged { dataset: dataset.id.clone(), column: column.to_owned(), old, new })
    };
    if known_axes != axes {
        return changed("axes", format!("`{known_axes}`"), format!("`{axes}`"));
    }
    for (id, old) in known {
        match dataset.columns.iter().find(|column| column.id.as_str() == id) {
            None => return changed(id, old.clone(), "gone".to_owned()),
            Some(column) if column.kind.as_str() != old => return changed(id, old.clone(), column.kind.to_string()),
            Some(_) => (),
        }
    }
    Ok(())
}

fn table_sql(dataset: &Dataset, dialect: &Dialect) -> String {
    let Dialect { storage, text, integer, bytes, table_options, .. } = dialect;
    let axes: String = dataset.axes.iter().map(|axis| format!("\"{}\" {text} not null, ", axis.id)).collect();
    let columns: String = dataset.columns.iter().map(|column| format!("\"{}\" {}, ", column.id, storage(column.kind))).collect();
    format!(
        "create table \"{id}_rows\" ({axes}{columns}_unparsed {text}, _extra {text}, _row_hash {bytes} not null, \
         _job {integer} not null, _read {integer} not null, _page {integer} not null, _ordinal {integer} not null, \
         primary key (_job, _read, _page, _ordinal)){table_options}",
        id = dataset.id
    )
}

/// Its name begins with a line, as no dataset's does: tables and indexes share their names.
fn index_sql(dataset: &Dataset) -> String {
    let axes: Vec<String> = dataset.axes.iter().map(|axis| format!("\"{}\"", axis.id)).collect();
    format!("create index \"_{id}_axes\" on \"{id}_rows\" ({axes})", id = dataset.id, axes = axes.join(", "))
}

fn view_sql(dataset: &Dataset, columns: &[String], dialect: &Dialect) -> String {
    let axes = dataset.axes.iter().map(|axis| axis.id.as_str());
    let columns: String = axes.chain(columns.iter().map(String::as_str)).map(|id| format!("r.\"{id}\", ")).collect();
    let (hex, close) = dialect.hex;
    format!(
        "create view \"{id}\" as select {columns}{hex}r._row_hash{close} as _row_hash, p.published_at as _published_at \
         from \"{id}_rows\" r join partition p on p.published_job = r._job",
        id = dataset.id
    )
}
