use crate::model::tree::{NodeKind, NodeRef};

/// More rows than any source can have; a larger number is a defect, and would only break the sums made with it.
const MOST: u64 = 1_000_000_000_000;

/// Why what stands where the total should is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the total `{text}` is no count of rows from 0 to {MOST}")]
pub struct TotalError {
    text: String,
}

/// The count that stands at a node: a number or a text of digits, commas and blanks left out.
///
/// `None` when nothing stands there: null, an empty text, an empty element.
pub fn total(node: NodeRef<'_>) -> Result<Option<u64>, TotalError> {
    let text = node.text();
    let digits: String = match node.kind() {
        NodeKind::Null => return Ok(None),
        NodeKind::Number => text.to_owned(),
        NodeKind::Text => text.chars().filter(|c| *c != ',' && !c.is_whitespace()).collect(),
        NodeKind::Boolean | NodeKind::Object | NodeKind::Array => return Err(TotalError { text: text.to_owned() }),
    };
    if digits.is_empty() && text.trim().is_empty() {
        return Ok(None);
    }
    let is_count = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let count = is_count.then(|| digits.parse().ok()).flatten().filter(|count| *count <= MOST);
    count.map(Some).ok_or_else(|| TotalError { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::decode::json;

    #[test]
    fn a_total_is_a_whole_number_however_it_is_dressed() {
        let check = |literal: &str, expected: Result<Option<u64>, ()>| {
            let tree = Arc::new(json::read(literal.to_owned()).unwrap());
            assert_eq!(total(tree.root()).map_err(|_| ()), expected, "{literal}");
        };
        check("37", Ok(Some(37)));
        check("0", Ok(Some(0)));
        check(r#""37""#, Ok(Some(37)));
        check(r#"" 1,234 ""#, Ok(Some(1234)));
        check(r#""0012""#, Ok(Some(12)));
        check("1000000000000", Ok(Some(1_000_000_000_000)));
        check("null", Ok(None));
        check(r#""""#, Ok(None));
        check(r#"" ""#, Ok(None));
        check("1000000000001", Err(()));
        check("99999999999999999999999999", Err(()));
        check("-1", Err(()));
        check("1.5", Err(()));
        check("1e3", Err(()));
        check(r#""NaN""#, Err(()));
        check(r#"",""#, Err(()));
        check(r#""+5""#, Err(()));
        check(r#""12건""#, Err(()));
        check("true", Err(()));
        check("[]", Err(()));
        check(r#"{"$":"1"}"#, Err(()));
    }
}
