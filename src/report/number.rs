//! Numbers as people read them.

use std::time::Duration;

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in at most two units: `0.4 s`, `12.3 s`, `4 min 05 s`, `2 h 10 min`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 row`, `2 rows`.
pub fn counted(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {singular}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_duration_has_at_most_two_units() {
        let check = |milliseconds: u64, text: &str| assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        check(440, "0.4 s");
        check(59_900, "59.9 s");
        check(245_000, "4 min 05 s");
        check(7_800_000, "2 h 10 min");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!((counted(1, "row").as_str(), counted(0, "row").as_str()), ("1 row", "0 rows"));
    }
}
