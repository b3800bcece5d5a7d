use quick_xml::XmlVersion;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::model::tree::{NameId, NodeKind, OpenNode, Span, Tree, TreeBuilder};

use super::span::span;
use super::xml_text::{Gathered, IllegalCharacter, character, check_characters, is_blank, is_name};

/// Elements inside one another that a document may have.
const DEEPEST: usize = 64;

/// Attributes an element may have.
const MOST_ATTRIBUTES: usize = 1_000;

/// Why a text is no XML document we take.
#[derive(Debug, thiserror::Error)]
pub enum XmlError {
    #[error("the XML ends before its root element does")]
    Cut,
    #[error("the XML is malformed at byte {offset}")]
    Malformed {
        offset: usize,
        #[source]
        source: Error,
    },
    #[error(transparent)]
    IllegalCharacter(#[from] IllegalCharacter),
    #[error("the XML has a document type, which is refused")]
    Doctype,
    #[error("the XML has `&{name};`, which stands for nothing")]
    UnknownEntity { name: String },
    #[error("the XML has more than {DEEPEST} elements inside one another")]
    TooDeep,
    #[error("the XML has something beside its root element at byte {offset}")]
    BesideRoot { offset: usize },
    #[error("the XML has text between the elements of `{element}`")]
    Mixed { element: String },
    #[error("the XML calls something `{name}`, which is no name")]
    BadName { name: String },
    #[error("the XML has an attribute of `{element}` that is malformed")]
    Attribute {
        element: String,
        #[source]
        source: Error,
    },
    #[error("the XML has `<` in an attribute of `{element}`")]
    LessThanInAttribute { element: String },
    #[error("the XML has an element `{element}` with more than {MOST_ATTRIBUTES} attributes")]
    TooManyAttributes { element: String },
}

/// Reads one XML document, whole and alone.
///
/// The tokeniser validates next to nothing, so the checks are here: one root, closed, with nothing but blanks beside it;
/// no document type, so that no entity can be declared; names, characters and attributes as XML 1.0 has them.
/// `<a/>` is null and `<a></a>` an empty text; an attribute is a child named `@name`, and the text beside it `#text`;
/// declarations of name spaces are left out. NUL becomes U+FFFD, because no store can keep it.
pub fn read(body: String) -> Result<Tree, XmlError> {
    let body = if body.contains('\0') { body.replace('\0', "\u{FFFD}") } else { body };
    check_characters(&body)?;
    let mut document = Document::new(&body);
    document.read()?;
    let Document { tree, .. } = document;
    Ok(tree.finish(body))
}

struct Document<'b> {
    body: &'b str,
    tree: TreeBuilder,
    /// The elements not closed yet, innermost last.
    open: Vec<Element>,
    /// Text of the innermost element since its last child.
    text: Gathered,
    has_root: bool,
}

struct Element {
    node: OpenNode,
    name: NameId,
    holds: Holds,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Text,
    /// Attributes, and at most text.
    Attributes,
    Elements,
}

impl<'b> Document<'b> {
    fn new(body: &'b str) -> Self {
        Self { body, tree: TreeBuilder::for_body(body.len()), open: Vec::new(), text: Gathered::default(), has_root: false }
    }

    fn read(&mut self) -> Result<(), XmlError> {
        let mut reader = Reader::from_str(self.body);
        reader.config_mut().check_comments = true;
        let document = self.tree.open(NameId::NONE, NodeKind::Object, Span::Owned(""));
        loop {
            let offset = reader.buffer_position() as usize;
            let event = reader.read_event().map_err(|error| malformed(self.body, reader.error_position() as usize, error))?;
            let beside_root = || XmlError::BesideRoot { offset };
            match event {
                Event::Start(start) => self.start(&start, offset)?,
                Event::End(_) => self.end()?,
                Event::Empty(start) => self.empty(&start, offset)?,
                Event::Text(text) if self.open.is_empty() => {
                    if !is_blank(&text) {
                        return Err(beside_root());
                    }
                }
                Event::Text(text) => {
                    let text = text.xml10_content();
                    self.text.push(span(self.body, &text), self.body);
                }
                Event::CData(_) | Event::GeneralRef(_) if self.open.is_empty() => return Err(beside_root()),
                Event::CData(text) => {
                    let text = text.xml10_content();
                    self.text.push(span(self.body, &text), self.body);
                }
                Event::GeneralRef(name) => {
                    let c = character(&name).ok_or_else(|| XmlError::UnknownEntity { name: (*name).to_owned() })?;
                    self.text.push_char(c, self.body);
                }
                Event::Decl(_) if offset > 0 => return Err(beside_root()),
                Event::DocType(_) => return Err(XmlError::Doctype),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::Eof if !self.has_root || !self.open.is_empty() => return Err(XmlError::Cut),
                Event::Eof => break,
            }
        }
        self.tree.close(document);
        Ok(())
    }

