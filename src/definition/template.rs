use serde::{Deserialize, Serialize};

use crate::model::name::Name;
use crate::model::partition::Partition;

/// A text with places for axis values: `{region}`, or `{month:compact}` for `202403` where the value is `2024-03`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Axis { axis: Name, form: Form },
}

/// How an axis value is written into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    /// Without dashes.
    Compact,
}

/// Why a text is no [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a template: places are written `{{axis}}` or `{{axis:compact}}`, and every brace is part of one")]
pub struct TemplateError {
    text: String,
}

impl Template {
    /// The axes it has places for.
    pub fn axes(&self) -> impl Iterator<Item = &Name> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Axis { axis, .. } => Some(axis),
        })
    }

    /// The text for one partition. An axis the partition lacks is written as nothing; the definition check excludes that.
    pub fn fill(&self, partition: &Partition) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.clone(),
                Part::Axis { axis, form } => {
                    let value = partition.value(axis.as_str()).unwrap_or_default();
                    match form {
                        Form::Plain => value.to_owned(),
                        Form::Compact => value.replace('-', ""),
                    }
                }
            })
            .collect()
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        let wrong = || TemplateError { text: text.clone() };
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let brace = rest.find(['{', '}']).unwrap_or(rest.len());
            if brace > 0 {
                parts.push(Part::Literal(rest[..brace].to_owned()));
                rest = &rest[brace..];
                continue;
            }
            let place = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or_else(wrong)?;
            let (axis, form) = match place.0.split_once(':') {
                None => (place.0, Form::Plain),
                Some((axis, "compact")) => (axis, Form::Compact),
                Some(_) => return Err(wrong()),
            };
            parts.push(Part::Axis { axis: axis.parse().map_err(|_| wrong())?, form });
            rest = place.1;
        }
        Ok(Self { parts })
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template
            .parts
            .into_iter()
            .map(|part| match part {
                Part::Literal(text) => text,
                Part::Axis { axis, form: Form::Plain } => format!("{{{axis}}}"),
                Part::Axis { axis, form: Form::Compact } => format!("{{{axis}:compact}}"),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Result<Template, TemplateError> {
        text.to_owned().try_into()
    }

    #[test]
    fn places_are_filled_with_the_values_of_the_partition() {
        let partition = Partition::new([(Name::literal("region"), "11680"), (Name::literal("month"), "2024-03")]);
        let check = |text: &str, filled: &str| {
            let template = template(text).unwrap();
            assert_eq!(template.fill(&partition), filled);
            assert_eq!(String::from(template), text);
        };
        check("{region}", "11680");
        check("{month:compact}", "202403");
        check("{month}", "2024-03");
        check("a{region}b{month:compact}c", "a11680b202403c");
        check("plain", "plain");
        check("", "");
    }

    #[test]
    fn a_stray_brace_or_an_unknown_form_is_refused() {
        for text in ["{", "}", "{region", "region}", "{Region}", "{}", "{month:yyyymm}", "{a{b}}"] {
            assert!(template(text).is_err(), "{text}");
        }
    }
}
