use crate::model::tree::Span;

/// Where `part`, a slice of `body`, lies in it; a text from elsewhere is to be copied.
pub fn span<'a>(body: &str, part: &'a str) -> Span<'a> {
    let start = (part.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
    if start.checked_add(part.len()).is_some_and(|end| end <= body.len()) {
        Span::Body { start, len: part.len() }
    } else {
        Span::Owned(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_the_body_is_not_copied() {
        let body = String::from("<a>1</a>");
        assert!(matches!(span(&body, &body[3..4]), Span::Body { start: 3, len: 1 }));
        assert!(matches!(span(&body, &body[8..]), Span::Body { start: 8, len: 0 }));
        let other = String::from("1");
        assert!(matches!(span(&body, &other), Span::Owned("1")));
    }
}
