use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use crate::model::secret::{Redactor, ServiceKey, encode_query};

/// What one page is asked with.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Scheme, host and path, without a slash at the end.
    pub base_url: String,
    /// Begins with a slash.
    pub path: String,
    /// Names and values, not yet encoded, in the order sent.
    pub query: Vec<(String, String)>,
    pub key: Option<KeyParam>,
}

/// The query parameter that carries the key.
#[derive(Clone, Debug)]
pub struct KeyParam {
    pub name: String,
    pub key: ServiceKey,
}

/// A whole URL, with the key in it: for the HTTP client alone.
#[derive(Clone)]
pub(super) struct SecretUrl(SecretString);

impl PageRequest {
    /// Every name and value encoded once, here; nothing after this encodes again.
    pub(super) fn url(&self) -> SecretUrl {
        let pairs = self.query.iter().map(|(name, value)| (name, encode_query(value)));
        let key = self.key.iter().map(|param| (&param.name, param.key.for_query()));
        let mut url = format!("{}{}", self.base_url, self.path);
        let mut before = if self.path.contains('?') { '&' } else { '?' };
        for (name, value) in pairs.chain(key) {
            url.push(before);
            url.push_str(&encode_query(name));
            url.push('=');
            url.push_str(&value);
            before = '&';
        }
        SecretUrl(url.into())
    }

    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(self.key.iter().map(|param| &param.key))
    }
}

impl SecretUrl {
    pub(super) fn exposed(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretUrl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, query: &[(&str, &str)], key: Option<&str>) -> PageRequest {
        PageRequest {
            base_url: "https://api.example/1613000".to_owned(),
            path: path.to_owned(),
            query: query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            key: key.map(|key| KeyParam { name: "serviceKey".to_owned(), key: ServiceKey::from_pasted(key).unwrap() }),
        }
    }

    #[test]
    fn names_and_values_are_encoded_once() {
        let check = |request: PageRequest, expected: &str| {
            let url = request.url();
            assert_eq!(url.exposed(), format!("https://api.example/1613000{expected}"));
            let parsed = url::Url::parse(url.exposed()).unwrap();
            assert_eq!(parsed.as_str(), url.exposed(), "the client's own parser changes nothing");
        };
        check(request("/trade", &[], None), "/trade");
        check(request("/trade", &[("LAWD_CD", "11110")], None), "/trade?LAWD_CD=11110");
        check(request("/trade?v=1", &[("a", "b")], None), "/trade?v=1&a=b");
        check(request("/trade", &[("name", "강남 A&B=c'd\"")], None), "/trade?name=%EA%B0%95%EB%82%A8%20A%26B%3Dc%27d%22");
        check(request("/trade", &[("a", "1")], Some("aB3+cd/EF9gh==")), "/trade?a=1&serviceKey=aB3%2Bcd%2FEF9gh%3D%3D");
        check(request("/trade", &[], Some("aB3%2Bcd%2FEF9gh%3D%3D")), "/trade?serviceKey=aB3%2Bcd%2FEF9gh%3D%3D");
    }

    #[test]
    fn nothing_printed_shows_the_key() {
        let request = request("/trade", &[], Some("aB3+cd/EF9gh=="));
        assert!(!format!("{request:?}{:?}", request.url()).contains("aB3"));
    }
}
