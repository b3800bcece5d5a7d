//! Many lines of one table as one statement over arrays, as [`super::rows`] does for a page.

use sqlx::Arguments;
use sqlx::postgres::PgArguments;

use super::link::Order;
use super::rows::Values;
use crate::store::bulk::{BulkColumn, Value, ValueKind};

/// The statement that inserts lines with the ids they have.
pub fn insertion(table: &str, columns: &[BulkColumn], lines: &[Vec<Value>]) -> Result<Order, sqlx::Error> {
    let mut arguments = PgArguments::default();
    for (at, column) in columns.iter().enumerate() {
        let values = lines.iter().map(|line| &line[at]);
        let bound = match column.kind {
            ValueKind::Text | ValueKind::Date => Values::Text(values.map(text).collect()).bind(&mut arguments),
            ValueKind::Integer => Values::Integer(values.map(whole).collect()).bind(&mut arguments),
            ValueKind::Real => Values::Real(values.map(real).collect()).bind(&mut arguments),
            ValueKind::Boolean => {
                Values::Boolean(values.map(|value| whole(value).map(|value| value != 0)).collect()).bind(&mut arguments)
            }
            ValueKind::Bytes => arguments.add(values.map(bytes).collect::<Vec<_>>()),
        };
        bound.map_err(sqlx::Error::Encode)?;
    }
    Ok(Order::Change(insert_sql(table, columns), arguments))
}

fn insert_sql(table: &str, columns: &[BulkColumn]) -> String {
    let joined = |part: &dyn Fn(usize, &BulkColumn) -> String| {
        columns.iter().enumerate().map(|(at, column)| part(at, column)).collect::<Vec<_>>().join(", ")
    };
    let names = joined(&|_, column| format!("\"{}\"", column.name));
    let values = joined(&|at, column| match column.kind {
        ValueKind::Date => format!("u.v{at}::date"),
        ValueKind::Text | ValueKind::Integer | ValueKind::Real | ValueKind::Boolean | ValueKind::Bytes => format!("u.v{at}"),
    });
    let arrays = joined(&|at, column| format!("${}::{}[]", at + 1, sent_as(column.kind)));
    let places = joined(&|at, _| format!("v{at}"));
    format!("insert into \"{table}\" ({names}) overriding system value select {values} from unnest({arrays}) as u ({places})")
}

fn sent_as(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text | ValueKind::Date => "text",
        ValueKind::Integer => "bigint",
        ValueKind::Real => "double precision",
        ValueKind::Boolean => "boolean",
        ValueKind::Bytes => "bytea",
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Bytes(_) => None,
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        Value::Null | Value::Real(_) | Value::Text(_) | Value::Bytes(_) => None,
    }
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(*value),
        Value::Null | Value::Integer(_) | Value::Text(_) | Value::Bytes(_) => None,
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Text(_) => None,
    }
}
