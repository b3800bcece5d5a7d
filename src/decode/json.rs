use serde::de::IgnoredAny;

use crate::model::tree::{NameId, NodeKind, Span, Tree, TreeBuilder};

/// Objects and arrays inside one another that a document may have.
const DEEPEST: usize = 64;

/// Why a text is no JSON document we take.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    #[error("the JSON ends before its value does")]
    Cut,
    #[error("the JSON is malformed")]
    Malformed(#[source] serde_json::Error),
    #[error("the JSON has a broken text at byte {offset}")]
    BrokenText {
        offset: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("the JSON names `{name}` twice in one object")]
    Duplicate { name: String },
    #[error("the JSON has more than {DEEPEST} values inside one another")]
    TooDeep,
}

/// Reads one JSON value, whole and alone.
///
/// Number literals stay as sent, whatever their length. `\u0000` becomes U+FFFD, because no store can keep it.
pub fn read(body: String) -> Result<Tree, JsonError> {
    // The parser proves the grammar in one pass without nesting; what is left is to cut the body into spans, which it
    // can't do itself: it would turn numbers into doubles and let the last of two equal names win.
    serde_json::from_str::<IgnoredAny>(&body).map_err(|error| match error.is_eof() || ends_in_number(&body) {
        true => JsonError::Cut,
        false => JsonError::Malformed(error),
    })?;
    let mut cutter = Cutter { body: &body, at: 0, tree: TreeBuilder::for_body(body.len()), seen_in: Vec::new(), objects: 0 };
    cutter.value(NameId::NONE, 0)?;
    let Cutter { tree, .. } = cutter;
    Ok(tree.finish(body))
}

/// Cuts a body that is known to be JSON into the nodes of a tree.
struct Cutter<'b> {
    body: &'b str,
    at: usize,
    tree: TreeBuilder,
    /// Number of the last object that had a member of this name: by depth, then by [`NameId`]. Two objects of one depth are
    /// never open together, so one mark a name is enough.
    seen_in: Vec<Vec<u32>>,
    objects: u32,
}

/// Where a text stands between its quotes.
struct Quoted {
    start: usize,
    end: usize,
    is_escaped: bool,
}

impl<'b> Cutter<'b> {
    fn value(&mut self, name: NameId, depth: usize) -> Result<(), JsonError> {
        let kind = match self.peek() {
            b'{' => return self.object(name, depth),
            b'[' => return self.array(name, depth),
            b'"' => return self.text(name),
            b'n' => NodeKind::Null,
            b't' | b'f' => NodeKind::Boolean,
            _ => NodeKind::Number,
        };
        let start = self.at;
        let rest = &self.body.as_bytes()[start..];
        let len = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'));
        self.at += len.unwrap_or(rest.len());
        let len = if kind == NodeKind::Null { 0 } else { self.at - start };
        self.tree.leaf(name, kind, Span::Body { start, len });
        Ok(())
    }

    fn object(&mut self, name: NameId, depth: usize) -> Result<(), JsonError> {
        let (start, depth) = (self.at, deeper(depth)?);
        let node = self.tree.open(name, NodeKind::Object, Span::Owned(""));
        self.objects += 1;
        let object = self.objects;
        while self.next_member(b'}') {
            let member = self.name()?;
            self.mark(member, object, depth)?;
            // Over the colon.
            self.peek();
            self.at += 1;
            self.value(member, depth)?;
        }
        self.tree.close_with_source(node, Span::Body { start, len: self.at - start });
        Ok(())
    }

    fn array(&mut self, name: NameId, depth: usize) -> Result<(), JsonError> {
        let (start, depth) = (self.at, deeper(depth)?);
        let node = self.tree.open(name, NodeKind::Array, Span::Owned(""));
        while self.next_member(b']') {
            self.value(NameId::NONE, depth)?;
        }
        self.tree.close_with_source(node, Span::Body { start, len: self.at - start });
        Ok(())
    }

    fn text(&mut self, name: NameId) -> Result<(), JsonError> {
        let Quoted { start, end, is_escaped } = self.quoted();
        if is_escaped {
            let text = self.unescaped(start, end)?;
            self.tree.leaf(name, NodeKind::Text, Span::Owned(&text));
        } else {
            self.tree.leaf(name, NodeKind::Text, Span::Body { start, len: end - start });
        }
        Ok(())
    }

    fn name(&mut self) -> Result<NameId, JsonError> {
        self.peek();
        let Quoted { start, end, is_escaped } = self.quoted();
        if is_escaped {
            let name = self.unescaped(start, end)?;
            Ok(self.tree.name(&name))
        } else {
            Ok(self.tree.name(&self.body[start..end]))
        }
    }

    fn mark(&mut self, name: NameId, object: u32, depth: usize) -> Result<(), JsonError> {
        if self.seen_in.len() <= depth {
            self.seen_in.resize_with(depth + 1, Vec::new);
        }
        let seen_in = &mut self.seen_in[depth];
        if seen_in.len() <= name.index() {
            seen_in.resize(name.index() + 1, 0);
        }
        if std::mem::replace(&mut seen_in[name.index()], object) == object {
            return Err(JsonError::Duplicate { name: self.tree.name_text(name).to_owned() });
        }
        Ok(())
    }

    /// Goes over the bracket or comma before the next member; over the closing bracket when there is none.
    fn next_member(&mut self, closing: u8) -> bool {
        if self.peek() != closing {
            self.at += 1;
        }
        let is_closed = self.peek() == closing;
        self.at += usize::from(is_closed);
        !is_closed
    }

    /// The byte after any blanks.
    fn peek(&mut self) -> u8 {
        let bytes = self.body.as_bytes();
        while matches!(bytes[self.at], b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        bytes[self.at]
    }

    /// Goes over the text that begins here.
    fn quoted(&mut self) -> Quoted {
        let bytes = self.body.as_bytes();
        let start = self.at + 1;
        let (mut end, mut is_escaped) = (start, false);
        loop {
            match bytes[end] {
                b'"' => break,
                b'\\' => {
                    is_escaped = true;
                    end += 2;
                }
                _ => end += 1,
            }
        }
        self.at = end + 1;
        Quoted { start, end, is_escaped }
    }

    fn unescaped(&self, start: usize, end: usize) -> Result<String, JsonError> {
        let text: String = serde_json::from_str(&self.body[start - 1..=end])
            .map_err(|source| JsonError::BrokenText { offset: start - 1, source })?;
        Ok(if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text })
    }
}

fn deeper(depth: usize) -> Result<usize, JsonError> {
    if depth < DEEPEST { Ok(depth + 1) } else { Err(JsonError::TooDeep) }
}

/// Whether a malformed body ends inside a number, which the parser calls a wrong number and not an early end.
fn ends_in_number(body: &str) -> bool {
    body.ends_with(['-', '+', '.', 'e', 'E'])
}
