use encoding_rs::{DecoderResult, EUC_KR, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Longest text a tree takes, after decoding.
const LONGEST: usize = 1 << 30;

/// Bytes of a document that an XML declaration is looked for in.
const DECLARATION: usize = 256;

/// Why bytes are no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CharsetError {
    #[error("the body ends inside a character")]
    Cut,
    #[error("the body is no {charset} from byte {offset} on")]
    Invalid { charset: &'static str, offset: usize },
    #[error("the body declares {charset} but is UTF-8")]
    DeclaredOtherwise { charset: &'static str },
    #[error("the body declares a charset nobody knows, `{label}`")]
    Unknown { label: String },
    #[error("the body is longer than {LONGEST} bytes")]
    TooLong,
}

/// The body as text, without a byte order mark.
///
/// Its charset is, strongest first: the byte order mark, the XML declaration, UTF-8 where the bytes are UTF-8, the
/// charset of the content type. The content type comes last because sources label UTF-8 as anything.
/// Strict: a byte that doesn't fit is an error, never a replacement character.
pub fn text(bytes: &[u8], content_type: Option<&str>) -> Result<String, CharsetError> {
    if bytes.len() > LONGEST {
        return Err(CharsetError::TooLong);
    }
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode(&bytes[mark..], encoding, mark);
    }
    if let Some(label) = declared(bytes) {
        let encoding = encoding_of(&label).ok_or(CharsetError::Unknown { label })?;
        // A declaration that could be read as single bytes is in no UTF-16, whatever it says.
        let encoding = if [UTF_16LE, UTF_16BE].contains(&encoding) { UTF_8 } else { encoding };
        if encoding != UTF_8 && is_surely_utf_8(bytes) {
            return Err(CharsetError::DeclaredOtherwise { charset: encoding.name() });
        }
        return decode(bytes, encoding, 0);
    }
    let labelled = content_type.and_then(charset_of).and_then(encoding_of);
    match (decode(bytes, UTF_8, 0), labelled) {
        (Err(CharsetError::Invalid { .. }), Some(encoding)) if encoding != UTF_8 => decode(bytes, encoding, 0),
        (decoded, _) => decoded,
    }
}

fn decode(bytes: &[u8], encoding: &'static Encoding, skipped: usize) -> Result<String, CharsetError> {
    let invalid = |at: usize| CharsetError::Invalid { charset: encoding.name(), offset: skipped + at };
    if encoding == UTF_8 {
        return match simdutf8::compat::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) if error.error_len().is_none() => Err(CharsetError::Cut),
            Err(error) => Err(invalid(error.valid_up_to())),
        };
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).ok_or(CharsetError::TooLong)?;
    let mut text = String::with_capacity(room);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, false) {
        (DecoderResult::InputEmpty, _) => {}
        (DecoderResult::Malformed(length, after), read) => {
            return Err(invalid(read.saturating_sub(usize::from(length) + usize::from(after))));
        }
        (DecoderResult::OutputFull, _) => unreachable!("the room asked for holds any text of this length"),
    }
    // Only the end of the input can show that its last character isn't whole.
    match decoder.decode_to_string_without_replacement(&[], &mut text, true).0 {
        DecoderResult::InputEmpty if text.len() <= LONGEST => Ok(text),
        DecoderResult::InputEmpty => Err(CharsetError::TooLong),
        DecoderResult::Malformed(..) => Err(CharsetError::Cut),
        DecoderResult::OutputFull => unreachable!("the room asked for holds any text of this length"),
    }
}

/// Whether bytes are UTF-8 and could hardly be anything else.
///
/// Two bytes that are one character of UTF-8 may be one of EUC-KR as well; three in a row that fit happen in UTF-8 alone.
fn is_surely_utf_8(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte >= 0xE0) && std::str::from_utf8(bytes).is_ok()
}

/// The encoding of an XML declaration, if the document has one.
fn declared(bytes: &[u8]) -> Option<String> {
    let start = bytes.trim_ascii_start();
    let start = &start[..start.len().min(DECLARATION)];
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memmem::find(declaration, b"?>")?];
    let value = &declaration[memchr::memmem::find(declaration, b"encoding")? + "encoding".len()..];
    let value = value.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let label = &value[1..][..memchr::memchr(quote, &value[1..])?];
    Some(String::from_utf8_lossy(label).into_owned())
}

