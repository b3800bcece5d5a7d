use serde::Deserialize;

use crate::model::name::Name;

use super::path::{Path, RecordsPlace};

/// One form of answer of a provider: how it is recognised and where its parts stand.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    pub id: Name,
    /// A document that has this place is in this envelope.
    pub when: Path,
    pub code: Path,
    /// Texts that explain the code.
    pub messages: Vec<Path>,
    /// `None` for an envelope that only carries errors: it is never a success, whatever its code.
    #[serde(default)]
    pub rows: Option<RowsPlaces>,
    /// Where it is documented or was seen.
    pub source: String,
}

/// Where the rows of a success stand, and what is said about them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsPlaces {
    /// Alternatives: the first that is there counts.
    pub records: Vec<RecordsPlace>,
    /// Rows of the whole walk.
    #[serde(default)]
    pub total: Option<Path>,
    /// Number of this page.
    #[serde(default)]
    pub page: Option<Path>,
}
