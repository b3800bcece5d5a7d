//! From a record to the values of a row. Pure, and the same for every backend.

use std::borrow::Cow;
use std::str;

use super::dataset::Declared;
use super::value::{Stored, without_nul};
use crate::model::record::{Field, Record};
use crate::model::tree::NodeKind;

/// Reads the records of one page: which field goes where is found out once for each name, not for each row.
pub struct RowReader<'d> {
    declared: &'d Declared,
    slots: Vec<Slot<'d>>,
}

struct Slot<'d> {
    columns: &'d [usize],
    /// The name as a member of a JSON object: `"dealAmount":`
    member: Vec<u8>,
}

/// A row about to be stored. One is used for all rows of a page.
pub struct Row<'a> {
    /// In the order of the definition's columns.
    pub cells: Vec<Stored<'a>>,
    is_set: Vec<bool>,
    unparsed: JsonObject,
    extra: JsonObject,
}

impl<'d> RowReader<'d> {
    /// `names` are the field names of the page, by their ids.
    pub fn new(declared: &'d Declared, names: &[Box<str>]) -> Self {
        let slots = names.iter().map(|name| Slot { columns: declared.columns_of(name), member: member(name) }).collect();
        Self { declared, slots }
    }

    pub fn row<'a>(&self) -> Row<'a> {
        let columns = self.declared.columns().len();
        Row {
            cells: vec![Stored::Null; columns],
            is_set: vec![false; columns],
            unparsed: JsonObject::default(),
            extra: JsonObject::default(),
        }
    }

    /// Reads `record` into `row`, in place of what was there.
    ///
    /// Of two fields that belong to one column, the first that is not NULL has it; the other is kept as an extra.
    pub fn read<'a>(&self, record: Record<'a>, row: &mut Row<'a>) {
        row.clear();
        for (position, field) in record.fields().enumerate() {
            let Some(slot) = self.slots.get(field.name_id().index()) else {
                // A record that is an array has no names: the positions take their place.
                row.extra.add(&member(&position.to_string()), |json| write_value(json, field));
                continue;
            };
            let mut is_placed = false;
            for &column in slot.columns {
                if !row.is_set[column] {
                    is_placed = true;
                    let value = self.value(column, field);
                    row.is_set[column] = value != Stored::Null;
                    if value == Stored::Unparsed {
                        row.unparsed.add(&slot.member, |json| write_text(json, &verbatim(field)));
                    } else {
                        row.cells[column] = value;
                    }
                }
            }
            if !is_placed {
                row.extra.add(&slot.member, |json| write_value(json, field));
            }
        }
        row.unparsed.close();
        row.extra.close();
    }

    fn value<'a>(&self, column: usize, field: Field<'a>) -> Stored<'a> {
        let rule = &self.declared.rules()[column];
        match field.kind() {
            NodeKind::Object | NodeKind::Array => rule.read_nested(nested(field)),
            kind @ (NodeKind::Null | NodeKind::Text | NodeKind::Number | NodeKind::Boolean) => rule.read(kind, field.text()),
        }
    }
}

impl Row<'_> {
    /// Values that did not parse, as a JSON object in source order; `None` when all did.
    pub fn unparsed(&self) -> Option<&str> {
        self.unparsed.text()
    }

    /// Fields that no column is read from, as a JSON object in source order; `None` when there are none.
    pub fn extra(&self) -> Option<&str> {
        self.extra.text()
    }

    fn clear(&mut self) {
        self.cells.fill(Stored::Null);
        self.is_set.fill(false);
        self.unparsed.0.clear();
        self.extra.0.clear();
    }
}

/// A JSON object being written; without a member it has no text.
#[derive(Default)]
struct JsonObject(Vec<u8>);

impl JsonObject {
    fn add(&mut self, member: &[u8], write_value: impl FnOnce(&mut Vec<u8>)) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend_from_slice(member);
        write_value(&mut self.0);
    }

    fn close(&mut self) {
        if !self.0.is_empty() {
            self.0.push(b'}');
        }
    }

    fn text(&self) -> Option<&str> {
        (!self.0.is_empty()).then(|| str::from_utf8(&self.0).expect("it is made of texts"))
    }
}

fn member(name: &str) -> Vec<u8> {
    let mut json = Vec::with_capacity(name.len() + 3);
    write_text(&mut json, name);
    json.push(b':');
    json
}

fn write_text(json: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(json, &*without_nul(text)).expect("a text is written to memory");
}

/// The value as JSON; a number keeps the literal it was sent as.
fn write_value(json: &mut Vec<u8>, field: Field<'_>) {
    match field.kind() {
        NodeKind::Null => json.extend_from_slice(b"null"),
        NodeKind::Text => write_text(json, field.text()),
        NodeKind::Number | NodeKind::Boolean => json.extend_from_slice(field.text().as_bytes()),
        NodeKind::Object | NodeKind::Array => json.extend_from_slice(nested(field).as_bytes()),
    }
}

fn verbatim(field: Field<'_>) -> Cow<'_, str> {
    match field.kind() {
        NodeKind::Object | NodeKind::Array => nested(field),
        NodeKind::Null | NodeKind::Text | NodeKind::Number | NodeKind::Boolean => Cow::Borrowed(field.text()),
    }
}

/// An object or array as JSON: its source text where that is JSON, else written from its members.
fn nested(field: Field<'_>) -> Cow<'_, str> {
    let (open, close) = if field.kind() == NodeKind::Array { (b'[', b']') } else { (b'{', b'}') };
    let source = field.text().trim();
    if source.as_bytes().first() == Some(&open) {
        return without_nul(source);
    }
    let mut json = vec![open];
    for (position, child) in field.children().enumerate() {
        if position > 0 {
            json.push(b',');
        }
        if open == b'{' {
            json.extend_from_slice(&member(child.name()));
        }
        write_value(&mut json, child);
    }
    json.push(close);
    Cow::Owned(String::from_utf8(json).expect("it is made of texts"))
}
