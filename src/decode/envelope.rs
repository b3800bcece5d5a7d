use crate::definition::dialect::Dialect;
use crate::definition::envelope::Envelope;
use crate::definition::path::Path;
use crate::definition::rule::{Meaning, Ruling};
use crate::definition::spelling::{Code, Phrase};
use crate::model::tree::{NodeKind, NodeRef};

use super::place::{Ambiguous, find};

/// A document in an envelope its dialect knows.
#[derive(Debug)]
pub struct Recognised<'a> {
    pub envelope: &'a Envelope,
    /// As sent; `None` when there is none.
    pub code: Option<&'a str>,
    /// The texts beside it that say something.
    pub messages: Vec<&'a str>,
}

/// What code and messages of an envelope say together.
#[derive(Debug, PartialEq, Eq)]
pub enum Said<'d> {
    Success,
    NoData,
    /// A trouble, and the name its rule knows it by.
    Trouble(&'d Ruling, Option<&'d Phrase>),
    /// Neither a code nor a name any rule has.
    Nothing,
}

/// The first envelope of the dialect that the document is in.
pub fn recognise<'a>(root: NodeRef<'a>, dialect: &'a Dialect) -> Result<Option<Recognised<'a>>, Ambiguous> {
    for envelope in dialect.envelopes() {
        if find(root, &envelope.when)?.is_none() {
            continue;
        }
        let messages = envelope.messages.iter().map(|path| text_at(root, path)).collect::<Result<Vec<_>, _>>()?;
        let messages = messages.into_iter().flatten().collect();
        return Ok(Some(Recognised { envelope, code: text_at(root, &envelope.code)?, messages }));
    }
    Ok(None)
}

impl Recognised<'_> {
    /// A name wins over the number beside it, where it names a trouble; zero rows need a code of their own, or a code that
    /// says nothing else.
    pub fn said<'d>(&self, dialect: &'d Dialect) -> Said<'d> {
        let messages: Vec<Phrase> = self.messages.iter().map(|message| Phrase::new(message)).collect();
        if let Some((ruling, token)) = dialect.trouble_in_messages(&messages) {
            return Said::Trouble(ruling, Some(token));
        }
        let code = self.code.map(Code::new);
        if let Some(rule) = code.as_ref().and_then(|code| dialect.rule_for_code(code)) {
            return match &rule.meaning {
                Meaning::NoData { .. } => Said::NoData,
                Meaning::Trouble(ruling) => Said::Trouble(ruling, rule.tokens.first()),
            };
        }
        match code {
            _ if dialect.is_no_data_in_messages(&messages) => Said::NoData,
            Some(code) if dialect.is_success(&code) => Said::Success,
            Some(_) => Said::Trouble(dialect.unknown_code(), None),
            None => Said::Nothing,
        }
    }

    /// Code and messages on one line: `code 30 SERVICE_KEY_IS_NOT_REGISTERED_ERROR`.
    pub fn line(&self, name: Option<&Phrase>) -> String {
        let code = self.code.map(|code| format!("code {code}"));
        let is_named = name.is_some_and(|name| self.messages.iter().any(|message| Phrase::new(message).contains(name)));
        let messages = if is_named { String::new() } else { self.messages.join("; ") };
        let head = [code, name.map(ToString::to_string)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        match (head.is_empty(), messages.is_empty()) {
            (true, _) => messages,
            (false, true) => head,
            (false, false) => format!("{head}: {messages}"),
        }
    }
}

fn text_at<'a>(root: NodeRef<'a>, path: &Path) -> Result<Option<&'a str>, Ambiguous> {
    Ok(find(root, path)?.and_then(|node| match node.kind() {
        NodeKind::Text | NodeKind::Number => Some(node.text().trim()).filter(|text| !text.is_empty()),
        NodeKind::Null | NodeKind::Boolean | NodeKind::Object | NodeKind::Array => None,
    }))
}
