use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::name::Name;

/// A declared column of a dataset: where it comes from and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub id: Name,
    /// The field of a record it is read from.
    pub field: String,
    /// Other spellings of that field the source has used.
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// How a date, month or time is written in the source, `yy.mm.dd` for example; ISO where it is not given.
    #[serde(default)]
    pub format: Option<String>,
    /// Texts that stand for NULL, besides blanks.
    #[serde(default)]
    pub null_marks: Vec<String>,
    /// What one of it is: `10000 KRW`, `m2`.
    #[serde(default)]
    pub unit: Option<String>,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub label_ko: Option<String>,
}

/// Type of a column. Each has one fixed mapping to every store, a table in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    Text,
    /// Text that keeps its zeros.
    Code,
    /// 64 bits; thousands may be grouped by commas.
    Integer,
    /// A number that survives a double unchanged.
    Decimal,
    /// Stored `2024-03-09`.
    Date,
    /// Stored `2024-03`.
    Month,
    /// Stored `23:59` or `23:59:58`; `24:00` is legal.
    Time,
    Boolean,
    /// Source text of an object or array.
    Json,
}

impl ColumnType {
    pub const ALL: [Self; 9] =
        [Self::Text, Self::Code, Self::Integer, Self::Decimal, Self::Date, Self::Month, Self::Time, Self::Boolean, Self::Json];

    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Code => "code",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Date => "date",
            Self::Month => "month",
            Self::Time => "time",
            Self::Boolean => "boolean",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
