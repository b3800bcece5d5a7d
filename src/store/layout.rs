use crate::definition::column::ColumnType;

/// The tables of a dataset, as the ledger knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub id: String,
    pub title: String,
    pub axes: Vec<String>,
    /// In the order of their declaration.
    pub columns: Vec<LayoutColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutColumn {
    pub id: String,
    pub kind: ColumnType,
    pub field: String,
    pub unit: Option<String>,
    pub label: Option<String>,
    pub label_ko: Option<String>,
}