    fn start(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<(), XmlError> {
        let name = self.begin(start, offset)?;
        let node = self.tree.open(name, NodeKind::Object, Span::Owned(""));
        let holds = self.attributes(start)?;
        self.open.push(Element { node, name, holds });
        Ok(())
    }

    fn empty(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<(), XmlError> {
        let name = self.begin(start, offset)?;
        let node = self.tree.open(name, NodeKind::Object, Span::Owned(""));
        match self.attributes(start)? {
            Holds::Text => self.tree.close_as_leaf(node, NodeKind::Null, Span::Owned("")),
            Holds::Attributes | Holds::Elements => self.tree.close(node),
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), XmlError> {
        // The tokeniser has compared the names of both tags.
        let element = self.open.pop().ok_or(XmlError::Cut)?;
        match element.holds {
            Holds::Text => self.tree.close_as_leaf(element.node, NodeKind::Text, self.text.span()),
            Holds::Attributes => {
                let name = self.tree.name("#text");
                self.tree.leaf(name, NodeKind::Text, self.text.span());
                self.tree.close(element.node);
            }
            Holds::Elements => {
                self.check_no_text(element.name)?;
                self.tree.close(element.node);
            }
        }
        self.text.clear();
        Ok(())
    }

    /// What any new element does to the one it stands in.
    fn begin(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<NameId, XmlError> {
        match self.open.last_mut() {
            Some(parent) => {
                parent.holds = Holds::Elements;
                let parent = parent.name;
                self.check_no_text(parent)?;
                self.text.clear();
            }
            None if self.has_root => return Err(XmlError::BesideRoot { offset }),
            None => self.has_root = true,
        }
        if self.open.len() == DEEPEST {
            return Err(XmlError::TooDeep);
        }
        self.name(start.name().as_ref())
    }

    fn attributes(&mut self, start: &BytesStart<'_>) -> Result<Holds, XmlError> {
        let mut holds = Holds::Text;
        let element = || start.name().as_ref().to_owned();
        for (position, attribute) in start.attributes().enumerate() {
            if position == MOST_ATTRIBUTES {
                return Err(XmlError::TooManyAttributes { element: element() });
            }
            let broken = |source| XmlError::Attribute { element: element(), source };
            let attribute = attribute.map_err(|error| broken(error.into()))?;
            if attribute.value.contains('<') {
                return Err(XmlError::LessThanInAttribute { element: element() });
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(broken)?;
            let name = attribute.key.as_ref();
            if name == "xmlns" || name.starts_with("xmlns:") {
                continue;
            }
            self.name(name)?;
            let name = self.tree.name(&format!("@{name}"));
            self.tree.leaf(name, NodeKind::Text, span(self.body, &value));
            holds = Holds::Attributes;
        }
        Ok(holds)
    }

    fn name(&mut self, name: &str) -> Result<NameId, XmlError> {
        if is_name(name) { Ok(self.tree.name(name)) } else { Err(XmlError::BadName { name: name.to_owned() }) }
    }

    fn check_no_text(&self, element: NameId) -> Result<(), XmlError> {
        let is_mixed = !self.text.is_blank(self.body);
        if is_mixed { Err(XmlError::Mixed { element: self.tree.name_text(element).to_owned() }) } else { Ok(()) }
    }
}

/// A complaint of the tokeniser: the body was cut when what it could not finish reaches to the end of the body.
fn malformed(body: &str, offset: usize, error: Error) -> XmlError {
    let rest = &body.as_bytes()[offset.min(body.len())..];
    let is_cut = match &error {
        Error::Syntax(SyntaxError::InvalidBangMarkup) => {
            [&b"<!--"[..], b"<![CDATA[", b"<!DOCTYPE"].iter().any(|start| start.starts_with(rest))
        }
        Error::Syntax(_) => true,
        Error::IllFormed(IllFormedError::UnclosedReference) => memchr::memchr2(b'<', b';', rest).is_none(),
        _ => false,
    };
    if is_cut { XmlError::Cut } else { XmlError::Malformed { offset, source: error } }
}
