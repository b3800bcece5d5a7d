use std::sync::Arc;

use crate::model::tree::Tree;

use super::answer::RawAnswer;
use super::charset::{self, CharsetError};
use super::json::{self, JsonError};
use super::xml::{self, XmlError};

/// What a body really is, by its first byte that isn't blank. The content type is not asked: it is wrong too often.
#[derive(Debug)]
pub enum Body {
    /// Nothing, or nothing but blanks.
    Blank,
    Document(Document),
    /// A page for people.
    Page(String),
    Text(String),
}

/// A body that is a tree.
#[derive(Debug)]
pub struct Document {
    pub tree: Arc<Tree>,
    pub format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Xml,
    Json,
}

/// Why a body can't be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error(transparent)]
    Charset(#[from] CharsetError),
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error(transparent)]
    Json(#[from] JsonError),
}

impl BodyError {
    /// Whether the body would have been well formed, had it not ended too early.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Charset(CharsetError::Cut) | Self::Xml(XmlError::Cut) | Self::Json(JsonError::Cut))
    }
}

impl Body {
    pub fn read(answer: &RawAnswer) -> Result<Self, BodyError> {
        let text = charset::text(&answer.body, answer.content_type.as_deref())?;
        let start = text.trim_start();
        Ok(match start.bytes().next() {
            None => Self::Blank,
            Some(b'<') if is_page(start) => Self::Page(text),
            Some(b'<') => {
                // What stands before an XML declaration may be blank here, though XML has no place for it.
                let text = if start.len() == text.len() { text } else { start.to_owned() };
                Self::Document(Document { tree: Arc::new(xml::read(text)?), format: Format::Xml })
            }
            Some(b'{' | b'[') => Self::Document(Document { tree: Arc::new(json::read(text)?), format: Format::Json }),
            Some(_) => Self::Text(text),
        })
    }
}

/// Whether what looks like XML is a page of HTML. Pages are seldom well formed, so they are known by how they begin.
fn is_page(start: &str) -> bool {
    ["<!doctype html", "<html", "<head", "<body", "<script", "<center", "<h1"].iter().any(|tag| {
        start.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag))
            && !start[tag.len()..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_it_begins_like_whatever_its_content_type() {
        let check = |body: &str, expected: &str| {
            let answer = RawAnswer {
                status: 200,
                content_type: Some("image/png".into()),
                retry_after: None,
                body: body.to_owned().into(),
            };
            let kind = match Body::read(&answer) {
                Ok(Body::Blank) => "blank",
                Ok(Body::Document(Document { format: Format::Xml, .. })) => "xml",
                Ok(Body::Document(Document { format: Format::Json, .. })) => "json",
                Ok(Body::Page(_)) => "page",
                Ok(Body::Text(_)) => "text",
                Err(error) if error.is_cut() => "cut",
                Err(_) => "unreadable",
            };
            assert_eq!(kind, expected, "{body}");
        };
        check("", "blank");
        check("\u{feff}\n \t", "blank");
        check("\u{feff}\n <a/>", "xml");
        check("\n<?xml version='1.0'?><a/>", "xml");
        check("  {}", "json");
        check("[]", "json");
        check("<!DOCTYPE html><html>", "page");
        check("<HTML lang=ko>", "page");
        check("<script>alert('x')</script>", "page");
        check("<headers/>", "xml");
        check("<body-list/>", "xml");
        check("Unauthorized", "text");
        check("\"Unauthorized\"", "text");
        check("NaN", "text");
        check("<a>", "cut");
        check("{", "cut");
        check("<a></b>", "unreadable");
        check("{a:1}", "unreadable");
    }
}
