use std::sync::Arc;

use crate::model::record::{Records, RowHash};
use crate::model::tree::NodeKind;

/// One hash a record: equal when the fields and their texts are equal, whatever the order of the fields.
///
/// Fields named in `volatile` are left out. A number and a text of the same characters are equal, because sources change
/// between the two from one day to the next; a null and an empty text differ, as do a missing field and a null. Texts
/// count as sent, blanks and all.
pub fn hash_rows(records: &Records, volatile: &[String]) -> Arc<[RowHash]> {
    let names = Names::of(records, volatile);
    let mut hashes = Vec::with_capacity(records.len());
    let mut fields = Vec::new();
    let mut row = Vec::new();
    for record in records.iter() {
        fields.clear();
        fields.extend(record.fields().filter_map(|field| Some((names.ranks[field.name_id().index()]?, field))));
        fields.sort_unstable_by_key(|(rank, _)| *rank);
        row.clear();
        for (rank, field) in &fields {
            push_text(&mut row, names.sorted[*rank]);
            row.push(kind_mark(field.kind()));
            push_text(&mut row, field.text());
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(&row).as_bytes()[..16]);
        hashes.push(RowHash(hash));
    }
    hashes.into()
}

/// The field names of a page in order, so that each row is put in order by comparing numbers.
struct Names<'a> {
    sorted: Vec<&'a str>,
    /// Place in `sorted`, by name id; `None` for a field left out.
    ranks: Vec<Option<usize>>,
}

impl<'a> Names<'a> {
    fn of(records: &'a Records, volatile: &[String]) -> Self {
        let names = records.names();
        let mut ids: Vec<usize> = (0..names.len()).filter(|id| !volatile.iter().any(|name| **name == *names[*id])).collect();
        ids.sort_unstable_by_key(|id| &names[*id]);
        let mut ranks = vec![None; names.len()];
        for (rank, id) in ids.iter().enumerate() {
            ranks[*id] = Some(rank);
        }
        Self { sorted: ids.into_iter().map(|id| &*names[id]).collect(), ranks }
    }
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
    row.extend_from_slice(&(text.len() as u64).to_le_bytes());
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
