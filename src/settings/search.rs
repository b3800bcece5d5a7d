use std::path::{Path, PathBuf};

/// Where the settings file is looked for: the first one that is there is read.
///
/// `--config`, `$GAPLESS_CONFIG`, `./gapless.toml`, `~/.config/gapless/gapless.toml`, `/etc/gapless/gapless.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Named by the user: it must be there.
    Named { path: PathBuf, by: &'static str },
    /// The usual places, in order.
    Usual(Vec<PathBuf>),
}

impl Search {
    pub fn new(flag: Option<&Path>, variable: Option<&str>, home: Option<&str>) -> Self {
        if let Some(path) = flag {
            return Self::Named { path: path.to_owned(), by: "--config" };
        }
        if let Some(path) = variable.filter(|path| !path.is_empty()) {
            return Self::Named { path: path.into(), by: "GAPLESS_CONFIG" };
        }
        let mut places = vec![PathBuf::from("gapless.toml")];
        places.extend(home.filter(|home| !home.is_empty()).map(|home| Path::new(home).join(".config/gapless/gapless.toml")));
        places.push(PathBuf::from("/etc/gapless/gapless.toml"));
        Self::Usual(places)
    }

    /// The file to read; `None` when none of the usual places has one.
    pub fn found(&self) -> Option<&Path> {
        match self {
            Self::Named { path, .. } => Some(path),
            Self::Usual(places) => places.iter().find(|place| place.exists()).map(PathBuf::as_path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_wins_over_the_usual_places() {
        let named = |path: &str, by| Search::Named { path: path.into(), by };
        assert_eq!(Search::new(Some(Path::new("a")), Some("b"), Some("/h")), named("a", "--config"));
        assert_eq!(Search::new(None, Some("b"), Some("/h")), named("b", "GAPLESS_CONFIG"));
        assert_eq!(Search::new(None, Some(""), Some("/h")), Search::new(None, None, Some("/h")), "set to nothing is not set");
        let Search::Usual(places) = Search::new(None, None, Some("/h")) else { panic!("no file was named") };
        assert_eq!(places.len(), 3);
        let Search::Usual(places) = Search::new(None, None, None) else { panic!("no file was named") };
        assert_eq!(places.len(), 2, "no home, no file in it");
    }
}
