//! Many lines of one table at once, as they are copied from one store to another.

use super::cell::Cell;

/// A value that is kept while it is carried over.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// What a column stores, whatever its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Text,
    Integer,
    Real,
    Boolean,
    Date,
    Bytes,
}

/// A column of a table that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkColumn {
    pub name: String,
    pub kind: ValueKind,
}

impl BulkColumn {
    pub fn new(name: &str, kind: ValueKind) -> Self {
        Self { name: name.to_owned(), kind }
    }
}

impl From<Cell<'_>> for Value {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Integer(value) => Self::Integer(value),
            Cell::Real(value) => Self::Real(value),
            Cell::Text(text) => Self::Text(text.to_owned()),
            Cell::Blob(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

impl Value {
    /// Adds the value to a digest, so that no two different lists of values have the same.
    pub fn digest(&self, hasher: &mut blake3::Hasher) {
        let mut add = |mark: u8, bytes: &[u8]| {
            hasher.update(&[mark]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        match self {
            Self::Null => add(0, &[]),
            Self::Integer(value) => add(1, &value.to_le_bytes()),
            Self::Real(value) => add(2, &value.to_bits().to_le_bytes()),
            Self::Text(text) => add(3, text.as_bytes()),
            Self::Bytes(bytes) => add(4, bytes),
        }
    }
}
