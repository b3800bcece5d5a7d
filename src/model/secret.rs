use std::fmt;
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

/// Everything but the unreserved characters of RFC 3986: a query value is encoded once and strictly.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a query name or value, strictly: `+`, `/` and `=` too.
pub fn encode_query(text: &str) -> String {
    utf8_percent_encode(text, STRICT).to_string()
}

/// A provider's key in its decoded form. Never printed: `Debug` shows its length only.
#[derive(Clone)]
pub struct ServiceKey {
    decoded: SecretString,
    form: KeyForm,
}

/// Which of the two forms of one key was pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// With `%2B` and the like.
    Encoded,
    Decoded,
}

/// Why a text is no key. Holds no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the key is empty")]
    Empty,
    #[error("the key has blanks, quotes or control characters in it")]
    ForeignCharacters,
    #[error("the key has a `%` that is not followed by two hexadecimal digits")]
    BrokenPercent,
    #[error("the key is percent-encoded twice")]
    EncodedTwice,
    #[error("the key is a placeholder, not a key")]
    Placeholder,
}

impl ServiceKey {
    /// Reads a pasted key in either form; white space around it is taken off.
    pub fn from_pasted(pasted: &str) -> Result<Self, KeyError> {
        let text = pasted.trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>') || !c.is_ascii())
        {
            return Err(KeyError::ForeignCharacters);
        }
        let upper = text.to_ascii_uppercase();
        if upper.contains("YOUR_") || upper.contains("YOUR-") || upper == "CHANGEME" {
            return Err(KeyError::Placeholder);
        }
        if !text.contains('%') {
            return Ok(Self { decoded: SecretString::from(text), form: KeyForm::Decoded });
        }
        let is_broken =
            text.split('%').skip(1).any(|rest| rest.len() < 2 || !rest.bytes().take(2).all(|b| b.is_ascii_hexdigit()));
        if is_broken {
            return Err(KeyError::BrokenPercent);
        }
        let decoded = percent_decode_str(text).decode_utf8().map_err(|_| KeyError::BrokenPercent)?;
        if decoded.contains('%') {
            return Err(KeyError::EncodedTwice);
        }
        if decoded.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(KeyError::ForeignCharacters);
        }
        Ok(Self { decoded: SecretString::from(&*decoded), form: KeyForm::Encoded })
    }

    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// Characters of the decoded form.
    pub fn length(&self) -> usize {
        self.exposed().chars().count()
    }

    /// The key as it stands in a URL: encoded once. For the HTTP request alone.
    pub fn for_query(&self) -> String {
        encode_query(self.exposed())
    }

    /// Names the key in the ledger without giving it away: a digest under `salt`.
    pub fn id(&self, salt: &[u8; 32]) -> String {
        blake3::keyed_hash(salt, self.exposed().as_bytes()).to_hex()[..16].to_owned()
    }

    /// The same for a source that may need no key: then it is `none`.
    pub fn id_of(key: Option<&Self>, salt: &[u8; 32]) -> String {
        key.map_or_else(|| "none".to_owned(), |key| key.id(salt))
    }

    fn exposed(&self) -> &str {
        self.decoded.expose_secret()
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceKey({} characters)", self.length())
    }
}

/// Takes a key out of texts and bodies, in every form a server may echo it in.
///
/// Each character of it may be spelled in its own way: programs differ in which ones they encode, how often, and in which
/// case their digits are.
#[derive(Clone)]
pub struct Redactor {
    keys: Vec<SecretString>,
}

/// A shorter key would redact half of every body; such a key is the practice portal's, not a secret.
const SHORTEST_SECRET: usize = 8;

impl Redactor {
    pub const MARK: &'static str = "[key]";

    pub fn new<'a>(keys: impl IntoIterator<Item = &'a ServiceKey>) -> Self {
        let keys = keys.into_iter().map(ServiceKey::exposed).filter(|key| key.len() >= SHORTEST_SECRET);
        Self { keys: keys.map(SecretString::from).collect() }
    }

    /// The text without the key; `None` when it held none.
    pub fn redact(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut redacted: Option<Vec<u8>> = None;
        for key in &self.keys {
            let current = redacted.as_deref().unwrap_or(bytes);
            let found = found_in(current, key.expose_secret().as_bytes());
            if found.is_empty() {
                continue;
            }
            let mut without = Vec::with_capacity(current.len());
            let mut from = 0;
            for Range { start, end } in found {
                without.extend_from_slice(&current[from..start]);
                without.extend_from_slice(Self::MARK.as_bytes());
                from = end;
            }
            without.extend_from_slice(&current[from..]);
            redacted = Some(without);
        }
        redacted
    }

    pub fn redact_text(&self, text: &str) -> String {
        match self.redact(text.as_bytes()) {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => text.to_owned(),
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({})", self.keys.len())
    }
}

