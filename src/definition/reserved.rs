//! Words that no dataset, axis or column may be called.

/// Tables and views of the store, and the words users type where a dataset could stand.
pub const STORE_NAMES: &[&str] = &[
    "api_state",
    "attempt",
    "body",
    "breaker_change",
    "columns",
    "coverage",
    "dataset",
    "decision",
    "declared_column",
    "job",
    "lease",
    "meta",
    "pace",
    "pace_health",
    "pace_share",
    "page",
    "partition",
    "reform",
    "region",
    "regions",
    "run",
    "schema",
    "schema_step",
    "stopped_api",
    "writer",
];

/// What every table of PostgreSQL has besides its columns.
///
/// Source: its manual, 5.5 "System Columns".
const SYSTEM_COLUMNS: [&str; 6] = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"];

/// Key words that SQLite or PostgreSQL read as syntax where a table or column name may stand.
///
/// Source: the reserved words of PostgreSQL 15 appendix C and the keyword list of SQLite, in lower case.
pub const SQL_WORDS: &[&str] = &[
    "abort",
    "add",
    "all",
    "alter",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "attach",
    "authorization",
    "autoincrement",
    "before",
    "begin",
    "between",
    "binary",
    "both",
    "by",
    "cascade",
    "case",
    "cast",
    "check",
    "collate",
    "collation",
    "column",
    "commit",
    "concurrently",
    "conflict",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "database",
    "default",
    "deferrable",
    "deferred",
    "delete",
    "desc",
    "detach",
    "distinct",
    "do",
    "drop",
    "each",
    "else",
    "end",
    "escape",
    "except",
    "exclusive",
    "exists",
    "explain",
    "fail",
    "false",
    "fetch",
    "filter",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "generated",
    "glob",
    "grant",
    "group",
    "having",
    "if",
    "ignore",
    "ilike",
    "immediate",
    "in",
    "index",
    "indexed",
    "initially",
    "inner",
    "insert",
    "instead",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "key",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "match",
    "natural",
    "no",
    "not",
    "notnull",
    "null",
    "nulls",
    "of",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "over",
    "overlaps",
    "placing",
    "plan",
    "pragma",
    "primary",
    "query",
    "raise",
    "recursive",
    "references",
    "regexp",
    "reindex",
    "release",
    "rename",
    "replace",
    "restrict",
    "returning",
    "right",
    "rollback",
    "row",
    "savepoint",
    "select",
    "session_user",
    "set",
    "similar",
    "some",
    "symmetric",
    "table",
    "tablesample",
    "temp",
    "temporary",
    "then",
    "to",
    "trailing",
    "transaction",
    "trigger",
    "true",
    "unbounded",
    "union",
    "unique",
    "update",
    "user",
    "using",
    "vacuum",
    "values",
    "variadic",
    "verbose",
    "view",
    "virtual",
    "when",
    "where",
    "window",
    "with",
    "without",
];

/// Why a dataset may not be called so, if it may not.
pub fn dataset_objection(name: &str) -> Option<&'static str> {
    let is_taken = STORE_NAMES.contains(&name);
    is_taken.then_some("it is the name of a table or view of the store").or_else(|| column_objection(name))
}

/// Why an axis or column may not be called so, if it may not.
pub fn column_objection(name: &str) -> Option<&'static str> {
    if SYSTEM_COLUMNS.contains(&name) {
        Some("every table of PostgreSQL has a column of its own that is called so")
    } else if SQL_WORDS.binary_search(&name).is_ok() {
        Some("it is a word of SQL")
    } else if name.starts_with("sqlite_") || name.starts_with("pg_") {
        Some("the database keeps such names for itself")
    } else if name.ends_with("_rows") {
        Some("names that end in `_rows` are those of row tables")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_names_sql_words_and_row_tables_are_objected_to() {
        for name in ["coverage", "partition", "select", "abort", "without", "apt_rows"] {
            assert!(dataset_objection(name).is_some(), "{name}");
        }
        assert_eq!(dataset_objection("apt_trade"), None);
        assert_eq!(column_objection("region"), None);
        for name in ["select", "xmin", "tableoid"] {
            assert!(column_objection(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_words_stand_in_order_so_that_they_can_be_searched() {
        assert!(SQL_WORDS.is_sorted());
    }
}
