use std::collections::BTreeMap;

use jiff::civil::Date;

use super::region::{Region, RegionKind, RegionList};

/// A district reform: codes that went, and the codes that hold their rows from then on.
///
/// Many-to-many: two districts may be cut into two others across their border, so that neither of the old ones is told
/// apart from the new ones alone. Codes that are tied together in any way are one reform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reform {
    /// Codes that are no longer asked, sorted.
    pub retired: Vec<String>,
    /// Codes that are asked instead, sorted.
    pub successors: Vec<String>,
    /// The first day on which all successors are current.
    pub day: Option<Date>,
}

impl RegionList {
    /// The reforms of the list, by their lowest retired code.
    pub fn reforms(&self) -> Vec<Reform> {
        let mut reforms: BTreeMap<usize, Reform> = BTreeMap::new();
        let mut reform_of: BTreeMap<String, usize> = BTreeMap::new();
        for (number, region) in self.iter().filter(|region| region.kind != RegionKind::Leaf).enumerate() {
            let successors = self.current_codes(&region.code);
            let mut merged = Reform { retired: vec![region.code.clone()], successors, day: self.day_of(region) };
            let tied = merged.successors.iter().filter_map(|code| reform_of.get(code).copied()).collect::<Vec<_>>();
            for other in tied.into_iter().filter_map(|other| reforms.remove(&other)) {
                merged.retired.extend(other.retired);
                merged.successors.extend(other.successors);
                merged.day = merged.day.max(other.day);
            }
            for codes in [&mut merged.retired, &mut merged.successors] {
                codes.sort();
                codes.dedup();
            }
            reform_of.extend(merged.successors.iter().map(|code| (code.clone(), number)));
            reforms.insert(number, merged);
        }
        let mut reforms: Vec<Reform> = reforms.into_values().collect();
        reforms.sort_by(|a, b| a.retired.cmp(&b.retired));
        reforms
    }

    fn day_of(&self, region: &Region) -> Option<Date> {
        let successors = self.current_codes(&region.code);
        let begun = successors.iter().filter_map(|code| self.get(code)?.valid_from.as_deref());
        begun.chain(region.valid_to.as_deref()).filter_map(|day| day.parse().ok()).max()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::name::Name;

    fn check(lines: &str, expected: &[(&[&str], &[&str], Option<&str>)]) {
        let text = format!("code,sido,sigungu,valid_from,valid_to,kind,successors\n{lines}");
        let list = RegionList::from_csv(Name::literal("lawd_cd"), &text, Path::new("lawd_cd.csv")).unwrap();
        let codes = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
        let expected: Vec<Reform> = expected
            .iter()
            .map(|(retired, successors, day)| Reform {
                retired: codes(retired),
                successors: codes(successors),
                day: day.map(|day| day.parse().unwrap()),
            })
            .collect();
        assert_eq!(list.reforms(), expected, "{lines}");
    }

    #[test]
    fn codes_that_are_tied_together_are_one_reform() {
        let incheon = "28110,A,B,,2026-07-01,retired,28125 28155\n\
            28125,A,C,2026-07-01,,leaf,\n\
            28140,A,D,,2026-07-01,retired,28125\n\
            28155,A,E,2026-07-01,,leaf,\n";
        check(incheon, &[(&["28110", "28140"], &["28125", "28155"], Some("2026-07-01"))]);
        let apart = "1,A,B,,2020-01-01,retired,2\n2,A,C,2020-01-01,,leaf,\n3,A,D,,2023-06-11,retired,4\n4,A,E,,,leaf,\n";
        check(apart, &[(&["1"], &["2"], Some("2020-01-01")), (&["3"], &["4"], Some("2023-06-11"))]);
        // The third ties the first two together.
        let late = "1,A,B,,2020-01-01,retired,5\n2,A,C,,2021-01-01,retired,6\n3,A,D,,2022-01-01,retired,5 6\n\
            5,A,E,,,leaf,\n6,A,F,,,leaf,\n";
        check(late, &[(&["1", "2", "3"], &["5", "6"], Some("2022-01-01"))]);
    }

    #[test]
    fn a_reform_goes_through_every_change_to_the_codes_of_today() {
        let twice = "1,A,B,,2018-07-01,retired,2\n2,A,C,2018-07-01,2026-07-01,retired,3\n3,A,D,2026-07-01,,leaf,\n";
        check(twice, &[(&["1", "2"], &["3"], Some("2026-07-01"))]);
        let into_parent = "1,A,B,,2024-01-18,retired,2\n2,A,C,2024-01-18,,parent,3 4\n3,A,D,,,leaf,\n4,A,E,,,leaf,\n";
        check(into_parent, &[(&["1", "2"], &["3", "4"], Some("2024-01-18"))]);
    }

    #[test]
    fn a_city_that_was_divided_is_a_reform_too() {
        check(
            "41590,A,B,,,parent,41591 41593\n41591,A,C,2026-02-01,,leaf,\n41593,A,D,2026-02-01,,leaf,\n",
            &[(&["41590"], &["41591", "41593"], Some("2026-02-01"))],
        );
        check("1,A,B,,,leaf,\n", &[]);
    }
}
