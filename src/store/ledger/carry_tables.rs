//! The tables of the ledger, as a copy of a store carries them over.

use crate::store::bulk::ValueKind::{self, Boolean, Bytes, Integer, Text};

/// A table of the ledger: its columns, the first of them in the order that it is read in.
pub struct Table {
    pub name: &'static str,
    pub(super) columns: &'static [(&'static str, ValueKind)],
    pub(super) keyed: Keyed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyed {
    /// By a number: it is carried over in pieces.
    ById,
    /// It is small: carried over at once.
    Whole,
}

/// In an order in which nothing refers to what is not there yet. The pointers of partitions come last.
pub const TABLES: &[Table] = &[
    Table {
        name: "dataset",
        columns: &[
            ("id", Text),
            ("title", Text),
            ("axes", Text),
            ("region_axis", Text),
            ("region_list", Text),
            ("declared_at", Text),
        ],
        keyed: Keyed::Whole,
    },
    Table {
        name: "declared_column",
        columns: &[
            ("dataset", Text),
            ("position", Integer),
            ("id", Text),
            ("field", Text),
            ("type", Text),
            ("unit", Text),
            ("label", Text),
            ("label_ko", Text),
        ],
        keyed: Keyed::Whole,
    },
    Table {
        name: "region",
        columns: &[
            ("list", Text),
            ("code", Text),
            ("name", Text),
            ("valid_from", Text),
            ("valid_to", Text),
            ("kind", Text),
            ("successors", Text),
        ],
        keyed: Keyed::Whole,
    },
    Table {
        name: "reform",
        columns: &[("list", Text), ("code", Text), ("reform", Text), ("side", Text), ("day", Text)],
        keyed: Keyed::Whole,
    },
    Table {
        name: "api_state",
        columns: &[
            ("dataset", Text),
            ("key_id", Text),
            ("day", Text),
            ("calls", Integer),
            ("blocked_until", Text),
            ("why", Text),
        ],
        keyed: Keyed::Whole,
    },
    Table {
        name: "run",
        columns: &[
            ("id", Integer),
            ("command", Text),
            ("started_at", Text),
            ("ended_at", Text),
            ("exit_code", Integer),
            ("version", Text),
        ],
        keyed: Keyed::ById,
    },
    Table {
        name: "partition",
        columns: &[
            ("id", Integer),
            ("dataset", Text),
            ("key", Text),
            ("region", Text),
            ("month", Text),
            ("published_at", Text),
            ("replaced_at", Text),
            ("checked_at", Text),
            ("changed_at", Text),
        ],
        keyed: Keyed::ById,
    },
    Table {
        name: "job",
        columns: &[
            ("id", Integer),
            ("run", Integer),
            ("partition", Integer),
            ("state", Text),
            ("verdict", Text),
            ("why", Text),
            ("read", Integer),
            ("claims", Integer),
            ("token", Text),
            ("promised_first", Integer),
            ("promised_last", Integer),
            ("received", Integer),
            ("distinct_rows", Integer),
            ("definition_hash", Text),
            ("started_at", Text),
            ("ended_at", Text),
            ("held_on", Text),
            ("held_days", Integer),
            ("snapshot", Text),
            ("ended_on", Text),
            ("store_ms", Integer),
        ],
        keyed: Keyed::ById,
    },
    Table {
        name: "decision",
        columns: &[
            ("id", Integer),
            ("partition", Integer),
            ("job", Integer),
            ("decided_at", Text),
            ("who", Text),
            ("why", Text),
            ("held_why", Text),
        ],
        keyed: Keyed::ById,
    },
    Table {
        name: "breaker_change",
        columns: &[
            ("id", Integer),
            ("run", Integer),
            ("dataset", Text),
            ("key_id", Text),
            ("changed_at", Text),
            ("state", Text),
            ("open_until", Text),
            ("openings", Integer),
            ("why", Text),
        ],
        keyed: Keyed::ById,
    },
    Table {
        name: "attempt",
        columns: &[
            ("id", Integer),
            ("job", Integer),
            ("read", Integer),
            ("page", Integer),
            ("try", Integer),
            ("sent", Boolean),
            ("sent_at", Text),
            ("took_ms", Integer),
            ("waited_ms", Integer),
            ("outcome", Text),
            ("http_status", Integer),
            ("code", Text),
            ("why", Text),
            ("body_bytes", Integer),
            ("retry_ms", Integer),
            ("permit_ms", Integer),
            ("slot_ms", Integer),
        ],
        keyed: Keyed::ById,
    },
];

/// Pages and bodies of one job go together with its rows.
pub(super) const PAGE: &[(&str, ValueKind)] = &[
    ("job", Integer),
    ("read", Integer),
    ("number", Integer),
    ("rows", Integer),
    ("total", Integer),
    ("rows_hash", Bytes),
    ("stored_at", Text),
];
pub(super) const BODY: &[(&str, ValueKind)] =
    &[("job", Integer), ("read", Integer), ("page", Integer), ("raw_bytes", Integer), ("blake3", Bytes), ("zstd", Bytes)];
