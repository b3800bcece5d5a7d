/// A value of a result, as the store has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// A type that values are read as.
pub trait FromCell: Sized {
    fn from_cell(cell: Cell<'_>) -> Option<Self>;
}

impl FromCell for i64 {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Integer(value) => Some(value),
            Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Blob(_) => None,
        }
    }
}

/// Counts and numbers: negative ones, which only a hand can have written, are misread.
macro_rules! from_integer {
    ($($kind:ty),+) => {
        $(impl FromCell for $kind {
            fn from_cell(cell: Cell<'_>) -> Option<Self> {
                i64::from_cell(cell)?.try_into().ok()
            }
        })+
    };
}
from_integer!(u16, u32, u64);

impl FromCell for bool {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        i64::from_cell(cell).map(|value| value != 0)
    }
}

impl FromCell for String {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.to_owned()),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Blob(_) => None,
        }
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Blob(bytes) => Some(bytes.to_owned()),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Text(_) => None,
        }
    }
}

impl<const N: usize> FromCell for [u8; N] {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Blob(bytes) => bytes.try_into().ok(),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Text(_) => None,
        }
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: Cell<'_>) -> Option<Self> {
        if cell == Cell::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}
