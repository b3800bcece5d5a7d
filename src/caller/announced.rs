use std::time::Duration;

use jiff::Timestamp;

use super::retry_after::http_date;

/// What the headers of an answer say of the calls that are let in: advice to ask more slowly, and no more than that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Announced {
    /// Calls a second, by the tightest of all policies.
    pub(super) rate: Option<f64>,
    pub(super) left: Left,
    /// No call of the day is left.
    pub(super) is_day_spent: bool,
}

/// Whether a further call is let in now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Left {
    #[default]
    Unsaid,
    Some,
    /// None before so long.
    None(Duration),
}

/// A longer window counts the calls of a day, and says nothing of their pace.
const LONGEST_WINDOW: f64 = 86_400.0;
/// Nobody counts calls over longer: the number is a mistake.
const LONGEST_RESET: f64 = 366.0 * 86_400.0;
/// From here on a number of seconds is a moment since 1970, and from there on one of milliseconds.
const AN_EPOCH: f64 = 1e9;
const AN_EPOCH_IN_MS: f64 = 1e12;

/// Limit, calls left and seconds until they are counted anew, as one family of headers says them.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    limit: Option<f64>,
    left: Option<f64>,
    reset: Option<f64>,
    interval: Option<f64>,
}

impl Announced {
    /// Reads the lines of an answer, each with its name.
    ///
    /// Known are `RateLimit` and `RateLimit-Policy` in the forms of drafts 6 to 8, `RateLimit-*`, `X-RateLimit-*` and
    /// `X-Rate-Limit-*` with the seconds until a reset or the moment of it, Crossref's limit with its interval, limits by
    /// the unit in their name, and calls left of a day.
    /// Source: draft-ietf-httpapi-ratelimit-headers-06 to -08; headers of express, Flask, Envoy, Kong, GitHub, Crossref.
    pub(super) fn read<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>, now: Timestamp) -> Self {
        let (mut announced, mut standard, mut custom) = (Self::default(), Said::default(), Said::default());
        let mut sent = now;
        for (name, value) in lines {
            let name = name.to_ascii_lowercase();
            if name == "date" {
                sent = http_date(value).unwrap_or(now);
                continue;
            }
            let (said, field) = match name.strip_prefix("x-").unwrap_or(&name) {
                bare if bare == "ratelimit" || bare == "ratelimit-policy" => {
                    items(value).for_each(|item| announced.heed_item(&item));
                    continue;
                }
                bare if name.starts_with("x-") && bare.ends_with("remaining-day") => {
                    announced.is_day_spent |= number(value) == Some(0.0);
                    continue;
                }
                bare => match bare.strip_prefix("ratelimit-").or_else(|| bare.strip_prefix("rate-limit-")) {
                    Some(field) if bare.len() == name.len() => (&mut standard, field),
                    Some(field) => (&mut custom, field),
                    None => continue,
                },
            };
            match field.split_once('-').unwrap_or((field, "")) {
                ("limit", "") => {
                    said.limit = number(value).or(said.limit);
                    items(value).filter(|item| item.has("w")).for_each(|item| announced.heed_item(&item));
                }
                ("limit", unit) => announced.heed_policy(number(value), seconds_of(unit)),
                ("remaining" | "remain", "") => said.left = number(value).or(said.left),
                ("reset", "") => said.reset = number(value).or(said.reset),
                ("interval", "") => said.interval = interval(value).or(said.interval),
                (_, _) => {}
            }
        }
        for Said { limit, left, reset, interval } in [standard, custom] {
            announced.heed_policy(limit, interval);
            announced.heed_left(left, reset.map(|reset| from_now(reset, sent)));
        }
        announced
    }

    fn heed_item(&mut self, item: &Item<'_>) {
        let quota = item.number("q").or_else(|| number(item.name));
        self.heed_policy(quota, item.number("w"));
        self.heed_left(item.number("r").or(item.number("remaining")), item.number("t").or(item.number("reset")));
    }

    fn heed_policy(&mut self, quota: Option<f64>, window: Option<f64>) {
        if let Some((quota, window)) = quota.zip(window)
            && quota > 0.0
            && 0.0 < window
            && window < LONGEST_WINDOW
        {
            let rate = quota / window;
            self.rate = Some(self.rate.map_or(rate, |known| known.min(rate)));
        }
    }

    /// None left without a time is no advice: what would be waited for?
    fn heed_left(&mut self, left: Option<f64>, reset: Option<f64>) {
        match (left, reset, self.left) {
            (Some(0.0), Some(reset), known) if 0.0 < reset && reset <= LONGEST_RESET => {
                let reset = Duration::from_secs_f64(reset);
                self.left = Left::None(if let Left::None(known) = known { known.max(reset) } else { reset });
            }
            (Some(left), _, Left::Unsaid) if left > 0.0 => self.left = Left::Some,
            (_, _, _) => {}
        }
    }
}

