use crate::definition::column::ColumnType;
use crate::store::dialect::Dialect;

/// Clustered by its key; nothing is stored that is not of the type of its column.
pub static SQLITE: Dialect = Dialect {
    storage,
    text: "text",
    integer: "integer",
    bytes: "blob",
    table_options: " strict, without rowid",
    hex: ("lower(hex(", "))"),
    random_token: "select lower(hex(randomblob(16)))",
};

fn storage(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Text | ColumnType::Code | ColumnType::Date | ColumnType::Month | ColumnType::Time | ColumnType::Json => {
            "text"
        }
        ColumnType::Integer | ColumnType::Boolean => "integer",
        ColumnType::Decimal => "real",
    }
}
