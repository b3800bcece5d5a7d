use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::name::Name;

/// One combination of axis values: the unit whose wholeness is checked.
///
/// Written `region=11110,month=2024-01`, axes in the order of the dataset; that text is its key in the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    values: Vec<(Name, Box<str>)>,
}

/// Why a text names no partition of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a partition: write `{shape}`, or the values alone in that order")]
pub struct PartitionError {
    text: String,
    shape: String,
}

impl Partition {
    /// A partition from its axis values, in the order of the dataset's axes.
    pub fn new(values: impl IntoIterator<Item = (Name, impl Into<Box<str>>)>) -> Self {
        Self { values: values.into_iter().map(|(axis, value)| (axis, value.into())).collect() }
    }

    /// Reads `11680,2024-03` (axis order) or `region=11680,month=2024-03` (any order).
    pub fn parse(text: &str, axes: &[Name]) -> Result<Self, PartitionError> {
        let wrong = || PartitionError {
            text: text.to_owned(),
            shape: axes.iter().map(|axis| format!("{axis}=…")).collect::<Vec<_>>().join(","),
        };
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() != axes.len() || parts.iter().any(|part| part.is_empty()) {
            return Err(wrong());
        }
        if parts.iter().all(|part| !part.contains('=')) {
            return Ok(Self::new(axes.iter().cloned().zip(parts)));
        }
        let mut values = Vec::with_capacity(axes.len());
        for axis in axes {
            let value = parts.iter().find_map(|part| part.split_once('=').filter(|(name, _)| *name == axis.as_str()));
            let (_, value) = value.filter(|(_, value)| !value.is_empty()).ok_or_else(wrong)?;
            values.push((axis.clone(), value));
        }
        Ok(Self::new(values))
    }

    pub fn value(&self, axis: &str) -> Option<&str> {
        self.values.iter().find(|(name, _)| name.as_str() == axis).map(|(_, value)| &**value)
    }

    pub fn values(&self) -> impl Iterator<Item = (&Name, &str)> {
        self.values.iter().map(|(name, value)| (name, &**value))
    }

    /// The text the store keeps: `region=11110,month=2024-01`.
    pub fn key(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (axis, value)) in self.values.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{axis}={value}")?;
        }
        Ok(())
    }
}

impl Serialize for Partition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for (axis, value) in &self.values {
            map.serialize_entry(axis.as_str(), &**value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_read_by_position_or_by_name() {
        let axes = [Name::literal("region"), Name::literal("month")];
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Partition::parse(text, &axes).ok().map(|p| p.key()).as_deref(), expected, "{text}");
        };
        check("11680,2024-03", Some("region=11680,month=2024-03"));
        check("month=2024-03,region=11680", Some("region=11680,month=2024-03"));
        check("11680", None);
        check("11680,2024-03,7", None);
        check("region=11680,2024-03", None);
        check("region=11680,year=2024", None);
        check("region=,month=2024-03", None);
    }
}
