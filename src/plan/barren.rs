use std::collections::BTreeMap;

/// One whole partition of a region, and the rows it has.
#[derive(Clone, Copy, Debug)]
pub struct Yield<'a> {
    pub region: &'a str,
    pub rows: u64,
}

/// A region with so many whole partitions and not one row is worth a look.
const ENOUGH: u64 = 6;

/// Regions that have no row in any of their whole partitions, and how many those are.
///
/// Sources answer a wrong or retired code with success and no rows, so that nothing else tells.
pub fn barren<'a>(yields: impl Iterator<Item = Yield<'a>>) -> Vec<(&'a str, u64)> {
    let mut regions: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for Yield { region, rows } in yields {
        let (partitions, sum) = regions.entry(region).or_default();
        *partitions += 1;
        *sum += rows;
    }
    let without_rows = regions.into_iter().filter(|(_, (partitions, rows))| *rows == 0 && *partitions >= ENOUGH);
    without_rows.map(|(region, (partitions, _))| (region, partitions)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_without_a_row_in_many_whole_partitions_is_barren() {
        let of = |region, rows| Yield { region, rows };
        let none = std::iter::repeat_n(of("28720", 0), 6);
        let some = std::iter::repeat_n(of("11110", 0), 6).chain([of("11110", 1)]);
        let few = std::iter::repeat_n(of("11140", 0), 5);
        assert_eq!(barren(none.chain(some).chain(few)), [("28720", 6)]);
    }
}
