use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Field names from the top of a document down to a place in it, written `response.body.totalCount`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path {
    parents: Vec<Box<str>>,
    last: Box<str>,
}

/// Where the records of a page stand.
///
/// Written as a path: `response.body.items.item` is a list or one lone record, `response.body.items[]` a list and
/// nothing else, so that an object that wraps the list isn't taken for a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordsPlace {
    pub path: Path,
    pub shape: RecordsShape,
}

/// What stands at a [`RecordsPlace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordsShape {
    ListOrOne,
    List,
}

/// Why a text is no [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path: write field names joined by single dots")]
pub struct PathError {
    text: String,
}

impl Path {
    /// Every name but the last.
    pub fn parents(&self) -> &[Box<str>] {
        &self.parents
    }

    pub fn last(&self) -> &str {
        &self.last
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut names: Vec<Box<str>> = text.split('.').map(Into::into).collect();
        let is_path = names.iter().all(|name| !name.is_empty() && !name.contains(['[', ']']) && name.trim() == &**name);
        match names.pop() {
            Some(last) if is_path => Ok(Self { parents: names, last }),
            _ => Err(PathError { text: text.to_owned() }),
        }
    }
}

impl FromStr for RecordsPlace {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Ok(match text.strip_suffix("[]") {
            Some(path) => Self { path: path.parse()?, shape: RecordsShape::List },
            None => Self { path: text.parse()?, shape: RecordsShape::ListOrOne },
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.parents {
            write!(f, "{name}.")?;
        }
        f.write_str(&self.last)
    }
}

impl fmt::Display for RecordsPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match self.shape {
            RecordsShape::ListOrOne => "",
            RecordsShape::List => "[]",
        };
        write!(f, "{}{list}", self.path)
    }
}

impl TryFrom<String> for Path {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

impl TryFrom<String> for RecordsPlace {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        text.parse()
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.to_string()
    }
}

impl From<RecordsPlace> for String {
    fn from(place: RecordsPlace) -> Self {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_names_joined_by_dots_and_says_whether_it_is_always_a_list() {
        let check = |text: &str, expected: Option<RecordsShape>| {
            let place = text.parse::<RecordsPlace>().ok();
            assert_eq!(place.as_ref().map(|place| place.shape), expected, "{text}");
            assert!(place.is_none_or(|place| place.to_string() == text));
        };
        check("response.body.items.item", Some(RecordsShape::ListOrOne));
        check("response.body.items[]", Some(RecordsShape::List));
        check("행정동", Some(RecordsShape::ListOrOne));
        check("", None);
        check("[]", None);
        check("a..b", None);
        check("a. b", None);
        check("a[].b", None);
    }
}
