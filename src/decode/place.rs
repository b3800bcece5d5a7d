use crate::definition::path::Path;
use crate::model::tree::{NodeKind, NodeRef};

/// A place that should be one but stands in a document several times, so that nobody can say which of them counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is there more than once")]
pub struct Ambiguous {
    path: String,
}

/// The one node at a path, if there is one.
pub fn find<'a>(root: NodeRef<'a>, path: &Path) -> Result<Option<NodeRef<'a>>, Ambiguous> {
    let mut nodes = find_all(root, path)?.into_iter();
    match (nodes.next(), nodes.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(Ambiguous { path: path.to_string() }),
    }
}

/// Every node at a path, in document order: a list in XML is an element repeated. What they stand in is one.
pub fn find_all<'a>(root: NodeRef<'a>, path: &Path) -> Result<Vec<NodeRef<'a>>, Ambiguous> {
    let mut parent = root;
    for name in path.parents() {
        let mut found = members(parent, name).into_iter();
        parent = match (found.next(), found.next()) {
            (Some(node), None) => node,
            (None, _) => return Ok(Vec::new()),
            (Some(_), Some(_)) => return Err(Ambiguous { path: path.to_string() }),
        };
    }
    Ok(members(parent, path.last()))
}

/// The members of that name of an object, or of the objects of a list.
fn members<'a>(parent: NodeRef<'a>, name: &str) -> Vec<NodeRef<'a>> {
    let named = |object: NodeRef<'a>| object.children().filter(move |child| child.name() == name);
    match parent.kind() {
        NodeKind::Array => parent.children().flat_map(named).collect(),
        NodeKind::Object => named(parent).collect(),
        NodeKind::Null | NodeKind::Text | NodeKind::Number | NodeKind::Boolean => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::decode::{json, xml};

    fn check(body: &str, path: &str, expected: Result<Option<&str>, ()>) {
        let tree = if body.starts_with('<') { xml::read(body.into()).unwrap() } else { json::read(body.into()).unwrap() };
        let tree = Arc::new(tree);
        let found = find(tree.root(), &path.parse().unwrap());
        assert_eq!(found.map(|node| node.map(NodeRef::text)).map_err(|_| ()), expected, "{body} {path}");
    }

    #[test]
    fn a_place_is_found_through_objects_and_lists_of_objects() {
        check(r#"{"a":{"b":1}}"#, "a.b", Ok(Some("1")));
        check(r#"{"a":{"b":1}}"#, "a.c", Ok(None));
        check(r#"{"a":1}"#, "a.b", Ok(None));
        check(r#"{"a":[{"b":1},{"c":2}]}"#, "a.c", Ok(Some("2")));
        check("<a><b>1</b></a>", "a.b", Ok(Some("1")));
    }

    #[test]
    fn a_place_that_is_there_twice_is_no_place() {
        check("<a><b>1</b><b>2</b></a>", "a.b", Err(()));
        check("<a><b><c>1</c></b><b/></a>", "a.b.c", Err(()));
        check(r#"{"a":[{"b":1},{"b":2}]}"#, "a.b", Err(()));
    }
}
