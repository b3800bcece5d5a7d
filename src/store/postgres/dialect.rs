use crate::definition::column::ColumnType;
use crate::store::dialect::Dialect;

/// Texts are compared byte by byte, so that results are ordered as on SQLite.
pub static POSTGRES: Dialect = Dialect {
    storage,
    text: "text collate \"C\"",
    integer: "bigint",
    bytes: "bytea",
    table_options: "",
    hex: ("encode(", ", 'hex') collate \"C\""),
    random_token: "select replace(cast(gen_random_uuid() as text), '-', '')",
};

fn storage(kind: ColumnType) -> &'static str {
    match kind {
        // Their source text is kept as it came, which the types for JSON, months and times of the database do not.
        ColumnType::Text | ColumnType::Code | ColumnType::Month | ColumnType::Time | ColumnType::Json => "text collate \"C\"",
        ColumnType::Date => "date",
        ColumnType::Integer => "bigint",
        ColumnType::Boolean => "boolean",
        ColumnType::Decimal => "double precision",
    }
}
