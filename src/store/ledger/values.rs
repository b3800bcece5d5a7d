//! Whether the values of rows are those of the answer that they were read from.

use super::carry::{kind_of, select};
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::page::Page;
use crate::store::bulk::BulkColumn;
use crate::store::bulk::ValueKind::{Integer, Text};
use crate::store::cell::Cell;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::row::{Row, RowReader};
use crate::store::tx::{Line, Misread, Tx};
use crate::store::value::Stored;

/// Rows of a page that are stored with other values than `page` has at their places. Rows that are missing are not counted.
pub fn differing(
    tx: &Tx<'_>,
    declared: &Declared,
    (job, read, number): (JobId, ReadNumber, PageNumber),
    page: &Page,
) -> Result<u64, StoreError> {
    let own = [("_ordinal", Integer), ("_unparsed", Text), ("_extra", Text)].map(|(name, kind)| BulkColumn::new(name, kind));
    let columns =
        declared.columns().iter().zip(declared.kinds()).map(|(name, kind)| BulkColumn::new(name.as_str(), kind_of(*kind)));
    let columns: Vec<BulkColumn> = own.into_iter().chain(columns).collect();
    let of_page = format!("where _job = {} and _read = {} and _page = {} order by _ordinal", job.0, read.0, number.0);
    let reader = RowReader::new(declared, page.records.names());
    let (mut records, mut row) = (page.records.iter().zip(1_i64..), reader.row());
    let agree = tx.all(&select(&format!("{}_rows", declared.id()), &columns, &of_page), &[], |line| {
        let ordinal: i64 = line.get(0)?;
        let Some((record, _)) = records.find(|(_, at)| *at >= ordinal).filter(|(_, at)| *at == ordinal) else { return Ok(false) };
        reader.read(record, &mut row);
        agrees(line, &row)
    })?;
    Ok(agree.into_iter().filter(|agrees| !agrees).count() as u64)
}

fn agrees(line: &Line<'_>, row: &Row<'_>) -> Result<bool, Misread> {
    let own = line.cell(1)? == optional(row.unparsed()) && line.cell(2)? == optional(row.extra());
    let mut all = own;
    for (at, stored) in row.cells.iter().enumerate() {
        let expected = match stored {
            Stored::Null | Stored::Unparsed => Cell::Null,
            Stored::Text(text) => Cell::Text(text),
            Stored::Short(text) => Cell::Text(text.as_str()),
            Stored::Integer(value) => Cell::Integer(*value),
            Stored::Real(value) => Cell::Real(*value),
        };
        all &= line.cell(at + 3)? == expected;
    }
    Ok(all)
}

fn optional(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Null, Cell::Text)
}
