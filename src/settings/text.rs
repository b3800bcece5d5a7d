use std::io;
use std::path::Path;

/// The text of a file a person wrote. The byte order mark that editors of Windows put before it is taken off.
///
/// Errors: unreadable, or not UTF-8; then it says in which line, and nothing of what stands there.
pub fn read_text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(std::fs::read(path)?).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.iter().filter(|&&byte| byte == b'\n').count() + 1;
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8 text"))
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_without_the_mark_before_it_and_refused_with_the_line_that_is_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            read_text(file.path()).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"a\r\n\xea\xb0\x80").unwrap(), "a\r\n가");
        assert_eq!(read(b"\xef\xbb\xbfa").unwrap(), "a");
        assert_eq!(read(b"").unwrap(), "");
        assert_eq!(read(b"a\nb\n# \xc7\xd1\n").unwrap_err(), "line 3 is not UTF-8 text");
        assert_eq!(read_text(Path::new("/nowhere/a")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
