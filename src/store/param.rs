use std::borrow::Cow;

use super::value::without_nul;

/// A value to be bound, NULL with the type it is a NULL of.
#[derive(Clone, Debug, PartialEq)]
pub enum Param<'a> {
    Integer(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Option<Cow<'a, [u8]>>),
    Boolean(Option<bool>),
}

/// Parameters of a statement, in the order of their numbers.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::param::Param::from($value)),*]
    };
}
pub(super) use params;

macro_rules! from_number {
    ($($kind:ty),+) => {
        $(
            impl From<$kind> for Param<'_> {
                fn from(value: $kind) -> Self {
                    Self::Integer(Some(value.into()))
                }
            }

            impl From<Option<$kind>> for Param<'_> {
                fn from(value: Option<$kind>) -> Self {
                    Self::Integer(value.map(Into::into))
                }
            }
        )+
    };
}
from_number!(i64, u8, u16, u32);

/// Counts above 2⁶³ exist only in answers that lie; they are stored as the largest number there is.
impl From<u64> for Param<'_> {
    fn from(count: u64) -> Self {
        Some(count).into()
    }
}

impl From<Option<u64>> for Param<'_> {
    fn from(count: Option<u64>) -> Self {
        Self::Integer(count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(Some(value))
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Some(text).into()
    }
}

impl<'a> From<Option<&'a str>> for Param<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(without_nul))
    }
}

impl From<String> for Param<'_> {
    fn from(text: String) -> Self {
        Some(text).into()
    }
}

impl From<Option<String>> for Param<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(|text| without_nul(&text).into_owned().into()))
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Some(Cow::Borrowed(bytes)))
    }
}
