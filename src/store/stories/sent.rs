//! Pages as a source sends them.

use std::sync::Arc;

use crate::model::page::Page;
use crate::model::record::{Records, RowHash};
use crate::model::tree::{NameId, NodeKind, Span, TreeBuilder};

/// A row of fields as sent.
pub type SentRow<'a> = Vec<(&'a str, NodeKind, &'a str)>;

pub fn apartments_page(apartments: &[&str]) -> Page {
    page(&apartments.iter().map(|apt| vec![("aptNm", NodeKind::Text, *apt)]).collect::<Vec<_>>())
}

pub fn page(rows: &[SentRow<'_>]) -> Page {
    let mut tree = TreeBuilder::new();
    let root = tree.open(NameId::NONE, NodeKind::Array, Span::Owned(""));
    for row in rows {
        let record = tree.open(NameId::NONE, NodeKind::Object, Span::Owned(""));
        for (name, kind, text) in row {
            let name = tree.name(name);
            match kind {
                NodeKind::Object | NodeKind::Array => {
                    let node = tree.open(name, *kind, Span::Owned(text));
                    tree.close(node);
                }
                NodeKind::Null | NodeKind::Text | NodeKind::Number | NodeKind::Boolean => {
                    tree.leaf(name, *kind, Span::Owned(text));
                }
            }
        }
        tree.close(record);
    }
    tree.close(root);
    let tree = Arc::new(tree.finish(String::new()));
    let items = tree.root().children().map(|record| record.index()).collect();
    let row_hashes = rows.iter().map(row_hash).collect();
    Page {
        records: Records::new(tree, items),
        row_hashes,
        total: Some(rows.len() as u64),
        page_echo: None,
        code: None,
        has_more: None,
    }
}

fn row_hash(row: &SentRow<'_>) -> RowHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(format!("{row:?}").as_bytes()).as_bytes()[..16]);
    RowHash(hash)
}