/// One member of a list: `"40-in-1sec"; q=40; w=1`, `600;w=60`, `remaining=7`.
struct Item<'v> {
    name: &'v str,
    params: Vec<(&'v str, &'v str)>,
}

impl<'v> Item<'v> {
    fn of(text: &'v str) -> Self {
        let mut parts = split(text, ';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let pair = |part: &'v str| part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        let named = if name.starts_with('"') { None } else { pair(name) };
        Self { name, params: named.into_iter().chain(parts.filter_map(pair)).collect() }
    }

    fn has(&self, key: &str) -> bool {
        self.number(key).is_some()
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).and_then(|(_, value)| number(value))
    }
}

/// The members of a list. A dictionary, as draft 7 has it, is one member with all its pairs.
fn items(value: &str) -> impl Iterator<Item = Item<'_>> {
    let is_dictionary = |item: &Item<'_>| item.has("limit") || item.has("remaining") || item.has("reset");
    let (pairs, mut members): (Vec<_>, Vec<_>) = split(value, ',').map(Item::of).partition(is_dictionary);
    if !pairs.is_empty() {
        members.push(Item { name: "", params: pairs.into_iter().flat_map(|item| item.params).collect() });
    }
    members.into_iter()
}

/// Parts between separators that stand in no quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// `1s`, `1m`, or seconds.
fn interval(text: &str) -> Option<f64> {
    number(text).or_else(|| humantime::parse_duration(text.trim()).ok().map(|interval| interval.as_secs_f64()))
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "second" => Some(1.0),
        "minute" => Some(60.0),
        "hour" => Some(3600.0),
        _ => None,
    }
}

