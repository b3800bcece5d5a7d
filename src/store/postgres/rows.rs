//! The row path: a page of records as one statement over arrays, one array a column.

use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use super::link::Order;
use crate::definition::column::ColumnType;
use crate::store::dataset::Declared;
use crate::store::job::StoredPage;
use crate::store::row::RowReader;
use crate::store::value::Stored;

/// The values of one column of a page.
pub(super) enum Values {
    Text(Vec<Option<String>>),
    Integer(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Boolean(Vec<Option<bool>>),
}

/// The statement that inserts the rows of a page.
pub fn insertion(stored: &StoredPage<'_>) -> Result<Order, sqlx::Error> {
    let declared = stored.job.declared();
    let (records, hashes) = (&stored.page.records, &stored.page.row_hashes);
    assert_eq!(records.len(), hashes.len(), "a page has a hash for each record");
    let rows = records.len();
    let mut columns: Vec<Values> = declared.kinds().iter().map(|kind| Values::of(*kind, rows)).collect();
    let (mut unparsed, mut extra) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let reader = RowReader::new(declared, records.names());
    let mut row = reader.row();
    for record in records.iter() {
        reader.read(record, &mut row);
        unparsed.push(row.unparsed().map(str::to_owned));
        extra.push(row.extra().map(str::to_owned));
        for (values, cell) in columns.iter_mut().zip(&row.cells) {
            values.push(cell);
        }
    }
    let mut arguments = PgArguments::default();
    for (_, value) in stored.job.partition().values() {
        arguments.add(value).map_err(sqlx::Error::Encode)?;
    }
    for number in [stored.job.id().0, stored.read.0.into(), stored.number.0.into()] {
        arguments.add(number).map_err(sqlx::Error::Encode)?;
    }
    let hashes: Vec<Vec<u8>> = hashes.iter().map(|hash| hash.0.to_vec()).collect();
    arguments.add(hashes).map_err(sqlx::Error::Encode)?;
    for values in [Values::Text(unparsed), Values::Text(extra)].into_iter().chain(columns) {
        values.bind(&mut arguments).map_err(sqlx::Error::Encode)?;
    }
    Ok(Order::Change(insert_sql(declared), arguments))
}

impl Values {
    fn of(kind: ColumnType, rows: usize) -> Self {
        match kind {
            ColumnType::Text | ColumnType::Code | ColumnType::Date | ColumnType::Month | ColumnType::Time | ColumnType::Json => {
                Self::Text(Vec::with_capacity(rows))
            }
            ColumnType::Integer => Self::Integer(Vec::with_capacity(rows)),
            ColumnType::Decimal => Self::Real(Vec::with_capacity(rows)),
            ColumnType::Boolean => Self::Boolean(Vec::with_capacity(rows)),
        }
    }

    fn push(&mut self, cell: &Stored<'_>) {
        match self {
            Self::Text(texts) => texts.push(match cell {
                Stored::Text(text) => Some(text.clone().into_owned()),
                Stored::Short(text) => Some(text.as_str().to_owned()),
                Stored::Null | Stored::Unparsed | Stored::Integer(_) | Stored::Real(_) => None,
            }),
            Self::Integer(numbers) => numbers.push(whole(cell)),
            Self::Boolean(truths) => truths.push(whole(cell).map(|value| value != 0)),
            Self::Real(numbers) => numbers.push(match cell {
                Stored::Real(value) => Some(*value),
                Stored::Null | Stored::Unparsed | Stored::Text(_) | Stored::Short(_) | Stored::Integer(_) => None,
            }),
        }
    }

    pub(super) fn bind(self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Text(values) => arguments.add(values),
            Self::Integer(values) => arguments.add(values),
            Self::Real(values) => arguments.add(values),
            Self::Boolean(values) => arguments.add(values),
        }
    }
}

fn whole(cell: &Stored<'_>) -> Option<i64> {
    match cell {
        Stored::Integer(value) => Some(*value),
        Stored::Null | Stored::Unparsed | Stored::Text(_) | Stored::Short(_) | Stored::Real(_) => None,
    }
}

fn insert_sql(declared: &Declared) -> String {
    let (mut names, mut places, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
    let axes = declared.axes().iter().map(|axis| (axis.as_str(), "text"));
    for (name, kind) in axes.chain([("_job", "bigint"), ("_read", "bigint"), ("_page", "bigint")]) {
        names.push(format!("\"{name}\""));
        places.push(format!("${}::{kind}", names.len()));
    }
    let own = [("_row_hash", "bytea", ""), ("_unparsed", "text", ""), ("_extra", "text", "")];
    let columns = declared.columns().iter().zip(declared.kinds()).map(|(name, kind)| {
        let (sent, stored) = sent_as(*kind);
        (name.as_str(), sent, stored)
    });
    for (position, (name, sent, stored)) in own.into_iter().chain(columns).enumerate() {
        names.push(format!("\"{name}\""));
        places.push(format!("u.v{position}{stored}"));
        arrays.push(format!("${}::{sent}[]", names.len()));
    }
    let values: Vec<String> = (0..arrays.len()).map(|position| format!("v{position}")).collect();
    format!(
        "insert into \"{id}_rows\" ({names}, _ordinal) select {places}, u.ordinal \
         from unnest({arrays}) with ordinality as u ({values}, ordinal)",
        id = declared.id(),
        names = names.join(", "),
        places = places.join(", "),
        arrays = arrays.join(", "),
        values = values.join(", "),
    )
}

/// The type of the array a column is sent in, and how it is turned into what the column stores.
fn sent_as(kind: ColumnType) -> (&'static str, &'static str) {
    match kind {
        ColumnType::Text | ColumnType::Code | ColumnType::Month | ColumnType::Time | ColumnType::Json => ("text", ""),
        ColumnType::Date => ("text", "::date"),
        ColumnType::Integer => ("bigint", ""),
        ColumnType::Boolean => ("boolean", ""),
        ColumnType::Decimal => ("double precision", ""),
    }
}
