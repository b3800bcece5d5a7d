use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A calendar month, written `2024-03`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Month {
    /// Months since year 0: orders and counts without a calendar.
    index: u32,
}

/// Why a text is no [`Month`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a month: write it as `2024-03`, from 1900-01 to 2199-12")]
pub struct MonthError {
    text: String,
}

impl Month {
    const YEARS: std::ops::RangeInclusive<u32> = 1900..=2199;

    /// The month of `year` (1900 to 2199) and `month` (1 to 12), if there is one.
    pub fn new(year: u32, month: u32) -> Option<Self> {
        (Self::YEARS.contains(&year) && (1..=12).contains(&month)).then(|| Self { index: year * 12 + month - 1 })
    }

    pub fn containing(date: Date) -> Self {
        Self { index: date.year().unsigned_abs() as u32 * 12 + date.month().unsigned_abs() as u32 - 1 }
    }

    pub fn year(self) -> u32 {
        self.index / 12
    }

    /// 1 to 12.
    pub fn number(self) -> u32 {
        self.index % 12 + 1
    }

    pub fn back(self, months: u32) -> Self {
        Self { index: self.index.saturating_sub(months) }
    }

    pub fn next(self) -> Self {
        Self { index: self.index + 1 }
    }

    /// Months from `self` to `later`; 0 when `later` is not later.
    pub fn until(self, later: Self) -> u32 {
        later.index.saturating_sub(self.index)
    }

    /// Every month from `self` to `last`, both included.
    pub fn through(self, last: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.index..last.index + 1).map(|index| Self { index })
    }
}

impl FromStr for Month {
    type Err = MonthError;

    fn from_str(text: &str) -> Result<Self, MonthError> {
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        let month = match text.split_once('-') {
            Some((year, month)) if year.len() == 4 && month.len() == 2 => {
                digits(year).zip(digits(month)).and_then(|(year, month)| Self::new(year, month))
            }
            _ => None,
        };
        month.ok_or_else(|| MonthError { text: text.to_owned() })
    }
}

impl TryFrom<String> for Month {
    type Error = MonthError;

    fn try_from(text: String) -> Result<Self, MonthError> {
        text.parse()
    }
}

impl From<Month> for String {
    fn from(month: Month) -> Self {
        month.to_string()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year(), self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_four_digits_a_dash_and_two_digits() {
        let check = |text: &str, expected: Option<(u32, u32)>| {
            let month = text.parse::<Month>().ok();
            assert_eq!(month.map(|m| (m.year(), m.number())), expected, "{text}");
        };
        check("2024-03", Some((2024, 3)));
        check("2006-12", Some((2006, 12)));
        check("202413", None);
        check("2024-1", None);
        check("2024-13", None);
        check("2024-00", None);
        check("0000-00", None);
        check("+024-03", None);
        check("2024-03-01", None);
        check("", None);
    }

    #[test]
    fn months_count_over_the_turn_of_the_year() {
        let month: Month = "2024-01".parse().unwrap();
        assert_eq!(month.back(1).to_string(), "2023-12");
        assert_eq!(month.back(1).next(), month);
        assert_eq!(month.back(13).through(month).count(), 14);
        assert_eq!(month.until(month.back(1)), 0);
    }
}
