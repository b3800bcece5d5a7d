use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The id of a dialect, provider, dataset, axis or column.
///
/// Shape: `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most [`Name::MAX_LEN`] bytes, because names become table, column,
/// variable and file names. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Why a text is no [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a name: names are lower-case words of letters and digits joined by `_`, at most {max} characters", max = Name::MAX_LEN)]
pub struct NameError {
    text: String,
}

impl Name {
    pub const MAX_LEN: usize = 40;

    /// A name written in the source of this program. Panics when it is not one.
    pub fn literal(text: &'static str) -> Self {
        text.parse().expect("names in the source are well formed")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let starts_with_letter = text.starts_with(|c: char| c.is_ascii_lowercase());
        if text.len() <= Self::MAX_LEN && starts_with_letter && text.split('_').all(is_word) {
            Ok(Self(text.into()))
        } else {
            Err(NameError { text: text.to_owned() })
        }
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lower_case_words_joined_by_single_underscores() {
        let check = |text: &str, is_name: bool| assert_eq!(text.parse::<Name>().is_ok(), is_name, "{text}");
        check("apt_trade", true);
        check("a1_2b", true);
        check(&"a".repeat(40), true);
        check(&"a".repeat(41), false);
        check("", false);
        check("1a", false);
        check("_a", false);
        check("a__b", false);
        check("a_", false);
        check("Apt", false);
        check("apt-trade", false);
        check("시세", false);
    }
}