/// Where the key stands in a text, in order.
///
/// Its longest run of characters that nobody encodes is looked for at memory speed; from there it is compared to both
/// sides.
fn found_in(text: &[u8], key: &[u8]) -> Vec<Range<usize>> {
    let run = longest_plain_run(key);
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(text, &key[run.clone()]) {
        let before = key[..run.start].iter().rev().try_fold(at, |end, &byte| {
            let is_before = |spelling: &Vec<u8>| end >= spelling.len() && is_spelled(&text[end - spelling.len()..end], spelling);
            spellings(byte).into_iter().find(is_before).map(|spelling| end - spelling.len())
        });
        let after = key[run.end..].iter().try_fold(at + run.len(), |start, &byte| {
            let is_after =
                |spelling: &Vec<u8>| text.get(start..start + spelling.len()).is_some_and(|part| is_spelled(part, spelling));
            spellings(byte).into_iter().find(is_after).map(|spelling| start + spelling.len())
        });
        if let (Some(start), Some(end)) = (before, after)
            && found.last().is_none_or(|last| last.end <= start)
        {
            found.push(start..end);
        }
    }
    found
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn longest_plain_run(key: &[u8]) -> Range<usize> {
    let mut longest = 0..0;
    let mut start = 0;
    for run in key.split(|&byte| !is_plain(byte)) {
        if run.len() > longest.len() {
            longest = start..start + run.len();
        }
        start += run.len() + 1;
    }
    // A key of signs alone is looked for as it is.
    if longest.is_empty() { 0..key.len() } else { longest }
}

fn is_spelled(part: &[u8], spelling: &[u8]) -> bool {
    part.eq_ignore_ascii_case(spelling)
}

/// How one character of a key may be written, longest first where one is the end of another; upper or lower case is one.
fn spellings(byte: u8) -> Vec<Vec<u8>> {
    if is_plain(byte) {
        return vec![vec![byte]];
    }
    let percent = ["%25", "\\u0025", "%"].map(|sign| format!("{sign}{byte:02X}").into_bytes());
    let escaped: &[&[u8]] = match byte {
        b'/' => &[b"\\/"],
        b'&' => &[b"&amp;"],
        // As a form is read.
        b'+' => &[b" "],
        _ => &[],
    };
    percent.into_iter().chain(escaped.iter().map(|text| text.to_vec())).chain([vec![byte]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECODED: &str = "aB3+cd/EF9gh==";
    const ENCODED: &str = "aB3%2Bcd%2FEF9gh%3D%3D";

    #[test]
    fn either_form_gives_the_same_bytes_on_the_wire() {
        for pasted in [DECODED, ENCODED, " aB3+cd/EF9gh==\n", "aB3%2bcd%2fEF9gh%3d%3d"] {
            assert_eq!(ServiceKey::from_pasted(pasted).unwrap().for_query(), ENCODED, "{pasted}");
        }
    }

    #[test]
    fn a_broken_key_is_refused_without_showing_any_part() {
        let check = |pasted: &str, expected: KeyError| {
            let error = ServiceKey::from_pasted(pasted).unwrap_err();
            assert_eq!(error, expected, "{pasted}");
            assert!(!format!("{error}{error:?}").contains("aB3"));
        };
        check("", KeyError::Empty);
        check(" \n", KeyError::Empty);
        check("aB3%G0cd", KeyError::BrokenPercent);
        check("aB3cd%", KeyError::BrokenPercent);
        check("aB3cd%2", KeyError::BrokenPercent);
        check("aB3%FFcd", KeyError::BrokenPercent);
        check("aB3%252Bcd", KeyError::EncodedTwice);
        check("aB3 cd", KeyError::ForeignCharacters);
        check("aB3%20cd", KeyError::ForeignCharacters);
        check("\"aB3cd\"", KeyError::ForeignCharacters);
        check("YOUR_KEY", KeyError::Placeholder);
    }

    #[test]
    fn a_key_is_taken_out_in_every_form() {
        let redactor = Redactor::new([&ServiceKey::from_pasted(DECODED).unwrap()]);
        let check = |echo: &str| assert_eq!(redactor.redact_text(&format!("<{echo}>")), "<[key]>", "{echo}");
        check(DECODED);
        check(ENCODED);
        check("aB3%2bcd%2fEF9gh%3d%3d");
        check("aB3%252Bcd%252FEF9gh%253D%253D");
        check("aB3%252bcd%252fEF9gh%253d%253d");
        check("aB3\\u002Bcd\\u002FEF9gh\\u003D\\u003D".replace("\\u00", "\\u0025").as_str());
        check("aB3+cd\\/EF9gh==");
        check("aB3 cd/EF9gh==");
        // Python's `quote` leaves the `/`, JavaScript's `encodeURI` all but the `%`, and some mix their digits.
        check("aB3%2Bcd/EF9gh%3D%3D");
        check("aB3%2bcd%2FEF9gh%3D%3d");
        let twice = redactor.redact_text(&format!("{ENCODED}{DECODED} and aB3+cd/EF9gh="));
        assert_eq!(twice, "[key][key] and aB3+cd/EF9gh=", "a part is not the key");
        assert!(redactor.redact(b"nothing here").is_none());
    }

    #[test]
    fn debug_shows_no_part_of_a_key() {
        let key = ServiceKey::from_pasted(DECODED).unwrap();
        assert_eq!(format!("{key:?} {:?}", Redactor::new([&key])), "ServiceKey(14 characters) Redactor(1)");
    }
}
