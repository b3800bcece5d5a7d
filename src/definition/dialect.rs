use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use serde::Deserialize;

use crate::model::name::Name;

use super::envelope::Envelope;
use super::rule::{Meaning, Rule, Ruling, StatusMatch};
use super::spelling::{Code, Phrase};

/// How one family of providers answers: its envelopes and what every code, text and status of it means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    pub id: Name,
    pub title: String,
    pub success: Success,
    /// The first whose place is in a document names it.
    #[serde(rename = "envelope")]
    envelopes: Vec<Envelope>,
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
    unknown_code: Ruling,
    empty_body: Ruling,
}

/// The codes of an answer that worked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Success {
    pub codes: Vec<Code>,
    /// Where it is documented or was seen.
    pub source: String,
}

/// Why a text is no [`Dialect`].
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    #[error("not a dialect file")]
    Toml(#[from] toml::de::Error),
    #[error("dialect `{dialect}` has no envelope with rows, so nothing could ever be a success")]
    NoRows { dialect: Name },
    #[error("dialect `{dialect}` has no success code, so nothing could ever be a success")]
    NoSuccess { dialect: Name },
    #[error("envelope `{envelope}` of dialect `{dialect}` names no place for its records")]
    NoRecords { dialect: Name, envelope: Name },
    #[error("dialect `{dialect}` says twice what {what} `{value}` means")]
    SaidTwice { dialect: Name, what: &'static str, value: String },
}

impl Dialect {
    /// Reads a dialect file and checks that its rules don't contradict each other.
    pub fn from_toml(text: &str) -> Result<Self, DialectError> {
        let dialect: Self = toml::from_str(text)?;
        dialect.check()?;
        Ok(dialect)
    }

    pub fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether the code is one of an answer that worked.
    pub fn is_success(&self, code: &Code) -> bool {
        self.success.codes.contains(code)
    }

    /// The trouble whose token stands in one of the messages, and that token.
    pub fn trouble_in_messages(&self, messages: &[Phrase]) -> Option<(&Ruling, &Phrase)> {
        self.rules.iter().find_map(|rule| match &rule.meaning {
            Meaning::Trouble(ruling) => {
                let token = rule.tokens.iter().find(|token| messages.iter().any(|message| message.contains(token)))?;
                Some((ruling, token))
            }
            Meaning::NoData { .. } => None,
        })
    }

    /// Whether one of the messages is a token for zero rows, word for word: unlike a trouble, zero must be proven.
    pub fn is_no_data_in_messages(&self, messages: &[Phrase]) -> bool {
        self.rules.iter().any(|rule| match &rule.meaning {
            Meaning::Trouble(_) => false,
            Meaning::NoData { .. } => rule.tokens.iter().any(|token| messages.contains(token)),
        })
    }

    pub fn rule_for_code(&self, code: &Code) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.codes.contains(code))
    }

    /// The trouble a body of plain text is that says exactly this.
    pub fn trouble_for_text(&self, body: &Phrase) -> Option<&Ruling> {
        self.trouble_where(|rule| rule.texts.contains(body))
    }

    /// The trouble a page for people is that says one of a rule's fragments.
    pub fn trouble_for_page(&self, body: &Phrase) -> Option<&Ruling> {
        self.trouble_where(|rule| rule.fragments.iter().any(|fragment| body.contains(fragment)))
    }

    /// The trouble a status is; a rule for exactly that status comes before one for its class.
    pub fn trouble_for_status(&self, status: u16) -> Option<&Ruling> {
        self.trouble_where(|rule| rule.statuses.contains(&StatusMatch::Exact(status)))
            .or_else(|| self.trouble_where(|rule| rule.statuses.iter().any(|class| class.matches(status))))
    }

    /// What a code means that no rule names.
    pub fn unknown_code(&self) -> &Ruling {
        &self.unknown_code
    }

    /// What an empty body means whose status no rule names.
    pub fn empty_body(&self) -> &Ruling {
        &self.empty_body
    }

    fn trouble_where(&self, matches: impl Fn(&Rule) -> bool) -> Option<&Ruling> {
        self.rules.iter().filter(|rule| matches(rule)).find_map(|rule| match &rule.meaning {
            Meaning::Trouble(ruling) => Some(ruling),
            Meaning::NoData { .. } => None,
        })
    }

    fn check(&self) -> Result<(), DialectError> {
        let dialect = || self.id.clone();
        if self.success.codes.iter().all(Code::is_blank) {
            return Err(DialectError::NoSuccess { dialect: dialect() });
        }
        if self.envelopes.iter().all(|envelope| envelope.rows.is_none()) {
            return Err(DialectError::NoRows { dialect: dialect() });
        }
        for envelope in &self.envelopes {
            if envelope.rows.as_ref().is_some_and(|rows| rows.records.is_empty()) {
                return Err(DialectError::NoRecords { dialect: dialect(), envelope: envelope.id.clone() });
            }
        }
        let codes = self.rules.iter().flat_map(|rule| &rule.codes);
        self.check_once("code", self.success.codes.iter().chain(codes))?;
        self.check_once("token", self.rules.iter().flat_map(|rule| &rule.tokens))?;
        self.check_once("text", self.rules.iter().flat_map(|rule| &rule.texts))?;
        self.check_once("fragment", self.rules.iter().flat_map(|rule| &rule.fragments))?;
        self.check_once("status", self.rules.iter().flat_map(|rule| &rule.statuses))?;
        self.check_once("envelope", self.envelopes.iter().map(|envelope| &envelope.id))
    }

    fn check_once<'a, T: Hash + Eq + Display + 'a>(
        &self,
        what: &'static str,
        values: impl Iterator<Item = &'a T>,
    ) -> Result<(), DialectError> {
        let mut seen = HashSet::new();
        for value in values {
            if !seen.insert(value) {
                return Err(DialectError::SaidTwice { dialect: self.id.clone(), what, value: value.to_string() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::outcome::TroubleKind;

    const SMALL: &str = "
id = 'small'
title = 'Small'
[success]
codes = ['00']
source = 'guide'
[unknown_code]
outcome = 'garbled'
scope = 'job'
hint = 'Tell us.'
source = 'guide'
[empty_body]
outcome = 'retry'
scope = 'attempt'
hint = 'Wait.'
source = 'guide'
[[envelope]]
id = 'plain'
when = 'code'
code = 'code'
messages = ['message']
rows = { records = ['items[]'], total = 'total' }
source = 'guide'
[[rule]]
codes = ['22']
tokens = ['QUOTA']
statuses = ['429']
outcome = 'spent'
scope = 'api'
hint = 'Wait until midnight.'
source = 'guide'
[[rule]]
statuses = ['4xx']
outcome = 'invalid'
scope = 'job'
hint = 'Look at the request.'
source = 'guide'
";

    #[test]
    fn a_dialect_that_contradicts_itself_is_refused() {
        let check = |from: &str, to: &str, complaint: &str| {
            let text = SMALL.replacen(from, to, 1);
            assert_ne!(text, SMALL);
            let error = Dialect::from_toml(&text).unwrap_err();
            let error = format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(error.contains(complaint), "{error}");
        };
        assert!(Dialect::from_toml(SMALL).is_ok());
        check("codes = ['00']", "codes = ['00', '022']", "says twice what code `22` means");
        check("codes = ['00']", "codes = []", "has no success code");
        check("rows = { records = ['items[]'], total = 'total' }", "", "has no envelope with rows");
        check("records = ['items[]']", "records = []", "names no place for its records");
        check("statuses = ['4xx']", "statuses = ['429']", "says twice what status `429` means");
        check("statuses = ['4xx']", "tokens = ['quota']", "says twice what token `QUOTA` means");
        check("title = 'Small'", "title = 'Small'\ncolour = 'red'", "unknown field `colour`");
        check("when = 'code'", "when = 'a..b'", "`a..b` is not a path");
    }

    #[test]
    fn the_dialect_of_data_go_kr_is_well_formed() {
        let dialect = Dialect::from_toml(include_str!("../../config/dialects/data_go_kr.toml")).unwrap();
        assert_eq!(dialect.id.as_str(), "data_go_kr");
    }

    #[test]
    fn a_status_by_itself_comes_before_its_class() {
        let dialect = Dialect::from_toml(SMALL).unwrap();
        let check = |status: u16, expected: Option<TroubleKind>| {
            assert_eq!(dialect.trouble_for_status(status).map(|ruling| ruling.outcome), expected, "{status}");
        };
        check(429, Some(TroubleKind::Spent));
        check(404, Some(TroubleKind::Invalid));
        check(500, None);
    }
}
