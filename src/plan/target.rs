use std::collections::BTreeMap;

use crate::definition::catalog::Catalog;
use crate::definition::dataset::{AxisDefinition, AxisKind, Dataset};
use crate::definition::region::RegionError;
use crate::model::month::Month;
use crate::model::name::Name;
use crate::model::partition::{Partition, PartitionError};

use super::span::{Clipped, Span, SpanError};

/// Which partitions of a dataset are asked for, as written in settings and flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// A SPAN for the month axis.
    pub months: Option<String>,
    /// A LIST for the region axis.
    pub regions: Option<String>,
    /// Values of other axes by their name: `V1,V2`.
    pub axes: BTreeMap<String, String>,
    /// Single partitions; when there are any, nothing else is asked for.
    pub partitions: Vec<String>,
}

/// The partitions of one dataset that are meant to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub partitions: Vec<Partition>,
    /// What the user should know about how the wish was read, each said once.
    pub notes: Vec<String>,
}

/// Why a wish names no partitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("needs {what}")]
    Missing { what: String },
    #[error("`{dataset}` has no axis `{axis}`; its axes are {axes}")]
    UnknownAxis { dataset: Name, axis: String, axes: String },
    #[error("`{value}` is no value of axis `{axis}` of `{dataset}`; known are {known}")]
    UnknownValue { dataset: Name, axis: Name, value: String, known: String },
    #[error("a partition has one {axis}, and `{value}` is not the text of one; `--axis {axis}=…` takes several")]
    NotOne { axis: Name, value: String },
    #[error(transparent)]
    Span(#[from] SpanError),
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(transparent)]
    Partition(#[from] PartitionError),
}

