use std::collections::BTreeMap;
use std::path::Path;

use config::{Map, Source, Value, ValueKind};
use toml::de::{DeTable, DeValue};

use super::error::{Problem, SettingsError};
use super::schema::{Kind, Setting};
use super::text::read_text;
use crate::model::password::without_passwords;

/// The prefix of every environment variable of ours.
const PREFIX: &str = "GAPLESS";
/// Variables of ours that are no settings.
const OTHER_VARIABLES: &[&str] = &["GAPLESS_CONFIG", "GAPLESS_LOG"];
/// Of the project's own tests and scripts.
const TEST_PREFIX: &str = "GAPLESS_TEST_";
const KEY_PREFIX: &str = "GAPLESS_KEY_";

/// Settings from one place, checked one by one: known names with legal values.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    values: BTreeMap<String, Assigned>,
}

/// A value and where it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The value as text, whatever the file wrote it as.
    pub text: String,
    /// `gapless.toml:12`, `environment variable GAPLESS__RETRY__DELAY`, `--rps`, `default`.
    pub origin: String,
}

impl Layer {
    /// A TOML file; `shown` is how the user knows it.
    ///
    /// Errors: TOML that does not parse, and every unknown name and illegal value in it, each with its line.
    pub fn from_toml(text: &str, shown: &str) -> Result<Self, SettingsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            SettingsError::one(format!("{shown}:{line}"), error.message().to_owned())
        })?;
        let mut reader = TomlReader { text, shown, layer: Self::default(), problems: Vec::new() };
        reader.read_table("", table.get_ref());
        reader.problems.sort_by_key(|(line, _)| *line);
        reader.layer.or_problems(reader.problems.into_iter().map(|(_, problem)| problem).collect())
    }

    /// The compiled-in defaults.
    pub fn defaults(text: &str) -> Self {
        let mut layer = Self::from_toml(text, "default").expect("the defaults are legal; a test loads them");
        for assigned in layer.values.values_mut() {
            "default".clone_into(&mut assigned.origin);
        }
        layer
    }

    /// The variables that begin with our prefix: `GAPLESS__SECTION__NAME`.
    ///
    /// Errors: a variable with our prefix, in any case and with any separators, that is no setting, key or switch of ours.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let mut layer = Self::default();
        let mut problems = Vec::new();
        for (name, value) in variables {
            let upper = name.to_ascii_uppercase();
            let is_ours = upper.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(['_', '-', '.']));
            let is_other =
                OTHER_VARIABLES.contains(&name.as_str()) || (name.starts_with(KEY_PREFIX) && name.len() > KEY_PREFIX.len());
            if !is_ours || is_other || name.starts_with(TEST_PREFIX) {
                continue;
            }
            let path = name.strip_prefix("GAPLESS__").map(|rest| rest.to_ascii_lowercase().replace("__", "."));
            let origin = format!("environment variable {name}");
            match path.filter(|path| Setting::find(path).is_some()) {
                Some(path) => layer.set(&path, value, origin, &mut problems),
                None => {
                    let guess = upper[PREFIX.len()..].trim_matches(['_', '-', '.']).to_ascii_lowercase();
                    let guess = if guess.contains("__") { guess.replace("__", ".") } else { guess.replacen('_', ".", 1) };
                    let nearest = match Setting::find(&guess) {
                        Some(_) => Some(guess),
                        None => Setting::nearest(&guess),
                    };
                    let nearest =
                        nearest.map(|path| format!("; did you mean GAPLESS__{}?", path.to_ascii_uppercase().replace('.', "__")));
                    problems.push(Problem { place: origin, what: format!("no such setting{}", nearest.unwrap_or_default()) });
                }
            }
        }
        layer.or_problems(problems)
    }

    /// Values given by flags: path, value, and the flag's name.
    pub fn from_flags(flags: impl IntoIterator<Item = (String, String, String)>) -> Result<Self, SettingsError> {
        let mut layer = Self::default();
        let mut problems = Vec::new();
        for (path, value, flag) in flags {
            layer.set(&path, value, flag, &mut problems);
        }
        layer.or_problems(problems)
    }

    fn set(&mut self, path: &str, text: String, origin: String, problems: &mut Vec<Problem>) {
        let Some(setting) = Setting::find(path) else {
            let nearest = Setting::nearest(path).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            problems.push(Problem { place: origin, what: format!("no setting is called `{path}`{nearest}") });
            return;
        };
        match setting.kind.objection(&text) {
            Some(advice) => problems
                .push(Problem { place: origin, what: format!("`{path}` cannot be `{}`: {advice}", without_passwords(&text)) }),
            None => {
                self.values.insert(path.to_owned(), Assigned { text, origin });
            }
        }
    }

    fn or_problems(self, problems: Vec<Problem>) -> Result<Self, SettingsError> {
        if problems.is_empty() { Ok(self) } else { Err(SettingsError { problems }) }
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let value = |assigned: &Assigned| Value::new(Some(&assigned.origin), ValueKind::String(assigned.text.clone()));
        Ok(self.values.iter().map(|(path, assigned)| (path.clone(), value(assigned))).collect())
    }
}

