use std::time::Duration;

use jiff::civil::DateTime;
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Nobody means a longer wait than this: the number is a mistake.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// What the `Retry-After` lines of an answer ask for, from `now` on; the longest of several.
///
/// Either form counts: seconds, or a date in any of the three spellings of HTTP. A date is measured from the answer's own
/// `date` line where it has one, because the two come from one clock. Zero, the past and nonsense ask for nothing.
/// Source: RFC 9110, 10.2.3 and 5.6.7.
pub(super) fn read<'a>(lines: impl IntoIterator<Item = &'a str>, date: Option<&str>, now: Timestamp) -> Option<Duration> {
    let sent = date.and_then(http_date).unwrap_or(now);
    lines.into_iter().filter_map(|line| seconds(line.trim()).or_else(|| until(line.trim(), sent))).max()
}

fn seconds(text: &str) -> Option<Duration> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds: f64 = is_number.then(|| text.parse().ok()).flatten()?;
    sensible(Duration::try_from_secs_f64(seconds).ok()?)
}

fn until(text: &str, sent: Timestamp) -> Option<Duration> {
    let wait: SignedDuration = http_date(text)?.duration_since(sent);
    sensible(Duration::try_from(wait).ok()?)
}

fn sensible(wait: Duration) -> Option<Duration> {
    (Duration::ZERO < wait && wait <= LONGEST).then_some(wait)
}

pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    if let Ok(date) = rfc2822::DateTimeParser::new().parse_timestamp(text) {
        return Some(date);
    }
    // The two old spellings are in GMT by definition.
    ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"].into_iter().find_map(|format| {
        let date: DateTime = strtime::parse(format, text).ok()?.to_datetime().ok()?;
        TimeZone::UTC.to_timestamp(date).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-29T18:00:00Z";

    fn check(line: &str, expected: Option<u64>) {
        assert_eq!(read([line], None, NOW.parse().unwrap()), expected.map(Duration::from_secs), "{line}");
    }

    #[test]
    fn both_forms_are_read_and_nonsense_asks_for_nothing() {
        check("7", Some(7));
        check(" 7 ", Some(7));
        check("30.0", Some(30));
        check("86400", Some(86_400));
        check("Sun, 29 Nov 2026 18:02:00 GMT", Some(120));
        check("Sunday, 29-Nov-26 18:02:00 GMT", Some(120));
        check("Sun Nov 29 18:02:00 2026", Some(120));
        check("Mon Dec  7 18:00:00 2026", Some(8 * 86_400));
        check("Mon, 30 Nov 2026 03:02:00 +0900", Some(120));
        check("0", None);
        check("0.0", None);
        check("-5", None);
        check("+5", None);
        check("", None);
        check("soon", None);
        check("1e9", None);
        check("inf", None);
        check("1.2.3", None);
        check("9223372037", None);
        check("99999999999999999999999999999999", None);
        check("Sun, 29 Nov 2026 17:59:00 GMT", None);
        check("Thu, 01 Jan 1970 00:00:00 GMT", None);
        check("Fri, 31 Dec 9999 23:59:59 GMT", None);
    }

    #[test]
    fn the_longest_of_several_wins() {
        let lines = ["soon", "3", "11", "-1"];
        assert_eq!(read(lines, None, NOW.parse().unwrap()), Some(Duration::from_secs(11)));
        assert_eq!(read([], None, NOW.parse().unwrap()), None);
    }

    #[test]
    fn a_date_counts_from_the_clock_of_the_server() {
        let wait = |date| read(["Sun, 29 Nov 2026 18:02:00 GMT"], date, NOW.parse().unwrap());
        assert_eq!(wait(Some("Sun, 29 Nov 2026 18:01:50 GMT")), Some(Duration::from_secs(10)));
        assert_eq!(wait(Some("today")), Some(Duration::from_secs(120)));
    }
}
