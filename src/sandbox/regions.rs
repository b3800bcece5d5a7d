//! Which region codes have rows.

/// Codes that answer with success and no rows, always: cities that have districts of their own (ask those), and codes
/// that reforms have retired. A code of two digits stands for all that begin with it.
///
/// Source: the ministry's code list as of 2026-08, with the reforms from 2018-07 to 2026-07.
const WITHOUT_ROWS: [&str; 25] = [
    // Cities with districts.
    "41110", "41130", "41170", "41190", "41270", "41280", "41460", "41590", "43110", "44130", "47110", "48120", "52110",
    // Retired, one by one.
    "28110", "28140", "28170", "28260", "47720", // Retired, whole provinces.
    "29", "42", "45", "46", // Never given.
    "00", "98", "99",
];

/// Whether a text looks like the code of one district that deals are filed under.
pub(super) fn is_leaf(region: &str) -> bool {
    let is_code = region.len() == 5 && region.bytes().all(|b| b.is_ascii_digit()) && !region.ends_with("000");
    is_code && !WITHOUT_ROWS.iter().any(|prefix| region.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_of_living_districts_have_rows() {
        let check = |region: &str, expected: bool| assert_eq!(is_leaf(region), expected, "{region}");
        check("11110", true);
        check("36110", true);
        check("41111", true);
        check("41110", false);
        check("41590", false);
        check("41591", true);
        check("42110", false);
        check("51110", true);
        check("47720", false);
        check("27720", true);
        check("99999", false);
        check("11000", false);
        check("1111", false);
        check("", false);
        check("1111a", false);
    }
}
