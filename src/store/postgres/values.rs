//! Values as the server sends and takes them.

use sqlx::postgres::{PgRow, PgValueFormat, PgValueRef};
use sqlx::{Column, Row, TypeInfo, ValueRef};

use crate::store::cell::Cell;
use crate::store::tx::Cells;

/// A line of a statement whose values came in the binary form.
pub struct BinaryLine<'r>(pub &'r PgRow);

impl Cells for BinaryLine<'_> {
    fn cell(&self, at: usize) -> Option<Cell<'_>> {
        binary(self.0.try_get_raw(at).ok()?)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn binary(value: PgValueRef<'_>) -> Option<Cell<'_>> {
    if value.is_null() {
        return Some(Cell::Null);
    }
    if value.format() != PgValueFormat::Binary {
        return None;
    }
    let kind = value.type_info();
    let bytes = value.as_bytes().ok()?;
    Some(match kind.name() {
        "BOOL" => Cell::Integer((bytes != [0]).into()),
        "INT2" => Cell::Integer(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        "INT4" => Cell::Integer(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        "INT8" => Cell::Integer(i64::from_be_bytes(bytes.try_into().ok()?)),
        "FLOAT8" => Cell::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        "TEXT" | "VARCHAR" | "NAME" | "UNKNOWN" => Cell::Text(str::from_utf8(bytes).ok()?),
        "BYTEA" => Cell::Blob(bytes),
        _ => return None,
    })
}

/// A value from the text the server writes for it.
#[derive(Debug, PartialEq)]
pub enum Told {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A line whose values came as texts.
pub struct ToldLine(pub Vec<Told>);

impl ToldLine {
    /// `None` when the server wrote what it never writes.
    pub fn of(row: &PgRow) -> Option<Self> {
        let value = |at: usize| {
            let value = row.try_get_raw(at).ok()?;
            if value.is_null() {
                return Some(Told::Null);
            }
            told(value.type_info().name(), value.as_str().ok()?)
        };
        (0..row.len()).map(value).collect::<Option<Vec<_>>>().map(Self)
    }
}

/// What has a type of its own on the other engine is given as that; all else is the text that the server writes.
fn told(kind: &str, text: &str) -> Option<Told> {
    Some(match kind {
        "BOOL" => Told::Integer((text == "t").into()),
        "INT2" | "INT4" | "INT8" | "OID" => Told::Integer(text.parse().ok()?),
        // Sums of whole numbers are numerics here.
        "NUMERIC" => match text.parse() {
            Ok(whole) => Told::Integer(whole),
            Err(_) => Told::Real(text.parse().ok()?),
        },
        "FLOAT4" | "FLOAT8" => Told::Real(text.parse().ok()?),
        "BYTEA" => {
            let digits = text.strip_prefix("\\x")?.as_bytes();
            let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
            Told::Blob(digits.chunks(2).map(byte).collect::<Option<_>>()?)
        }
        _ => Told::Text(text.to_owned()),
    })
}

impl Cells for ToldLine {
    fn cell(&self, at: usize) -> Option<Cell<'_>> {
        Some(match self.0.get(at)? {
            Told::Null => Cell::Null,
            Told::Integer(value) => Cell::Integer(*value),
            Told::Real(value) => Cell::Real(*value),
            Told::Text(text) => Cell::Text(text),
            Told::Blob(bytes) => Cell::Blob(bytes),
        })
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// The names of the columns of a line.
pub fn names(row: &PgRow) -> Vec<String> {
    row.columns().iter().map(|column| column.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_other_engine() {
        let check = |kind: &str, text: &str, expected: Told| assert_eq!(told(kind, text), Some(expected), "{kind} {text}");
        check("BOOL", "t", Told::Integer(1));
        check("BOOL", "f", Told::Integer(0));
        check("INT8", "-9223372036854775808", Told::Integer(i64::MIN));
        check("NUMERIC", "42", Told::Integer(42));
        check("NUMERIC", "2.5000000000000000", Told::Real(2.5));
        check("FLOAT8", "84", Told::Real(84.0));
        check("FLOAT8", "1e+300", Told::Real(1e300));
        check("BYTEA", "\\x00ff", Told::Blob(vec![0, 255]));
        check("DATE", "2024-03-09", Told::Text("2024-03-09".to_owned()));
        check("TEXT", "서울", Told::Text("서울".to_owned()));
    }
}
