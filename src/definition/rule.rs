use std::fmt;

use serde::Deserialize;

use crate::model::outcome::{Outcome, Scope, TroubleKind};

use super::spelling::{Code, Phrase};

/// One thing an answer can mean, and every way the provider has of saying it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenRule")]
pub struct Rule {
    pub codes: Vec<Code>,
    /// The names of those codes. A name found in a message wins over the number beside it.
    pub tokens: Vec<Phrase>,
    /// A whole body of plain text.
    pub texts: Vec<Phrase>,
    /// A part of a page meant for people.
    pub fragments: Vec<Phrase>,
    /// The HTTP status of a body that says none of this.
    pub statuses: Vec<StatusMatch>,
    pub meaning: Meaning,
}

/// What an answer is once a rule has named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Zero rows, said by a code.
    NoData {
        source: String,
    },
    Trouble(Ruling),
}

/// What kind of trouble an answer is and what the user can do about it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    pub outcome: TroubleKind,
    pub scope: Scope,
    /// A sentence or two for the user.
    pub hint: String,
    /// Where it is documented or was seen.
    pub source: String,
}

/// One HTTP status, `404`, or a class of them, `5xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum StatusMatch {
    Exact(u16),
    /// The hundreds: 5 for `5xx`.
    Class(u16),
}

/// Why a written rule is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a rule needs at least one of `codes`, `tokens`, `texts`, `fragments` and `statuses`, none of them blank")]
    MatchesNothing,
    #[error("outcome `page` is no rule's to give: only a success envelope makes a page")]
    MakesPage,
    #[error("outcome `empty` needs a code or token: a bare text or status proves no zero, and it has neither scope nor hint")]
    EmptyWithoutProof,
    #[error("outcome `{0}` needs `scope` and `hint`")]
    NoAdvice(Outcome),
    #[error("`{0}` is not a status: write `404` or `5xx`")]
    Status(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    #[serde(default)]
    codes: Vec<Code>,
    #[serde(default)]
    tokens: Vec<Phrase>,
    #[serde(default)]
    texts: Vec<Phrase>,
    #[serde(default)]
    fragments: Vec<Phrase>,
    #[serde(default)]
    statuses: Vec<StatusMatch>,
    outcome: Outcome,
    scope: Option<Scope>,
    hint: Option<String>,
    source: String,
}

impl StatusMatch {
    pub fn matches(self, status: u16) -> bool {
        match self {
            Self::Exact(exact) => status == exact,
            Self::Class(hundreds) => status / 100 == hundreds,
        }
    }
}

impl fmt::Display for StatusMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(status) => write!(f, "{status}"),
            Self::Class(hundreds) => write!(f, "{hundreds}xx"),
        }
    }
}

impl TryFrom<String> for StatusMatch {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        let status = match text.strip_suffix("xx") {
            Some(class) => class.parse().ok().filter(|class| (1..=5).contains(class)).map(Self::Class),
            None => text.parse().ok().filter(|status| (100..=599).contains(status)).map(Self::Exact),
        };
        status.ok_or(RuleError::Status(text))
    }
}

impl TryFrom<WrittenRule> for Rule {
    type Error = RuleError;

    fn try_from(written: WrittenRule) -> Result<Self, RuleError> {
        let WrittenRule { codes, tokens, texts, fragments, statuses, outcome, scope, hint, source } = written;
        let phrases = [&tokens, &texts, &fragments];
        let is_blank = codes.iter().any(Code::is_blank) || phrases.iter().any(|list| list.iter().any(Phrase::is_blank));
        let is_bare = codes.is_empty() && statuses.is_empty() && phrases.iter().all(|list| list.is_empty());
        if is_blank || is_bare {
            return Err(RuleError::MatchesNothing);
        }
        let meaning = match trouble_kind(outcome)? {
            Some(kind) => match (scope, hint) {
                (Some(scope), Some(hint)) => Meaning::Trouble(Ruling { outcome: kind, scope, hint, source }),
                _ => return Err(RuleError::NoAdvice(outcome)),
            },
            None => {
                let is_proof = texts.is_empty() && fragments.is_empty() && statuses.is_empty();
                if !is_proof || scope.is_some() || hint.is_some() {
                    return Err(RuleError::EmptyWithoutProof);
                }
                Meaning::NoData { source }
            }
        };
        Ok(Self { codes, tokens, texts, fragments, statuses, meaning })
    }
}

/// The trouble a rule's outcome is; `None` for the proof of zero.
fn trouble_kind(outcome: Outcome) -> Result<Option<TroubleKind>, RuleError> {
    Ok(Some(match outcome {
        Outcome::Page => return Err(RuleError::MakesPage),
        Outcome::Empty => return Ok(None),
        Outcome::Retry => TroubleKind::Retry,
        Outcome::SlowDown => TroubleKind::SlowDown,
        Outcome::Spent => TroubleKind::Spent,
        Outcome::Refused => TroubleKind::Refused,
        Outcome::Invalid => TroubleKind::Invalid,
        Outcome::TooBig => TroubleKind::TooBig,
        Outcome::Restart => TroubleKind::Restart,
        Outcome::Later => TroubleKind::Later,
        Outcome::Garbled => TroubleKind::Garbled,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_what_it_matches_and_what_to_do() {
        let check = |text: &str, complaint: &str| match toml::from_str::<Rule>(text) {
            Ok(_) => assert_eq!(complaint, "", "{text}"),
            Err(error) => assert!(!complaint.is_empty() && error.to_string().contains(complaint), "{text}\n{error}"),
        };
        let advice = "scope = 'api'\nhint = 'Wait.'\nsource = 'guide'";
        check("codes = ['03']\noutcome = 'empty'\nsource = 'guide'", "");
        check(&format!("statuses = ['429', '5xx']\noutcome = 'retry'\n{advice}"), "");
        check(&format!("outcome = 'retry'\n{advice}"), "at least one of");
        check(&format!("codes = [' ']\noutcome = 'retry'\n{advice}"), "none of them blank");
        check(&format!("codes = ['1']\noutcome = 'page'\n{advice}"), "only a success envelope");
        check("codes = ['1']\noutcome = 'retry'\nsource = 'guide'", "needs `scope` and `hint`");
        check("statuses = ['404']\noutcome = 'empty'\nsource = 'guide'", "proves no zero");
        check("codes = ['1']\noutcome = 'retry'\nscope = 'job'\nhint = 'Wait.'", "missing field `source`");
        check(&format!("statuses = ['6xx']\noutcome = 'retry'\n{advice}"), "`6xx` is not a status");
        check(&format!("statuses = ['4040']\noutcome = 'retry'\n{advice}"), "`4040` is not a status");
        check(&format!("codes = ['1']\nwords = ['x']\noutcome = 'retry'\n{advice}"), "unknown field `words`");
    }
}
