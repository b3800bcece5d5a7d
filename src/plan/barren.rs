/// A region with so many whole partitions and not one row is worth a look.
const ENOUGH: u64 = 6;

/// Whether a region that has these rows in its whole partitions gives nothing.
///
/// Sources answer a wrong or retired code with success and no rows, so that nothing else tells.
pub fn is_barren(partitions: u64, rows: u64) -> bool {
    rows == 0 && partitions >= ENOUGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_without_a_row_in_many_whole_partitions_is_barren() {
        assert!(is_barren(6, 0));
        assert!(!is_barren(7, 1));
        assert!(!is_barren(5, 0));
    }
}
