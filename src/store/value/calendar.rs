//! Dates, months and times in the spelling a source uses.

use std::fmt;
use std::io::Write;

use jiff::civil::Date;

/// How a source writes a date, month or time: `yyyymmdd`, `yy.mm.dd`, `hh:mm:ss`.
///
/// Tokens: `yyyy`, `yy` (of the years 2000 to 2099), `mm`, `dd`, `hh`, `ss` of two digits, `m`, `d`, `h` of one or two.
/// After an hour `mm` is a minute. Anything else stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Number { of: Unit, min: usize, max: usize },
    Literal(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Year,
    YearOfCentury,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// A short text without an allocation: `2024-03-09` is the longest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortText {
    bytes: [u8; 10],
    len: u8,
}

#[derive(Default)]
struct Found {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    hour: Option<u32>,
    minute: Option<u32>,
    second: Option<u32>,
}

impl Pattern {
    pub fn new(format: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = format;
        while let Some(letter) = rest.chars().next() {
            let run = rest.chars().take_while(|c| *c == letter).count();
            let has_hour = parts.iter().any(|part| matches!(part, Part::Number { of: Unit::Hour, .. }));
            let number = |of, min, max| Part::Number { of, min, max };
            let part = match (letter, run) {
                ('y', 4) => number(Unit::Year, 4, 4),
                ('y', 2) => number(Unit::YearOfCentury, 2, 2),
                ('m', 1 | 2) => number(if has_hour { Unit::Minute } else { Unit::Month }, run, 2),
                ('d', 1 | 2) => number(Unit::Day, run, 2),
                ('h', 1 | 2) => number(Unit::Hour, run, 2),
                ('s', 2) => number(Unit::Second, 2, 2),
                _ => {
                    parts.extend(std::iter::repeat_n(Part::Literal(letter), run));
                    rest = &rest[letter.len_utf8() * run..];
                    continue;
                }
            };
            parts.push(part);
            rest = &rest[run..];
        }
        Self(parts)
    }

    /// `2024-03-09`, for a day there is.
    pub fn date(&self, text: &str) -> Option<ShortText> {
        let found = self.find(text)?;
        let (year, month, day) = (found.year?, found.month?, found.day?);
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
        (year > 0).then(|| ShortText::of(format_args!("{year:04}-{month:02}-{day:02}")))
    }

    /// `2024-03`.
    pub fn month(&self, text: &str) -> Option<ShortText> {
        let found = self.find(text)?;
        let (year, month) = (found.year?, found.month?);
        (year > 0 && (1..=12).contains(&month)).then(|| ShortText::of(format_args!("{year:04}-{month:02}")))
    }

    /// `23:59` or `23:59:58`; `24:00` is the end of a day.
    pub fn time(&self, text: &str) -> Option<ShortText> {
        let found = self.find(text)?;
        let (hour, minute) = (found.hour?, found.minute?);
        let is_end_of_day = hour == 24 && minute == 0 && found.second.unwrap_or(0) == 0;
        let is_time = hour <= 23 && minute <= 59 && found.second.unwrap_or(0) <= 59;
        (is_time || is_end_of_day).then(|| match found.second {
            Some(second) => ShortText::of(format_args!("{hour:02}:{minute:02}:{second:02}")),
            None => ShortText::of(format_args!("{hour:02}:{minute:02}")),
        })
    }

    fn find(&self, text: &str) -> Option<Found> {
        let mut found = Found::default();
        let mut rest = text;
        for part in &self.0 {
            match *part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal)?,
                Part::Number { of, min, max } => {
                    let len = rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
                    if len < min {
                        return None;
                    }
                    let number = rest[..len].parse().ok()?;
                    let place = match of {
                        Unit::Year | Unit::YearOfCentury => &mut found.year,
                        Unit::Month => &mut found.month,
                        Unit::Day => &mut found.day,
                        Unit::Hour => &mut found.hour,
                        Unit::Minute => &mut found.minute,
                        Unit::Second => &mut found.second,
                    };
                    *place = Some(if of == Unit::YearOfCentury { 2000 + number } else { number });
                    rest = &rest[len..];
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

impl ShortText {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).expect("it was written as text")
    }

    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut bytes = [0; 10];
        let mut free = &mut bytes[..];
        free.write_fmt(text).expect("no date or time is longer");
        let len = 10 - free.len() as u8;
        Self { bytes, len }
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
