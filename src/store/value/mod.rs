//! From the text of a field to what a typed column stores. Pure, and the same for every backend.

mod calendar;
mod number;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use calendar::Pattern;
pub use calendar::ShortText;
use serde_json::value::RawValue;

use crate::definition::column::{Column, ColumnType};
use crate::model::tree::NodeKind;

/// What a column stores for one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored<'a> {
    Null,
    Text(Cow<'a, str>),
    Short(ShortText),
    Integer(i64),
    Real(f64),
    /// The column has NULL and `_unparsed` the text as sent.
    Unparsed,
}

/// How the fields of one column are read.
///
/// Blanks around a value are taken off, in texts and codes too: padding is layout, and the body keeps it. A value of
/// blanks only, or one of the null marks, is NULL. Nothing is rounded and nothing guessed: what the type does not spell
/// is [`Stored::Unparsed`].
#[derive(Clone, Debug)]
pub struct ColumnRule {
    shape: Shape,
    null_marks: Vec<Box<str>>,
}

#[derive(Clone, Debug)]
enum Shape {
    Text,
    Integer,
    Decimal,
    Date(Pattern),
    Month(Pattern),
    /// In the order they are tried.
    Time(Vec<Pattern>),
    Boolean,
    Json,
}

impl ColumnRule {
    /// The rule of `column`, in a dataset whose own null marks hold for every column.
    pub fn of(column: &Column, dataset_null_marks: &[String]) -> Self {
        let pattern = |iso: &str| Pattern::new(column.format.as_deref().unwrap_or(iso));
        let shape = match column.kind {
            ColumnType::Text | ColumnType::Code => Shape::Text,
            ColumnType::Integer => Shape::Integer,
            ColumnType::Decimal => Shape::Decimal,
            ColumnType::Date => Shape::Date(pattern("yyyy-mm-dd")),
            ColumnType::Month => Shape::Month(pattern("yyyy-mm")),
            ColumnType::Time if column.format.is_some() => Shape::Time(vec![pattern("hh:mm")]),
            ColumnType::Time => Shape::Time(vec![pattern("hh:mm"), pattern("hh:mm:ss")]),
            ColumnType::Boolean => Shape::Boolean,
            ColumnType::Json => Shape::Json,
        };
        let null_marks = column.null_marks.iter().chain(dataset_null_marks).map(|mark| mark.trim().into()).collect();
        Self { shape, null_marks }
    }

    /// Reads a field that is no object or array.
    pub fn read<'a>(&self, kind: NodeKind, text: &'a str) -> Stored<'a> {
        let value = trimmed(text);
        if kind == NodeKind::Null || value.is_empty() || self.null_marks.iter().any(|mark| **mark == *value) {
            return Stored::Null;
        }
        let short = |text: Option<ShortText>| text.map(Stored::Short);
        let read = match &self.shape {
            Shape::Json => is_json(value).then(|| Stored::Text(without_nul(value))),
            Shape::Text => Some(Stored::Text(without_nul(value))),
            Shape::Integer => number::integer(value).map(Stored::Integer),
            Shape::Decimal => number::decimal(value).map(Stored::Real),
            Shape::Date(pattern) => short(pattern.date(value)),
            Shape::Month(pattern) => short(pattern.month(value)),
            Shape::Time(patterns) => short(patterns.iter().find_map(|pattern| pattern.time(value))),
            Shape::Boolean => boolean(value).map(|is_true| Stored::Integer(is_true.into())),
        };
        read.unwrap_or(Stored::Unparsed)
    }

    /// Reads an object or array, given as JSON: only a column for JSON has a place for it.
    pub fn read_nested<'a>(&self, json: Cow<'a, str>) -> Stored<'a> {
        match self.shape {
            Shape::Json => Stored::Text(json),
            Shape::Text
            | Shape::Integer
            | Shape::Decimal
            | Shape::Date(_)
            | Shape::Month(_)
            | Shape::Time(_)
            | Shape::Boolean => Stored::Unparsed,
        }
    }
}

/// Without the blanks around it; nearly every text begins and ends with a visible character of ASCII.
fn trimmed(text: &str) -> &str {
    let bytes = text.as_bytes();
    let is_visible = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_visible(bytes.first()) && is_visible(bytes.last()) { text } else { text.trim() }
}

/// The text with every NUL as U+FFFD: one store refuses NUL in a text and another stops reading at it.
pub fn without_nul(text: &str) -> Cow<'_, str> {
    match memchr::memchr(0, text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace('\0', "\u{fffd}")),
    }
}

fn boolean(text: &str) -> Option<bool> {
    let is_one_of = |spellings: &[&str]| spellings.iter().any(|spelling| text.eq_ignore_ascii_case(spelling));
    match () {
        () if is_one_of(&["y", "true", "1", "yes", "t"]) => Some(true),
        () if is_one_of(&["n", "false", "0", "no", "f"]) => Some(false),
        () => None,
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}
