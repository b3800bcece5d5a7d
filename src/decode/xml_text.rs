use crate::model::tree::Span;

/// A character that XML 1.0 has no place for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the XML has the character U+{character:04X} at byte {offset}, which no XML may have")]
pub struct IllegalCharacter {
    character: u32,
    offset: usize,
}

/// Text of one element, gathered over its texts, references and CDATA sections.
///
/// One run is a span of the body; only what is put together is copied.
#[derive(Debug, Default)]
pub struct Gathered {
    run: Run,
    copied: String,
}

#[derive(Clone, Copy, Debug, Default)]
enum Run {
    #[default]
    Nothing,
    OfBody {
        start: usize,
        len: usize,
    },
    Copied,
}

impl Gathered {
    pub fn clear(&mut self) {
        self.run = Run::Nothing;
        self.copied.clear();
    }

    /// Adds the text at `span`.
    pub fn push(&mut self, span: Span<'_>, body: &str) {
        match (self.run, span) {
            (Run::Nothing, Span::Body { start, len }) => self.run = Run::OfBody { start, len },
            (_, Span::Body { start, len }) => self.copy(body).push_str(&body[start..start + len]),
            (_, Span::Owned(text)) => self.copy(body).push_str(text),
        }
    }

    pub fn push_char(&mut self, c: char, body: &str) {
        self.copy(body).push(c);
    }

    pub fn span(&self) -> Span<'_> {
        match self.run {
            Run::Nothing => Span::Owned(""),
            Run::OfBody { start, len } => Span::Body { start, len },
            Run::Copied => Span::Owned(&self.copied),
        }
    }

    pub fn is_blank(&self, body: &str) -> bool {
        let text = match self.run {
            Run::Nothing => "",
            Run::OfBody { start, len } => &body[start..start + len],
            Run::Copied => &self.copied,
        };
        is_blank(text)
    }

    fn copy(&mut self, body: &str) -> &mut String {
        if let Run::OfBody { start, len } = self.run {
            self.copied.push_str(&body[start..start + len]);
        }
        self.run = Run::Copied;
        &mut self.copied
    }
}

/// Blank as XML means it.
pub fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// The character a reference stands for, named (`amp`) or numbered (`#38`, `#x26`). NUL becomes U+FFFD.
pub fn character(reference: &str) -> Option<char> {
    let number = match reference {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "apos" => return Some('\''),
        "quot" => return Some('"'),
        _ => reference.strip_prefix('#')?,
    };
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    match is_number.then(|| u32::from_str_radix(digits, radix).ok()).flatten()? {
        0 => Some('\u{FFFD}'),
        number => char::from_u32(number).filter(|c| is_legal(*c)),
    }
}

/// Checks that XML 1.0 allows every character of a text.
pub fn check_characters(text: &str) -> Result<(), IllegalCharacter> {
    let illegal = |character: u32, offset| Err(IllegalCharacter { character, offset });
    // All bytes are looked at before any is looked for: that is one pass the compiler makes wide.
    let has_control = text.bytes().fold(false, |has, byte| has | (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')));
    if has_control && let Some((offset, c)) = text.char_indices().find(|(_, c)| !is_legal(*c)) {
        return illegal(c.into(), offset);
    }
    // U+FFFE and U+FFFF, the other two, both begin with these bytes.
    for offset in memchr::memmem::find_iter(text.as_bytes(), b"\xEF\xBF") {
        if let Some(c) = text[offset..].chars().next().filter(|c| !is_legal(*c)) {
            return illegal(c.into(), offset);
        }
    }
    Ok(())
}

/// Whether a text can be the name of an element or attribute.
///
/// Wider than XML 1.0 beyond ASCII, where it has long lists.
pub fn is_name(text: &str) -> bool {
    let is_start = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b':') || b >= 0x80;
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_start) && bytes.all(|b| is_start(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
}

fn is_legal(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_one_of_five_names_or_a_legal_number() {
        let check = |reference: &str, expected: Option<char>| assert_eq!(character(reference), expected, "{reference}");
        check("amp", Some('&'));
        check("#38", Some('&'));
        check("#x26", Some('&'));
        check("#xD55C", Some('한'));
        check("#x1F600", Some('😀'));
        check("#0", Some('\u{FFFD}'));
        check("#x0", Some('\u{FFFD}'));
        check("nbsp", None);
        check("AMP", None);
        check("#1", None);
        check("#xD800", None);
        check("#xFFFE", None);
        check("#x110000", None);
        check("#99999999999", None);
        check("#+38", None);
        check("#X26", None);
        check("#", None);
        check("", None);
    }

    #[test]
    fn a_character_no_xml_may_have_is_found_with_its_place() {
        let check = |text: &str, expected: Option<(u32, usize)>| {
            let found = check_characters(text).err().map(|illegal| (illegal.character, illegal.offset));
            assert_eq!(found, expected, "{text:?}");
        };
        check("한글\t\r\n \u{FFFD}\u{10FFFF}", None);
        check("한\u{1b}", Some((0x1b, 3)));
        check("a\u{FFFE}", Some((0xFFFE, 1)));
        check("\u{FFFF}", Some((0xFFFF, 0)));
    }

    #[test]
    fn a_name_begins_like_one() {
        let check = |text: &str, expected: bool| assert_eq!(is_name(text), expected, "{text}");
        check("거래금액", true);
        check("ns:item-1.a_b", true);
        check("", false);
        check("1a", false);
        check("-a", false);
        check("a\"b", false);
        check("a&b", false);
    }
}