/// The encoding a label stands for: those of the web, and the names Korean systems give to theirs besides.
fn encoding_of(label: &str) -> Option<&'static Encoding> {
    let label = label.trim();
    let is_korean = ["cp949", "ms949", "uhc", "x-windows-949"].iter().any(|name| label.eq_ignore_ascii_case(name));
    if is_korean { Some(EUC_KR) } else { Encoding::for_label(label.as_bytes()) }
}

fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAN: &[u8] = b"\xc7\xd1\xb1\xdb"; // 한글 in EUC-KR

    fn xml(label: &str, value: &[u8]) -> Vec<u8> {
        [format!("<?xml version='1.0' encoding=\"{label}\"?><a>").as_bytes(), value, b"</a>"].concat()
    }

    fn check(bytes: &[u8], content_type: Option<&str>, expected: Result<&str, CharsetError>) {
        let text = text(bytes, content_type);
        match expected {
            Ok(part) => assert!(text.as_ref().is_ok_and(|text| text.contains(part)), "{text:?} has no {part}"),
            Err(error) => assert_eq!(text, Err(error)),
        }
    }

    #[test]
    fn the_strongest_sign_of_a_charset_decides() {
        check("한글".as_bytes(), None, Ok("한글"));
        check("한글".as_bytes(), Some("text/html; charset=ISO-8859-1"), Ok("한글"));
        check(HAN, Some("text/xml; charset=\"EUC-KR\""), Ok("한글"));
        check(&xml("EUC-KR", HAN), None, Ok("한글"));
        check(&xml("CP949", b"\x8c\x63"), None, Ok("똠"));
        check(&xml("ks_c_5601-1987", b"\x8c\x63"), None, Ok("똠"));
        check(&xml("EUC-KR", HAN), Some("text/xml; charset=utf-8"), Ok("한글"));
        check(&xml("utf-8", "한글".as_bytes()), Some("text/xml; charset=euc-kr"), Ok("한글"));
        check(b"\xef\xbb\xbf{}", None, Ok("{}"));
        check(&[&b"\xef\xbb\xbf"[..], &xml("EUC-KR", "한글".as_bytes())].concat(), None, Ok("한글"));
        check(b"\xff\xfe{\0}\0", None, Ok("{}"));
        check(b"\xfe\xff\0{\xd5\x5c\0}", None, Ok("{한}"));
        check(&xml("UTF-16", "한글".as_bytes()), None, Ok("한글"));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(text(b"\xef\xbb\xbf{}", None).unwrap(), "{}");
    }

    #[test]
    fn bytes_that_do_not_fit_are_an_error_and_never_replaced() {
        let invalid = |charset, offset| Err(CharsetError::Invalid { charset, offset });
        check(b"{\"a\":\"\xff\"}", None, invalid("UTF-8", 6));
        check(b"{\"a\":\"\xed\xa0\x80\"}", None, invalid("UTF-8", 6));
        check(&xml("utf-8", HAN), None, invalid("UTF-8", 41));
        check(&xml("euc-kr", b"\xc7\xd1\xff\xb1"), None, invalid("EUC-KR", 44));
        check(b"\xff\xfe\x00\xd8A\0", None, invalid("UTF-16LE", 2));
        check(&xml("EUC-KR", "한글".as_bytes()), None, Err(CharsetError::DeclaredOtherwise { charset: "EUC-KR" }));
        check(&xml("klingon", b"x"), None, Err(CharsetError::Unknown { label: "klingon".into() }));
    }

    #[test]
    fn two_bytes_that_are_utf_8_by_chance_are_read_as_declared() {
        check(&xml("EUC-KR", b"\xc8\xa3"), None, Ok("호"));
    }

    #[test]
    fn a_body_that_ends_inside_a_character_is_cut() {
        check(&"한".as_bytes()[..2], None, Err(CharsetError::Cut));
        check(b"\xff\xfe{\0}", None, Err(CharsetError::Cut));
        let whole = xml("EUC-KR", HAN);
        check(&whole[..whole.len() - 5], None, Err(CharsetError::Cut));
    }
}
