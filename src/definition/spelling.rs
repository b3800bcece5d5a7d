use std::fmt;

use serde::Deserialize;

/// A provider's code in the form codes are compared in: without blanks around it, zeros on the left or case.
///
/// `30`, `030` and ` 30 ` are one code; so are `0`, `00` and `000`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub struct Code(Box<str>);

/// Words in the form they are compared in: upper case, joined by `_`, without anything that is neither letter nor digit.
///
/// `SERVICE ACCESS DENIED ERROR.` and `service_access_denied_error` are one phrase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub struct Phrase(Box<str>);

impl Code {
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Self(text.to_uppercase().into());
        }
        let digits = text.trim_start_matches('0');
        Self(if digits.is_empty() { "0" } else { digits }.into())
    }

    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }
}

impl Phrase {
    pub fn new(text: &str) -> Self {
        let words: Vec<String> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_uppercase).collect();
        Self(words.join("_").into())
    }

    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `part` stands in it as whole words.
    pub fn contains(&self, part: &Self) -> bool {
        !part.is_blank()
            && self.0.match_indices(&*part.0).any(|(at, found)| {
                let (before, after) = (&self.0[..at], &self.0[at + found.len()..]);
                (before.is_empty() || before.ends_with('_')) && (after.is_empty() || after.starts_with('_'))
            })
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_equal_whatever_zeros_blanks_and_case() {
        let check = |a: &str, b: &str, equal: bool| assert_eq!(Code::new(a) == Code::new(b), equal, "{a} {b}");
        check("30", "030", true);
        check("30", " 30\n", true);
        check("0", "000", true);
        check("info-200", "INFO-200", true);
        check("INFO-000", "INFO-0", false);
        check("30", "300", false);
        check("", "0", false);
    }

    #[test]
    fn phrases_are_found_as_whole_words_whatever_joins_them() {
        let check = |text: &str, part: &str, found: bool| {
            assert_eq!(Phrase::new(text).contains(&Phrase::new(part)), found, "{text} / {part}");
        };
        check("SERVICE ACCESS DENIED ERROR.", "SERVICE_ACCESS_DENIED", true);
        check("Error: service access denied", "SERVICE_ACCESS_DENIED", true);
        check("SERVICE_ACCESS_DENIEDX", "SERVICE_ACCESS_DENIED", false);
        check("XDB_ERROR DB_ERROR", "DB_ERROR", true);
        check("LIMITED_NUMBER_OF_SERVICE_REQUESTS_PER_SECOND_EXCEEDS_ERROR", "LIMITED_NUMBER_OF_SERVICE_REQUESTS", true);
        check("anything", "", false);
    }
}
