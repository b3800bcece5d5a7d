use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::tree::{NameId, NodeKind, Tree, TreeBuilder};

use super::span::span;

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
    let root: &RawValue = serde_json::from_str(&body).map_err(|error| match error.is_eof() || ends_in_number(&body) {
        true => JsonError::Cut,
        false => JsonError::Malformed(error),
    })?;
    let mut reader = Reader { body: &body, tree: TreeBuilder::new(), pending: Vec::new(), seen_in: Vec::new(), objects: 0 };
    reader.value(NameId::NONE, root.get(), 0)?;
    let Reader { tree, .. } = reader;
    Ok(tree.finish(body))
}

struct Reader<'b> {
    body: &'b str,
    tree: TreeBuilder,
    /// Members of the values being read, innermost last.
    pending: Vec<(NameId, &'b str)>,
    /// Number of the last object that had a member of this name, by [`NameId`].
    seen_in: Vec<u32>,
    objects: u32,
}

impl<'b> Reader<'b> {
    /// Writes the value of source text `source`, which is known to be well formed but for the escapes of its texts.
    fn value(&mut self, name: NameId, source: &'b str, depth: usize) -> Result<(), JsonError> {
        let kind = match source.as_bytes().first() {
            Some(b'{') => return self.parent(name, NodeKind::Object, source, depth),
            Some(b'[') => return self.parent(name, NodeKind::Array, source, depth),
            Some(b'"') => return self.text(name, source),
            Some(b'n') => NodeKind::Null,
            Some(b't' | b'f') => NodeKind::Boolean,
            _ => NodeKind::Number,
        };
        let text = if kind == NodeKind::Null { "" } else { source };
        self.tree.leaf(name, kind, span(self.body, text));
        Ok(())
    }

    fn parent(&mut self, name: NameId, kind: NodeKind, source: &'b str, depth: usize) -> Result<(), JsonError> {
        if depth == DEEPEST {
            return Err(JsonError::TooDeep);
        }
        let first = self.pending.len();
        let members = Members { tree: &mut self.tree, into: &mut self.pending };
        // The members are gathered before any is descended into, so that a name seen twice is found by one mark a name.
        serde_json::Deserializer::from_str(source).deserialize_any(members).map_err(|error| self.broken(source, error))?;
        if kind == NodeKind::Object {
            self.check_names(first)?;
        }
        let node = self.tree.open(name, kind, span(self.body, source));
        for position in first..self.pending.len() {
            let (name, source) = self.pending[position];
            self.value(name, source, depth + 1)?;
        }
        self.pending.truncate(first);
        self.tree.close(node);
        Ok(())
    }

    fn text(&mut self, name: NameId, source: &'b str) -> Result<(), JsonError> {
        let between = &source[1..source.len() - 1];
        if memchr::memchr(b'\\', between.as_bytes()).is_none() {
            self.tree.leaf(name, NodeKind::Text, span(self.body, between));
            return Ok(());
        }
        let text: String = serde_json::from_str(source).map_err(|error| self.broken(source, error))?;
        self.tree.leaf(name, NodeKind::Text, span(self.body, &without_nul(text)));
        Ok(())
    }

    fn check_names(&mut self, first: usize) -> Result<(), JsonError> {
        self.objects += 1;
        for (name, _) in &self.pending[first..] {
            if self.seen_in.len() <= name.index() {
                self.seen_in.resize(name.index() + 1, 0);
            }
            let seen_in = &mut self.seen_in[name.index()];
            if *seen_in == self.objects {
                return Err(JsonError::Duplicate { name: self.tree.name_text(*name).to_owned() });
            }
            *seen_in = self.objects;
        }
        Ok(())
    }

    fn broken(&self, source: &str, error: serde_json::Error) -> JsonError {
        let offset = source.as_ptr() as usize - self.body.as_ptr() as usize;
        JsonError::BrokenText { offset, source: error }
    }
}

/// Gathers the members of one object or array, each with its source text.
struct Members<'r, 'b> {
    tree: &'r mut TreeBuilder,
    into: &'r mut Vec<(NameId, &'b str)>,
}

impl<'b> Visitor<'b> for Members<'_, 'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(MemberName(self.tree))? {
            let value: &'b RawValue = map.next_value()?;
            self.into.push((name, value.get()));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element::<&'b RawValue>()? {
            self.into.push((NameId::NONE, value.get()));
        }
        Ok(())
    }
}

struct MemberName<'r>(&'r mut TreeBuilder);

impl<'b> DeserializeSeed<'b> for MemberName<'_> {
    type Value = NameId;

    fn deserialize<D: Deserializer<'b>>(self, deserializer: D) -> Result<NameId, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberName<'_> {
    type Value = NameId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<NameId, E> {
        Ok(match memchr::memchr(0, name.as_bytes()) {
            None => self.0.name(name),
            Some(_) => self.0.name(&without_nul(name.to_owned())),
        })
    }
}

/// Whether a malformed body ends inside a number, which the parser calls a wrong number and not an early end.
fn ends_in_number(body: &str) -> bool {
    body.ends_with(['-', '+', '.', 'e', 'E'])
}

fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text }
}
