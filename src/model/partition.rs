use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::name::Name;

/// One combination of axis values: the unit whose wholeness is checked.
///
/// Written `region=11110,month=2024-01`, axes in the order of the dataset; that text is its key in the store. Cheap to clone.
#[derive(Clone)]
pub struct Partition {
    /// Shared by all partitions of a target: a run may have hundreds of thousands, and each is a number then.
    axes: Arc<[Axis]>,
    /// Among all combinations of the values, the first axis slowest; below their number.
    position: usize,
}

/// An axis and the values it has in a target.
struct Axis {
    name: Name,
    values: Box<[Box<str>]>,
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
        let axis = |(name, value)| Axis { name, values: Box::new([Into::<Box<str>>::into(value)]) };
        Self { axes: values.into_iter().map(axis).collect(), position: 0 }
    }

    /// Every combination of the values of these axes, the first axis slowest.
    pub fn combinations(axes: impl IntoIterator<Item = (Name, Vec<String>)>) -> impl ExactSizeIterator<Item = Self> {
        let axis =
            |(name, values): (Name, Vec<String>)| Axis { name, values: values.into_iter().map(String::into_boxed_str).collect() };
        let axes: Arc<[Axis]> = axes.into_iter().map(axis).collect();
        let count = axes.iter().map(|axis| axis.values.len()).product::<usize>();
        (0..count).map(move |position| Self { axes: Arc::clone(&axes), position })
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
        self.values().find(|(name, _)| name.as_str() == axis).map(|(_, value)| value)
    }

    pub fn values(&self) -> impl Iterator<Item = (&Name, &str)> {
        let mut faster: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        self.axes.iter().map(move |Axis { name, values }| {
            faster /= values.len();
            (name, &*values[self.position / faster % values.len()])
        })
    }

    /// The text the store keeps: `region=11110,month=2024-01`.
    pub fn key(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (axis, value)) in self.values().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{axis}={value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partition({self})")
    }
}

impl PartialEq for Partition {
    fn eq(&self, other: &Self) -> bool {
        self.values().eq(other.values())
    }
}

impl Eq for Partition {}

impl PartialOrd for Partition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Partition {
    fn cmp(&self, other: &Self) -> Ordering {
        self.values().cmp(other.values())
    }
}

impl Hash for Partition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values().for_each(|value| value.hash(state));
    }
}

impl Serialize for Partition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.axes.len()))?;
        for (axis, value) in self.values() {
            map.serialize_entry(axis.as_str(), value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_go_through_the_last_axis_first() {
        let axes = |months: &[&str]| {
            let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
            [(Name::literal("region"), texts(&["1", "2"])), (Name::literal("month"), texts(months))]
        };
        let all: Vec<Partition> = Partition::combinations(axes(&["a", "b", "c"])).collect();
        let keys: Vec<String> = all.iter().map(Partition::key).collect();
        let of = |region: u32| ["a", "b", "c"].map(|month| format!("region={region},month={month}"));
        assert_eq!(keys, [of(1), of(2)].concat());
        assert_eq!(Partition::combinations(axes(&[])).len(), 0);
        assert_eq!(Partition::combinations([]).map(|all| all.key()).collect::<Vec<_>>(), [""]);

        let alone = Partition::parse("2,b", &[Name::literal("region"), Name::literal("month")]).unwrap();
        assert_eq!((&all[4], all[4].value("month")), (&alone, Some("b")));
        assert!(all.is_sorted() && all[4] != all[5]);
        let all: std::collections::HashSet<Partition> = all.into_iter().collect();
        assert!(all.contains(&alone));
    }

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
