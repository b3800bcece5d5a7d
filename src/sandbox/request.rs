use percent_encoding::percent_decode_str;
use serde::Serialize;

/// What the portal saw of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "key", content = "form", rename_all = "snake_case")]
pub enum KeySeen {
    Absent,
    /// As the scenario wants it, or any where it wants none.
    Right(KeyForm),
    Wrong(KeyForm),
}

/// How a key stood in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyForm {
    /// Nothing in it needs encoding.
    Unreserved,
    /// Percent-encoded once, all of it.
    Encoded,
    /// With a `+`, `/` or `=` as it is.
    Bare,
    /// With a `%25`: encoded once more.
    Twice,
}

/// A request, its head read.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    /// Decoded, in the order sent, without the key.
    pub query: Vec<(String, String)>,
    pub key: Option<Key>,
    pub keeps_alive: bool,
}

/// A key as it was sent.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub raw: String,
    pub decoded: String,
}

/// Why bytes are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadRequest;

const MAX_HEADERS: usize = 64;

impl Request {
    /// Reads a head, if it is whole; with it comes how many bytes it took.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, BadRequest> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(length) = head.parse(bytes).map_err(|_| BadRequest)? else { return Ok(None) };
        let target = head.path.ok_or(BadRequest)?;
        let connection = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("connection"));
        let closes = connection.is_some_and(|header| header.value.eq_ignore_ascii_case(b"close"));
        let (path, raw_query) = target.split_once('?').unwrap_or((target, ""));
        let (query, key) = read_query(raw_query);
        let request = Self {
            method: head.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query,
            key,
            keeps_alive: head.version == Some(1) && !closes,
        };
        Ok(Some((request, length)))
    }

    pub fn key_seen(&self, expected: Option<&str>) -> KeySeen {
        match &self.key {
            None => KeySeen::Absent,
            Some(key) if expected.is_none_or(|expected| expected == key.decoded) => KeySeen::Right(key.form()),
            Some(key) => KeySeen::Wrong(key.form()),
        }
    }
}

impl Key {
    fn form(&self) -> KeyForm {
        if self.raw.contains("%25") {
            KeyForm::Twice
        } else if self.raw.contains(['+', '/', '=']) {
            KeyForm::Bare
        } else if self.raw.contains('%') {
            KeyForm::Encoded
        } else {
            KeyForm::Unreserved
        }
    }
}

fn read_query(raw: &str) -> (Vec<(String, String)>, Option<Key>) {
    let mut query = Vec::new();
    let mut key = None;
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, decoded) = (decode(name), decode(value));
        if name.eq_ignore_ascii_case("servicekey") {
            key = Some(Key { raw: value.to_owned(), decoded });
        } else {
            query.push((name, decoded));
        }
    }
    (query, key)
}

/// As servers read a form: a `+` is a blank, which is what spoils a key sent bare.
fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_key_is_seen_as_it_was_sent() {
        let check = |sent: &str, expected: KeySeen| {
            let head = format!("GET /a?serviceKey={sent}&pageNo=2 HTTP/1.1\r\n\r\n");
            let (request, length) = Request::parse(head.as_bytes()).unwrap().unwrap();
            assert_eq!(request.key_seen(Some("aB3+cd/EF9gh==")), expected, "{sent}");
            assert_eq!(request.query, [("pageNo".to_owned(), "2".to_owned())]);
            assert_eq!(length, head.len());
        };
        check("aB3%2Bcd%2FEF9gh%3D%3D", KeySeen::Right(KeyForm::Encoded));
        check("aB3+cd/EF9gh==", KeySeen::Wrong(KeyForm::Bare));
        check("aB3%252Bcd%252FEF9gh%253D%253D", KeySeen::Wrong(KeyForm::Twice));
        check("other", KeySeen::Wrong(KeyForm::Unreserved));
    }

    #[test]
    fn half_a_head_is_not_yet_a_request() {
        assert!(Request::parse(b"GET / HTTP/1.1\r\nhost: x\r\n").unwrap().is_none());
        assert!(Request::parse(b"\x16\x03\x01 nonsense").is_err());
    }
}
