use std::io::{self, Write};

/// What became of a text for stdout.
#[derive(Debug)]
pub enum Written {
    Whole,
    /// The reader closed the pipe: it has what it wanted.
    PipeClosed,
    Failed(io::Error),
}

/// Writes a text to a stream and flushes it. Never panics, whatever became of the other end.
pub fn write_to(stream: &mut impl Write, text: &str) -> Written {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Ok(()) => Written::Whole,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Written::PipeClosed,
        Err(error) => Written::Failed(error),
    }
}

/// Text of a source as it may be shown: control characters become `\xNN`, so that it can't forge lines or steer a terminal.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_bidi_mark = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || is_bidi_mark {
            shown.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d시"), "a\\x1b[2Jb\\x0ac\\x202ed시");
    }

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is_one() {
        struct Broken(io::ErrorKind);
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(matches!(write_to(&mut Broken(io::ErrorKind::BrokenPipe), "x"), Written::PipeClosed));
        assert!(matches!(write_to(&mut Broken(io::ErrorKind::StorageFull), "x"), Written::Failed(_)));
        assert!(matches!(write_to(&mut Vec::new(), "x"), Written::Whole));
    }
}
