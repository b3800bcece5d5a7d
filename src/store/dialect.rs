use crate::definition::column::ColumnType;

/// What the SQL of an engine spells in its own way, in the tables and views that are made for a dataset.
pub struct Dialect {
    /// The type of a column that stores values of a kind.
    pub storage: fn(ColumnType) -> &'static str,
    pub text: &'static str,
    pub integer: &'static str,
    pub bytes: &'static str,
    /// What follows the columns of a row table.
    pub table_options: &'static str,
    /// A function that spells bytes in lower-case hexadecimal digits, and what closes it.
    pub hex: (&'static str, &'static str),
    /// A query for 32 random hexadecimal digits.
    pub random_token: &'static str,
}
