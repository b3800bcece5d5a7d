use crate::definition::path::{RecordsPlace, RecordsShape};
use crate::model::tree::{NodeIndex, NodeKind, NodeRef};

use super::body::Format;
use super::place::{Ambiguous, find_all};

/// Fields a record may have.
const MOST_FIELDS: usize = 1_000;

/// Longest text of a field.
const LONGEST_FIELD: usize = 16 << 20;

/// Why what stands where the records should can't be taken for records.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error(transparent)]
    Ambiguous(#[from] Ambiguous),
    #[error("what stands at `{place}` is no list of records")]
    NoList { place: String },
    #[error("record {position} of the page has no fields")]
    NoObject { position: usize },
    #[error("record {position} of the page has more than {MOST_FIELDS} fields")]
    TooManyFields { position: usize },
    #[error("field `{field}` of record {position} of the page is longer than {LONGEST_FIELD} bytes")]
    TooLong { position: usize, field: String },
    #[error("field `{field}` of record {position} of the page has elements or attributes of its own")]
    Nested { position: usize, field: String },
    #[error("record {position} of the page has the field `{field}` twice")]
    Twice { position: usize, field: String },
}

/// The records that stand at the first of `places` that is there; none when there is nothing at any.
///
/// A null, an empty text, an empty object and an empty list are nothing.
pub fn records(root: NodeRef<'_>, places: &[RecordsPlace], format: Format) -> Result<Vec<NodeIndex>, RecordsError> {
    let mut no_list = None;
    for place in places {
        let found = find_all(root, &place.path)?;
        let items: Vec<NodeRef<'_>> = match (found.as_slice(), place.shape) {
            ([], _) => continue,
            ([one], _) if is_nothing(*one) => Vec::new(),
            ([one], _) if one.kind() == NodeKind::Array => one.children().collect(),
            ([one], RecordsShape::ListOrOne) if one.kind() == NodeKind::Object => vec![*one],
            // An object where a list was looked for may wrap the list: the next place knows.
            ([_], _) => {
                no_list = Some(place);
                continue;
            }
            (several, _) => several.to_vec(),
        };
        check_records(&items, format)?;
        return Ok(items.into_iter().map(NodeRef::index).collect());
    }
    match no_list {
        Some(place) => Err(RecordsError::NoList { place: place.to_string() }),
        None => Ok(Vec::new()),
    }
}

fn is_nothing(node: NodeRef<'_>) -> bool {
    match node.kind() {
        NodeKind::Null => true,
        NodeKind::Text => node.text().trim().is_empty(),
        NodeKind::Number | NodeKind::Boolean => false,
        NodeKind::Object | NodeKind::Array => node.children().next().is_none(),
    }
}

fn check_records(items: &[NodeRef<'_>], format: Format) -> Result<(), RecordsError> {
    // Number of the last record that had a field of this name, by name.
    let mut seen_in: Vec<usize> = Vec::new();
    for (item, position) in items.iter().zip(1..) {
        if item.kind() != NodeKind::Object {
            return Err(RecordsError::NoObject { position });
        }
        for (field, count) in item.children().zip(1..) {
            let name = || field.name().to_owned();
            let index = field.name_id().index();
            if seen_in.len() <= index {
                seen_in.resize(index + 1, 0);
            }
            if std::mem::replace(&mut seen_in[index], position) == position {
                return Err(RecordsError::Twice { position, field: name() });
            }
            if count > MOST_FIELDS {
                return Err(RecordsError::TooManyFields { position });
            }
            if field.text().len() > LONGEST_FIELD {
                return Err(RecordsError::TooLong { position, field: name() });
            }
            let is_nested = matches!(field.kind(), NodeKind::Object | NodeKind::Array);
            if is_nested && format == Format::Xml {
                return Err(RecordsError::Nested { position, field: name() });
            }
        }
    }
    Ok(())
}
