use std::sync::Arc;

use crate::model::record::{Records, RowHash};
use crate::model::tree::{NameId, NodeKind};

/// One hash a record: equal when the fields and their texts are equal, whatever the order of the fields.
///
/// Fields named in `volatile` are left out. A number and a text of the same characters are equal, because sources change
/// between the two from one day to the next; a null and an empty text differ, as do a missing field and a null. Texts
/// count as sent, blanks and all.
pub fn hash_rows(records: &Records, volatile: &[String]) -> Arc<[RowHash]> {
    let mut hashes = Vec::with_capacity(records.len());
    let mut shape = Shape::of(records, Vec::new(), volatile);
    let mut fields = Vec::new();
    let mut row = Vec::new();
    for record in records.iter() {
        fields.clear();
        fields.extend(record.fields());
        if !fields.iter().map(|field| field.name_id()).eq(shape.names.iter().copied()) {
            shape = Shape::of(records, fields.iter().map(|field| field.name_id()).collect(), volatile);
        }
        row.clear();
        row.extend_from_slice(&shape.digest);
        for &position in &shape.order {
            let field = &fields[position];
            row.push(kind_mark(field.kind()));
            push_text(&mut row, field.text());
        }
        hashes.push(RowHash(digest(&row)));
    }
    hashes.into()
}

/// The field names of a record. Most rows of a page have those of the row before, so they are put in order and hashed once.
struct Shape {
    /// In source order.
    names: Vec<NameId>,
    /// Positions in source order of the fields that count, by name.
    order: Vec<usize>,
    digest: [u8; 16],
}

impl Shape {
    fn of(records: &Records, names: Vec<NameId>, volatile: &[String]) -> Self {
        let text = |position: usize| &*records.names()[names[position].index()];
        let mut order: Vec<usize> = (0..names.len()).filter(|at| !volatile.iter().any(|name| **name == *text(*at))).collect();
        order.sort_unstable_by_key(|position| text(*position));
        let mut told = Vec::new();
        order.iter().for_each(|position| push_text(&mut told, text(*position)));
        Self { digest: digest(&told), order, names }
    }
}

fn digest(bytes: &[u8]) -> [u8; 16] {
    xxhash_rust::xxh3::xxh3_128(bytes).to_be_bytes()
}

fn kind_mark(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Null => 0,
        NodeKind::Text | NodeKind::Number | NodeKind::Boolean => 1,
        NodeKind::Object | NodeKind::Array => 2,
    }
}

/// A text behind its length, so that no two rows run into the same bytes.
fn push_text(row: &mut Vec<u8>, text: &str) {
    // Seven bits a byte, the last one below 128: nearly every length is one byte, and the hash takes time for each.
    let mut length = text.len();
    while length >= 0x80 {
        row.push(length as u8 | 0x80);
        length >>= 7;
    }
    row.push(length as u8);
    row.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::json;

    fn hashes(rows: &str, volatile: &[&str]) -> Vec<RowHash> {
        let tree = Arc::new(json::read(rows.to_owned()).unwrap());
        let items = tree.root().children().map(|item| item.index()).collect();
        let volatile: Vec<String> = volatile.iter().map(|name| (*name).to_owned()).collect();
        hash_rows(&Records::new(tree.clone(), items), &volatile).to_vec()
    }

    fn check(a: &str, b: &str, equal: bool) {
        let hashes = hashes(&format!("[{a},{b}]"), &["rnum"]);
        assert_eq!(hashes[0] == hashes[1], equal, "{a} {b}");
    }

    #[test]
    fn rows_are_equal_when_their_fields_are() {
        check(r#"{"a":"1","b":"2"}"#, r#"{"b":"2","a":"1"}"#, true);
        check(r#"{"rnum":1,"a":"1"}"#, r#"{"a":"1","rnum":2}"#, true);
        check(r#"{"a":60}"#, r#"{"a":"60"}"#, true);
        check(r#"{"a":60}"#, r#"{"a":60.0}"#, false);
        check(r#"{"a":" 1"}"#, r#"{"a":"1"}"#, false);
        check(r#"{"a":null}"#, r#"{"a":""}"#, false);
        check(r#"{"a":null}"#, r#"{}"#, false);
        check(r#"{"a":{"b":1}}"#, r#"{"a":"{\"b\":1}"}"#, false);
        check(r#"{"a":"1","b":"2"}"#, r#"{"a":"2","b":"1"}"#, false);
    }

    #[test]
    fn no_two_rows_run_into_one() {
        check(r#"{"a":"1","b":"2"}"#, r#"{"a":"1b2"}"#, false);
        check(r#"{"a":"xy","b":""}"#, r#"{"a":"x","b":"y"}"#, false);
        check(r#"{"ab":"c"}"#, r#"{"a":"bc"}"#, false);
        check(r#"{"a":"1","b":"2"}"#, r#"{"a":"1b\u00012"}"#, false);
    }

    #[test]
    fn a_row_has_the_same_hash_on_any_page() {
        let alone = hashes(r#"[{"b":"2","a":"1"}]"#, &[]);
        let among = hashes(r#"[{"0":"0","z":"9"},{"a":"1","b":"2"}]"#, &[]);
        assert_eq!(alone[0], among[1]);
    }
}