/// The partitions a wish names, when `current` is the current month in the provider's zone.
///
/// Order: as the axes of the dataset, the first axis slowest. `read_file` gives the text of an `@FILE`.
pub fn target(
    dataset: &Dataset,
    wish: &Wish,
    catalog: &Catalog,
    current: Month,
    read_file: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Target, TargetError> {
    let mut notes = Vec::new();
    for axis in wish.axes.keys() {
        if !dataset.axes.iter().any(|known| known.id.as_str() == axis) {
            let axes = dataset.axes.iter().map(|axis| axis.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(TargetError::UnknownAxis { dataset: dataset.id.clone(), axis: axis.clone(), axes });
        }
    }
    let reader = AxisReader { dataset, catalog, current, read_file };
    if !wish.partitions.is_empty() {
        let mut partitions = Vec::new();
        for text in &wish.partitions {
            let partition = reader.single(text, &mut notes)?;
            if !partitions.contains(&partition) {
                partitions.push(partition);
            }
        }
        return Ok(Target { partitions, notes });
    }
    let mut axes = Vec::new();
    for axis in &dataset.axes {
        let written = wish.axes.get(axis.id.as_str()).or(match axis.kind {
            AxisKind::Region => wish.regions.as_ref(),
            AxisKind::Month => wish.months.as_ref(),
            AxisKind::Values => None,
        });
        let values = reader.values(axis, written.map(String::as_str), &mut notes)?;
        axes.push((axis.id.clone(), values));
    }
    Ok(Target { partitions: Partition::combinations(axes).collect(), notes })
}

struct AxisReader<'a> {
    dataset: &'a Dataset,
    catalog: &'a Catalog,
    current: Month,
    read_file: &'a dyn Fn(&str) -> std::io::Result<String>,
}

impl AxisReader<'_> {
    fn single(&self, text: &str, notes: &mut Vec<String>) -> Result<Partition, TargetError> {
        let partition = Partition::parse(text, &self.dataset.axis_names())?;
        for axis in &self.dataset.axes {
            let written = partition.value(axis.id.as_str());
            let values = self.values(axis, written, notes)?;
            // A list or span here would be sent to the source as it is written, and answered with no rows.
            if let Some(value) = written.filter(|written| values != [*written]) {
                return Err(TargetError::NotOne { axis: axis.id.clone(), value: value.to_owned() });
            }
        }
        Ok(partition)
    }

    fn values(&self, axis: &AxisDefinition, written: Option<&str>, notes: &mut Vec<String>) -> Result<Vec<String>, TargetError> {
        let missing = |what: &str| TargetError::Missing { what: what.to_owned() };
        match axis.kind {
            AxisKind::Region => {
                let written = written.ok_or_else(|| missing("regions: give `--regions all`, `--regions sido:11` or codes"))?;
                let list = axis.list.as_ref().and_then(|list| self.catalog.regions(list)).expect("checked with the definitions");
                Ok(list.select(written, self.read_file)?)
            }
            AxisKind::Month => {
                let written = written.ok_or_else(|| missing("months: give `--months last:3` or `--months 2024-01..2024-12`"))?;
                let first = axis.first.expect("checked with the definitions");
                let (span, clipped) = Span::parse(written, self.current)?.clipped(first, written)?;
                if clipped == Clipped::Yes {
                    notes.push(format!("`{}` begins in {first}; earlier months are left out", self.dataset.id));
                }
                Ok(span.months().map(|month| month.to_string()).collect())
            }
            AxisKind::Values => {
                let Some(written) = written else { return Ok(axis.values.clone()) };
                let mut values = Vec::new();
                for value in written.split(',').map(str::trim).filter(|value| !value.is_empty()) {
                    if !axis.values.iter().any(|known| known == value) {
                        return Err(TargetError::UnknownValue {
                            dataset: self.dataset.id.clone(),
                            axis: axis.id.clone(),
                            value: value.to_owned(),
                            known: axis.values.join(", "),
                        });
                    }
                    if !values.iter().any(|known| known == value) {
                        values.push(value.to_owned());
                    }
                }
                // A list of nothing would be a run that asks for nothing and ends well.
                if values.is_empty() {
                    return Err(missing(&format!("values of `{}`: known are {}", axis.id, axis.values.join(", "))));
                }
                Ok(values)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(months: &str, regions: &str) -> Wish {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Wish { months: some(months), regions: some(regions), ..Wish::default() }
    }

    fn resolve(wish: &Wish) -> Result<Target, TargetError> {
        let catalog = Catalog::builtin();
        let dataset = catalog.dataset("apt_trade").unwrap();
        target(dataset, wish, &catalog, "2026-11".parse().unwrap(), &|_| Err(std::io::ErrorKind::NotFound.into()))
    }

    #[test]
    fn a_target_is_the_product_of_its_axes() {
        let target = resolve(&wish("2024-01..2024-02", "11140,11110")).unwrap();
        let keys: Vec<String> = target.partitions.iter().map(Partition::key).collect();
        assert_eq!(
            keys,
            [
                "region=11110,month=2024-01",
                "region=11110,month=2024-02",
                "region=11140,month=2024-01",
                "region=11140,month=2024-02",
            ]
        );
        assert_eq!(resolve(&wish("2024-01..2024-09", "all")).unwrap().partitions.len(), 256 * 9);
    }

    #[test]
    fn months_before_the_first_are_left_out_and_said_once() {
        let target = resolve(&wish("2005-11..2006-01", "11110,11140")).unwrap();
        assert_eq!(target.partitions.len(), 2);
        assert_eq!(target.notes, ["`apt_trade` begins in 2006-01; earlier months are left out"]);
    }

    #[test]
    fn single_partitions_are_checked_like_lists() {
        let single = |text: &str| resolve(&Wish { partitions: vec![text.to_owned()], ..Wish::default() });
        assert_eq!(single("11680,2024-03").unwrap().partitions[0].key(), "region=11680,month=2024-03");
        assert!(matches!(single("42110,2024-03"), Err(TargetError::Region(RegionError::Retired { .. }))));
        assert!(matches!(single("11680,202403"), Err(TargetError::Span(SpanError::Shape { .. }))));
        assert!(matches!(single("11680"), Err(TargetError::Partition(_))));
    }

    #[test]
    fn a_partition_named_twice_is_asked_for_once() {
        let partitions = ["11680,2024-03", "11680,2024-04", "region=11680,month=2024-03"].map(str::to_owned).into();
        let target = resolve(&Wish { partitions, ..Wish::default() }).unwrap();
        let keys: Vec<String> = target.partitions.iter().map(Partition::key).collect();
        assert_eq!(keys, ["region=11680,month=2024-03", "region=11680,month=2024-04"]);
    }

    #[test]
    fn a_single_partition_is_never_a_list_or_a_span() {
        let check = |text: &str, named: &str| {
            let found = resolve(&Wish { partitions: vec![text.to_owned()], ..Wish::default() });
            assert!(matches!(&found, Err(TargetError::NotOne { value, .. }) if value == named), "{text}: {found:?}");
        };
        check("all,2024-03", "all");
        check("sido:11,2024-03", "sido:11");
        check("11680,2024-03..2024-04", "2024-03..2024-04");
        check("11680,2024-03..2024-03", "2024-03..2024-03");
        check("11680,last:1", "last:1");
    }

    #[test]
    fn a_list_of_values_has_each_once_and_at_least_one() {
        let catalog = Catalog::builtin();
        let mut dataset = Dataset::clone(catalog.dataset("apt_trade").unwrap());
        dataset.axes[0].kind = AxisKind::Values;
        dataset.axes[0].values = ["a", "b"].map(str::to_owned).into();
        let listed = |text: &str| {
            let wish = Wish { axes: [("region".to_owned(), text.to_owned())].into(), ..wish("2024-01", "") };
            let target = target(&dataset, &wish, &catalog, "2026-11".parse().unwrap(), &|_| Ok(String::new()));
            target.map(|target| {
                target.partitions.iter().map(|partition| partition.value("region").unwrap().to_owned()).collect::<Vec<String>>()
            })
        };
        let check = |text: &str, values: &[&str]| assert_eq!(listed(text).unwrap(), values, "{text}");
        check("b,a", &["b", "a"]);
        check("a, b ,a,", &["a", "b"]);
        assert_eq!(listed(",").unwrap_err().to_string(), "needs values of `region`: known are a, b");
        assert!(matches!(listed("c"), Err(TargetError::UnknownValue { .. })));
    }

    #[test]
    fn a_wish_that_says_too_little_or_too_much_is_refused_with_what_to_give() {
        assert!(resolve(&wish("2024-01", "")).unwrap_err().to_string().contains("needs regions: give `--regions all`"));
        assert!(resolve(&wish("", "all")).unwrap_err().to_string().contains("needs months: give `--months last:3`"));
        let axes = [("station".to_owned(), "1".to_owned())].into();
        let error = resolve(&Wish { axes, ..wish("2024-01", "all") }).unwrap_err();
        assert_eq!(error.to_string(), "`apt_trade` has no axis `station`; its axes are region, month");
    }
}
