use crate::model::record::RowHash;

/// The rows of a whole read as a multiset: sorted hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSet(Vec<RowHash>);

impl RowSet {
    pub fn new(mut hashes: Vec<RowHash>) -> Self {
        hashes.sort_unstable();
        Self(hashes)
    }
}

/// A page size whose edges differ from those of `in_force` for `total` rows: one page where the source gives it, else a
/// size without a common divisor. `None` when no other size is left.
pub fn other_size(in_force: u32, total: u64, most: u32) -> Option<u32> {
    if total <= u64::from(most) && total > u64::from(in_force) {
        return u32::try_from(total).ok();
    }
    smaller_size(in_force)
}

/// A size below `in_force` that shares no page edge with it for as long as can be.
pub fn smaller_size(in_force: u32) -> Option<u32> {
    (1..=in_force - in_force / 7 - 1).rev().find(|&size| greatest_common_divisor(size, in_force) == 1)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_read_asks_one_page_where_the_source_gives_it() {
        assert_eq!(other_size(1000, 2500, 10_000), Some(2500));
        assert_eq!(other_size(50, 250, 1000), Some(250));
    }

    #[test]
    fn else_it_asks_a_size_whose_edges_do_not_coincide() {
        let check = |in_force: u32, total: u64, most: u32, expected: Option<u32>| {
            assert_eq!(other_size(in_force, total, most), expected, "{in_force} {total} {most}");
        };
        check(1000, 25_000, 10_000, Some(857));
        check(100, 300, 100, Some(83));
        check(2, 10, 2, Some(1));
        check(1, 10, 1, None);
    }
}
