//! Tables and views of datasets.

use jiff::Timestamp;

use super::spelling::instant;
use crate::definition::column::{Column, ColumnType};
use crate::definition::dataset::{AxisKind, Dataset};
use crate::definition::reserved::dataset_objection;
use crate::model::name::Name;
use crate::store::dialect::Dialect;
use crate::store::error::StoreError;
use crate::store::layout::{Layout, LayoutColumn};
use crate::store::param::params;
use crate::store::tx::Tx;

const DATASET: &str = "select axes from dataset where id = ?1";
const COLUMNS: &str = "select id, type from declared_column where dataset = ?1 order by position";
const LAYOUT: &str = "select title, axes from dataset where id = ?1";
const LAYOUT_COLUMNS: &str =
    "select id, type, field, unit, label, label_ko from declared_column where dataset = ?1 order by position";
const DECLARE_DATASET: &str = "insert into dataset (id, title, axes, region_axis, region_list, declared_at)
    values (?1, ?2, ?3, ?4, ?5, ?6)
    on conflict (id) do update set title = excluded.title, region_list = excluded.region_list
    where dataset.title <> excluded.title or dataset.region_list is distinct from excluded.region_list";
const DECLARE_COLUMN: &str = "insert into declared_column (dataset, position, id, field, type, unit, label, label_ko)
    values (?1, (select coalesce(max(position), 0) + 1 from declared_column where dataset = ?1), ?2, ?3, ?4, ?5, ?6, ?7)
    on conflict (dataset, id) do update
    set field = excluded.field, unit = excluded.unit, label = excluded.label, label_ko = excluded.label_ko";

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
    let stored = layout(tx, id)?.expect("it was just declared").columns;
    for column in &dataset.columns {
        let (unit, label, label_ko) = (column.unit.as_deref(), column.label.as_deref(), column.label_ko.as_deref());
        let is_same = |old: &LayoutColumn| {
            let old = (old.id.as_str(), old.field.as_str(), old.unit.as_deref(), old.label.as_deref(), old.label_ko.as_deref());
            old == (column.id.as_str(), column.field.as_str(), unit, label, label_ko)
        };
        if stored.iter().any(is_same) {
            continue;
        }
        let values = params![id, column.id.as_str(), column.field.as_str(), column.kind.as_str(), unit, label, label_ko];
        changed += tx.execute(DECLARE_COLUMN, values)?;
    }
    let added: Vec<&Column> =
        dataset.columns.iter().filter(|column| known.iter().all(|(id, _)| id != column.id.as_str())).collect();
    let layout = layout(tx, id)?.expect("it was just declared");
    if known_axes.is_none() {
        return make(tx, &layout);
    }
    for column in &added {
        let (name, kind) = (&column.id, (tx.dialect().storage)(column.kind));
        tx.change(&format!("alter table \"{id}_rows\" add column \"{name}\" {kind}"), &[])?;
    }
    if !added.is_empty() {
        tx.replace_view(id, &view_sql(&layout, tx.dialect()))?;
    }
    if changed > 0 { tx.describe(&layout) } else { Ok(()) }
}

/// Makes the tables and the view of a dataset that the ledger knows and that has none yet.
pub fn make(tx: &Tx<'_>, layout: &Layout) -> Result<(), StoreError> {
    for sql in [table_sql(layout, tx.dialect()), index_sql(layout), view_sql(layout, tx.dialect())] {
        tx.change(&sql, &[])?;
    }
    tx.describe(layout)
}

/// What the ledger knows of the tables of a dataset.
pub fn layout(tx: &Tx<'_>, id: &str) -> Result<Option<Layout>, StoreError> {
    let known = tx.first(LAYOUT, params![id], |line| Ok((line.get::<String>(0)?, line.get::<String>(1)?)))?;
    let Some((title, axes)) = known else { return Ok(None) };
    let axes = axes.split(',').map(str::to_owned).collect();
    let columns = tx.all(LAYOUT_COLUMNS, params![id], |line| {
        Ok(LayoutColumn {
            id: line.get(0)?,
            kind: line.spelled_as(1, ColumnType::from_spelling)?,
            field: line.get(2)?,
            unit: line.get(3)?,
            label: line.get(4)?,
            label_ko: line.get(5)?,
        })
    })?;
    Ok(Some(Layout { id: id.to_owned(), title, axes, columns }))
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

fn table_sql(layout: &Layout, dialect: &Dialect) -> String {
    let Dialect { storage, text, integer, bytes, table_options, .. } = dialect;
    let axes: String = layout.axes.iter().map(|axis| format!("\"{axis}\" {text} not null, ")).collect();
    let columns: String = layout.columns.iter().map(|column| format!("\"{}\" {}, ", column.id, storage(column.kind))).collect();
    format!(
        "create table \"{id}_rows\" ({axes}{columns}_unparsed {text}, _extra {text}, _row_hash {bytes} not null, \
         _job {integer} not null, _read {integer} not null, _page {integer} not null, _ordinal {integer} not null, \
         primary key (_job, _read, _page, _ordinal)){table_options}",
        id = layout.id
    )
}

/// Its name begins with a line, as no dataset's does: tables and indexes share their names.
fn index_sql(layout: &Layout) -> String {
    let axes: Vec<String> = layout.axes.iter().map(|axis| format!("\"{axis}\"")).collect();
    format!("create index \"_{id}_axes\" on \"{id}_rows\" ({axes})", id = layout.id, axes = axes.join(", "))
}

fn view_sql(layout: &Layout, dialect: &Dialect) -> String {
    let columns = layout.columns.iter().map(|column| &column.id);
    let columns: String = layout.axes.iter().chain(columns).map(|id| format!("r.\"{id}\", ")).collect();
    let (hex, close) = dialect.hex;
    format!(
        "create view \"{id}\" as select {columns}{hex}r._row_hash{close} as _row_hash, p.published_at as _published_at \
         from \"{id}_rows\" r join partition p on p.published_job = r._job",
        id = layout.id
    )
}
