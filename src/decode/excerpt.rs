use std::error::Error;
use std::fmt::Write;

/// Characters of the server's own that a message may quote.
const LIMIT: usize = 300;

/// The beginning of a server's text on one line, safe to print.
///
/// White space is one blank, every other control character and every mark that turns the direction of writing is shown
/// as its number, so that a text can neither forge a line of a log nor steer a terminal.
pub fn excerpt(text: &str) -> String {
    let mut shown = String::new();
    let mut length = 0;
    let mut was_blank = true;
    for c in text.chars() {
        if c.is_whitespace() {
            if was_blank {
                continue;
            }
            was_blank = true;
        } else {
            was_blank = false;
        }
        let before = shown.len();
        match c {
            c if c.is_whitespace() => shown.push(' '),
            c if c.is_control() => write!(shown, "\\x{:02X}", u32::from(c)).expect("a string takes any text"),
            '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' => {
                write!(shown, "\\u{{{:X}}}", u32::from(c)).expect("a string takes any text");
            }
            c => shown.push(c),
        }
        length += shown[before..].chars().count();
        if length > LIMIT {
            shown.truncate(before);
            shown.push('…');
            return shown;
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// The beginning of a body that may not even be text: bytes that are no UTF-8 are shown as their numbers.
pub fn excerpt_of_bytes(bytes: &[u8]) -> String {
    // Four bytes are the longest a character can be; blanks that fold away are not worth looking further for.
    let mut text = String::new();
    for chunk in bytes[..bytes.len().min(LIMIT * 4 + 4)].utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02X}").expect("a string takes any text");
        }
    }
    if is_for_people(&text) { excerpt(&words_of_page(&text)) } else { excerpt(&text) }
}

fn is_for_people(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    start.starts_with("<html") || start.starts_with("<!doctype html")
}

/// What a person would read of a page: its text without the marks, each passage once.
fn words_of_page(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for piece in text.split('<').skip(1) {
        let said = piece.split_once('>').map_or("", |(_, said)| said.trim());
        if !said.is_empty() && !words.contains(&said) {
            words.push(said);
        }
    }
    words.join(" ")
}

/// An error and what is behind it on one line, safe to print.
pub fn causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        write!(line, ": {cause}").expect("a string takes any text");
        source = cause.source();
    }
    excerpt(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_people_is_quoted_without_its_marks() {
        let page = "<html>\n<head><title>504 Gateway Time-out</title></head>\n<body><h1>504 Gateway Time-out</h1><hr>nginx</body></html>";
        assert_eq!(excerpt_of_bytes(page.as_bytes()), "504 Gateway Time-out nginx");
        assert_eq!(excerpt_of_bytes(b"<!DOCTYPE HTML><p>Request Blocked"), "Request Blocked");
        assert_eq!(excerpt_of_bytes(b"<a><b>1</b></a>"), "<a><b>1</b></a>");
    }

    #[test]
    fn an_excerpt_is_one_line_that_steers_no_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(excerpt(text), expected);
        check("  <html>\r\n\t<head>  ", "<html> <head>");
        check("a\x1b[2Jb\0c\u{9b}1m", "a\\x1B[2Jb\\x00c\\x9B1m");
        check("safe\u{202e}txt.exe", "safe\\u{202E}txt.exe");
        check("서비스\u{feff}키", "서비스\\u{FEFF}키");
    }

    #[test]
    fn an_excerpt_has_at_most_300_characters_of_the_server() {
        let check = |text: &str| assert_eq!(excerpt(text).trim_end_matches('…').chars().count(), 300);
        check(&"키".repeat(300));
        check(&"키".repeat(3000));
        check(&"\x1b".repeat(3000));
        assert_eq!(excerpt_of_bytes("키".repeat(3000).as_bytes()).chars().count(), 301);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_by_number() {
        assert_eq!(excerpt_of_bytes(b"ok \xff\xc7\xd1 end"), "ok \\xFF\\xC7\\xD1 end");
    }
}