/// Puts layers over each other, the last one uppermost.
pub fn merge(layers: impl IntoIterator<Item = Layer>) -> BTreeMap<String, Assigned> {
    let mut builder = config::Config::builder();
    for layer in layers {
        builder = builder.add_source(layer);
    }
    let merged = builder.build().expect("layers hold plain texts under checked paths");
    let mut values = BTreeMap::new();
    flatten("", merged.cache, &mut values);
    values
}

fn flatten(path: &str, value: Value, values: &mut BTreeMap<String, Assigned>) {
    let origin = value.origin().unwrap_or("default").to_owned();
    match value.kind {
        ValueKind::Table(table) => {
            for (name, value) in table {
                let below = if path.is_empty() { name } else { format!("{path}.{name}") };
                flatten(&below, value, values);
            }
        }
        ValueKind::String(text) => {
            values.insert(path.to_owned(), Assigned { text, origin });
        }
        ValueKind::Nil
        | ValueKind::Boolean(_)
        | ValueKind::I64(_)
        | ValueKind::I128(_)
        | ValueKind::U64(_)
        | ValueKind::U128(_)
        | ValueKind::Float(_)
        | ValueKind::Array(_) => unreachable!("layers hold texts and tables alone"),
    }
}

struct TomlReader<'a> {
    text: &'a str,
    shown: &'a str,
    layer: Layer,
    /// By line.
    problems: Vec<(usize, Problem)>,
}

impl TomlReader<'_> {
    fn read_table(&mut self, path: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let below = match path {
                "" => name.get_ref().to_string(),
                path => format!("{path}.{}", name.get_ref()),
            };
            match value.get_ref() {
                DeValue::Table(table) => self.read_table(&below, table),
                leaf => self.read_leaf(&below, leaf, line_of(self.text, name.span().start)),
            }
        }
    }

    fn read_leaf(&mut self, path: &str, leaf: &DeValue<'_>, line: usize) {
        let origin = format!("{}:{line}", self.shown);
        let mut problems = Vec::new();
        match text_of(path, leaf) {
            Ok(text) => self.layer.set(path, text, origin, &mut problems),
            Err(what) => problems.push(Problem { place: origin, what }),
        }
        self.problems.extend(problems.into_iter().map(|problem| (line, problem)));
    }
}

/// The value of a setting as text.
///
/// Errors: written in another way than its kind wants, so that nothing is bent in silence.
fn text_of(path: &str, leaf: &DeValue<'_>) -> Result<String, String> {
    let kind = Setting::find(path).map(|setting| setting.kind);
    match (leaf, kind) {
        (DeValue::String(text), Some(kind)) if !kind.is_text() && !has_word(kind, text) => {
            Err(format!("`{path}` is written without quotes: {text}"))
        }
        (DeValue::String(text), _) => Ok(text.to_string()),
        (DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_), Some(kind)) if kind.is_text() => {
            let advice = kind.objection("").unwrap_or_else(|| "give a text".to_owned());
            Err(format!("`{path}` must be a text in quotes: {advice}"))
        }
        (DeValue::Integer(number), _) => Ok(number.to_string()),
        (DeValue::Float(number), _) => Ok(number.to_string()),
        (DeValue::Boolean(switch), _) => Ok(switch.to_string()),
        (DeValue::Array(items), Some(Kind::Text)) => {
            texts(items).map(|items| items.join(",")).ok_or_else(|| format!("`{path}` must be a text or a list of texts"))
        }
        (DeValue::Array(_) | DeValue::Datetime(_) | DeValue::Table(_), _) => Ok(String::new()),
    }
}

/// Whether a kind that is no text has this word among its values.
fn has_word(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Rate => true,
        Kind::Concurrency => text == "auto",
        _ => false,
    }
}

fn texts(items: &toml::de::DeArray<'_>) -> Option<Vec<String>> {
    items
        .iter()
        .map(|item| match item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => None,
        })
        .collect()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|&b| b == b'\n').count() + 1
}

/// Text of a settings file.
///
/// Errors: unreadable, or not UTF-8.
pub fn read_file(path: &Path) -> Result<String, SettingsError> {
    read_text(path).map_err(|error| SettingsError::one(path.display().to_string(), format!("cannot be read: {error}")))
}
