use super::content::Breakage;
use super::render::Format;

/// Damages the text of a page.
pub(super) fn spoil(body: &mut Vec<u8>, how: Breakage, format: Format) {
    let root_end: &[u8] = match format {
        Format::Xml => b"</response>",
        Format::Json => b"}",
    };
    match how {
        Breakage::UnclosedRoot => body.truncate(body.len() - root_end.len()),
        Breakage::Half => body.truncate(body.len() / 2),
        Breakage::TrailingText => body.extend_from_slice(b"\n<!-- cached -->trailing"),
        Breakage::Doctype => {
            let at = memchr::memmem::find(body, b"?>").map_or(0, |at| at + 2);
            let doctype = br#"<!DOCTYPE response [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"#;
            body.splice(at..at, doctype.iter().copied());
        }
        Breakage::DuplicateField => {
            let (again, tail): (&[u8], &[u8]) = match format {
                Format::Xml => (b"<totalCount>0</totalCount>", b"</body></response>"),
                Format::Json => (br#","totalCount":0"#, b"}}}"),
            };
            let at = body.len() - tail.len();
            body.splice(at..at, again.iter().copied());
        }
        Breakage::InvalidUtf8 => {
            // The first byte of a Korean letter; a page without one gets the byte at its end.
            match body.iter().position(|byte| !byte.is_ascii()) {
                Some(at) => body[at] = 0xff,
                None => body.push(0xff),
            }
        }
    }
}