/// Seconds until a reset that is told as such, or as a moment: the two are told apart by their size.
fn from_now(reset: f64, now: Timestamp) -> f64 {
    let now = now.as_millisecond() as f64 / 1000.0;
    match reset {
        reset if reset >= AN_EPOCH_IN_MS => reset / 1000.0 - now,
        reset if reset >= AN_EPOCH => reset - now,
        reset => reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-29T18:00:00Z";

    fn read(lines: &[(&str, &str)]) -> Announced {
        Announced::read(lines.iter().copied(), NOW.parse().unwrap())
    }

    #[track_caller]
    fn rate(lines: &[(&str, &str)], expected: Option<f64>) {
        assert_eq!(read(lines).rate, expected, "{lines:?}");
    }

    #[track_caller]
    fn left(lines: &[(&str, &str)], expected: Left) {
        assert_eq!(read(lines).left, expected, "{lines:?}");
    }

    fn none(seconds: f64) -> Left {
        Left::None(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn the_tightest_policy_is_the_rate() {
        rate(&[("ratelimit-policy", "\"40-in-1sec\"; q=40; w=1; pk=:Zm9v:")], Some(40.0));
        rate(&[("RateLimit-Policy", "600;w=60")], Some(10.0));
        rate(&[("RateLimit-Policy", "10;w=1, 50;w=60, 1000;w=3600")], Some(1000.0 / 3600.0));
        rate(&[("RateLimit-Policy", "\"a, b; w=9\";q=100;w=10, \"b\";q=30;w=1")], Some(10.0));
        rate(&[("RateLimit-Policy", "40;w=1"), ("RateLimit-Policy", "300;w=60")], Some(5.0));
        rate(&[("RateLimit-Limit", "100, 100;w=10;burst=1000")], Some(10.0));
        rate(&[("X-Rate-Limit-Limit", "5"), ("X-Rate-Limit-Interval", "1s")], Some(5.0));
        rate(&[("X-Rate-Limit-Interval", "1m"), ("X-Rate-Limit-Limit", "90")], Some(1.5));
        rate(&[("X-RateLimit-Limit-Second", "3"), ("X-RateLimit-Limit-Hour", "7200")], Some(2.0));
    }

    #[test]
    fn what_says_nothing_of_the_pace_is_no_rate() {
        rate(&[("X-RateLimit-Limit", "5000"), ("X-RateLimit-Remaining", "4999")], None);
        rate(&[("RateLimit-Policy", "10000;w=86400")], None);
        rate(&[("X-RateLimit-Limit-Day", "10000")], None);
        rate(&[("RateLimit-Policy", "0;w=1, 5;w=0, 5;w=-1, \"x\";q=1e9;w=1, w=1, ;;,")], None);
        rate(&[("RateLimit-Policy", "\"40;w=1")], None);
        rate(&[("X-Rate-Limit-Limit", "5"), ("X-Rate-Limit-Interval", "soon")], None);
        rate(&[("Retry-After", "1"), ("X-Limit", "5"), ("RateLimiter", "5;w=1")], None);
    }

    #[test]
    fn no_call_left_means_a_wait_until_they_are_counted_anew() {
        left(&[("RateLimit", "\"40-in-1sec\"; r=0; t=1")], none(1.0));
        left(&[("RateLimit", "\"40-in-1sec\"; r=39; t=1")], Left::Some);
        left(&[("RateLimit", "\"a\"; r=3; t=1, \"b\"; r=0; t=20, \"c\"; r=0; t=7")], none(20.0));
        left(&[("RateLimit", "limit=100, remaining=0, reset=50")], none(50.0));
        left(&[("RateLimit-Remaining", "0"), ("RateLimit-Reset", "30")], none(30.0));
        left(&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "0.299")], none(0.299));
        left(&[("X-RateLimit-Reset", "1795975215"), ("X-RateLimit-Remaining", "0")], none(15.0));
        left(&[("X-RateLimit-Reset", "1795975215500"), ("X-RateLimit-Remaining", "0")], none(15.5));
        left(&[("x-ratelimit-remain", "0"), ("x-ratelimit-reset", "1795975260")], none(60.0));
        let date = ("Date", "Sun, 29 Nov 2026 18:00:10 GMT");
        left(&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1795975215"), date], none(5.0));
    }

    #[test]
    fn what_cannot_be_waited_for_is_no_wait() {
        left(&[("X-RateLimit-Remaining", "40"), ("X-RateLimit-Reset", "0")], Left::Some);
        left(&[("X-RateLimit-Remaining", "0")], Left::Unsaid);
        left(&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "0")], Left::Unsaid);
        left(&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1795975199")], Left::Unsaid);
        left(&[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "99999999")], Left::Unsaid);
        left(&[("X-RateLimit-Remaining", "-1"), ("X-RateLimit-Reset", "5")], Left::Unsaid);
        left(&[("RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "5")], Left::Unsaid);
        left(&[("X-RateLimit-Remaining", "none"), ("X-RateLimit-Reset", "soon")], Left::Unsaid);
    }

    #[test]
    fn the_calls_of_a_day_are_read_from_a_header_of_their_own() {
        assert!(read(&[("X-RateLimit-Remaining-Day", "0")]).is_day_spent);
        assert!(read(&[("X-Quota-Remaining-Day", "0")]).is_day_spent);
        assert!(!read(&[("X-RateLimit-Remaining-Day", "1")]).is_day_spent);
        assert!(!read(&[("X-RateLimit-Remaining-Day", "")]).is_day_spent);
        assert_eq!(read(&[("X-RateLimit-Remaining-Day", "0"), ("X-RateLimit-Reset", "9")]).left, Left::Unsaid);
    }
}
