use std::fmt;

use jiff::civil::Date;

use crate::model::month::Month;
use crate::model::name::Name;

/// What a whole snapshot holds, as far as it is compared with the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub rows: u64,
    /// Different rows among them.
    pub distinct: u64,
    /// Columns that are NULL in every row, in the order of the definition; none where there are no rows.
    pub empty_columns: Vec<Name>,
}

/// How much of a snapshot may be missing from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// The month has been over for long: its rows are mended, not taken back.
    Closed,
    /// Rows still come and go.
    Open,
}

/// Why a whole snapshot is held instead of taking the place of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspicion {
    ZeroAfterRows {
        before: u64,
    },
    /// `before` and `now` are rows, or different rows, whichever lost more.
    FewerRows {
        before: u64,
        now: u64,
        tolerated: u64,
    },
    /// Columns that had values before and have none now.
    ColumnsEmpty {
        columns: Vec<Name>,
    },
}

impl Tolerance {
    /// Rows that may always be missing, however few there were.
    pub const ROWS: u64 = 3;
    /// Days after its end from which a month is closed.
    pub const CLOSED_AFTER_DAYS: i32 = 90;

    /// What a month tolerates on `today`, the provider's day; without a month, what an open one does.
    pub fn of(month: Option<Month>, today: Date) -> Self {
        let end = month.map(|month| {
            let next = month.next();
            Date::new(next.year() as i16, next.number() as i8, 1).expect("a month is in a calendar year")
        });
        let days_since_end = end.map(|end| (today - end).get_days());
        match days_since_end {
            Some(days) if days > Self::CLOSED_AFTER_DAYS => Self::Closed,
            Some(_) | None => Self::Open,
        }
    }

    /// Rows that may be missing where there were `before`.
    pub fn rows(self, before: u64) -> u64 {
        let share = match self {
            Self::Closed => before / 100,
            Self::Open => before / 5,
        };
        share.max(Self::ROWS)
    }
}

/// What is suspicious about a whole snapshot beside the one it would take the place of.
///
/// Twins do not make up for rows that are gone: rows and different rows are judged alike.
pub fn suspicion(before: &Content, now: &Content, tolerance: Tolerance) -> Option<Suspicion> {
    if before.rows > 0 && now.rows == 0 {
        return Some(Suspicion::ZeroAfterRows { before: before.rows });
    }
    let counts = [(before.rows, now.rows), (before.distinct, now.distinct)];
    let (most, left) = counts.into_iter().max_by_key(|(before, now)| before.saturating_sub(*now))?;
    let tolerated = tolerance.rows(most);
    if most.saturating_sub(left) > tolerated {
        return Some(Suspicion::FewerRows { before: most, now: left, tolerated });
    }
    let is_new = |column: &&Name| before.rows > 0 && !before.empty_columns.contains(column);
    let columns: Vec<Name> = now.empty_columns.iter().filter(is_new).cloned().collect();
    (!columns.is_empty()).then_some(Suspicion::ColumnsEmpty { columns })
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAfterRows { before } => write!(f, "no row came, after {before} the last time"),
            Self::FewerRows { before, now, tolerated } => {
                write!(f, "{now} of {before} rows came: more than {tolerated} are missing")
            }
            Self::ColumnsEmpty { columns } => {
                let names: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
                write!(f, "no row has a value any more in {}", names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(rows: u64, distinct: u64, empty_columns: &[&'static str]) -> Content {
        Content { rows, distinct, empty_columns: empty_columns.iter().copied().map(Name::literal).collect() }
    }

    fn check(tolerance: Tolerance, before: u64, now: u64, expected: Option<&str>) {
        let found = suspicion(&content(before, before, &[]), &content(now, now, &[]), tolerance);
        assert_eq!(found.map(|found| found.to_string()).as_deref(), expected, "{tolerance:?}: {before} -> {now}");
    }

    #[test]
    fn a_closed_month_may_lose_three_rows_or_one_in_a_hundred() {
        let check = |before, now, expected| check(Tolerance::Closed, before, now, expected);
        check(0, 0, None);
        check(0, 500, None);
        check(4, 1, None);
        check(5, 1, Some("1 of 5 rows came: more than 3 are missing"));
        check(100, 97, None);
        check(100, 96, Some("96 of 100 rows came: more than 3 are missing"));
        check(1000, 990, None);
        check(1000, 989, Some("989 of 1000 rows came: more than 10 are missing"));
        check(1000, 1001, None);
    }

    #[test]
    fn an_open_month_may_lose_one_row_in_five() {
        let check = |before, now, expected| check(Tolerance::Open, before, now, expected);
        check(4, 1, None);
        check(100, 80, None);
        check(100, 79, Some("79 of 100 rows came: more than 20 are missing"));
    }

    #[test]
    fn zero_after_rows_is_suspicious_however_few_there_were() {
        for tolerance in [Tolerance::Closed, Tolerance::Open] {
            check(tolerance, 1, 0, Some("no row came, after 1 the last time"));
            check(tolerance, 118, 0, Some("no row came, after 118 the last time"));
        }
    }

    #[test]
    fn twins_do_not_make_up_for_rows_that_are_gone() {
        let found = suspicion(&content(100, 100, &[]), &content(100, 50, &[]), Tolerance::Open);
        assert_eq!(found, Some(Suspicion::FewerRows { before: 100, now: 50, tolerated: 20 }));
    }

    #[test]
    fn a_column_that_had_values_and_has_none_is_suspicious() {
        let check = |before: Content, now: Content, expected: Option<&str>| {
            let found = suspicion(&before, &now, Tolerance::Open);
            assert_eq!(found.map(|found| found.to_string()).as_deref(), expected);
        };
        check(content(9, 9, &[]), content(9, 9, &["apt", "area"]), Some("no row has a value any more in `apt`, `area`"));
        check(content(9, 9, &["apt"]), content(9, 9, &["apt"]), None);
        check(content(9, 9, &["apt"]), content(9, 9, &[]), None);
        // Nothing is known of columns where there was no row.
        check(content(0, 0, &[]), content(9, 9, &["apt"]), None);
    }

    #[test]
    fn a_month_is_closed_ninety_days_after_its_end() {
        let check = |month: Option<&str>, today: &str, expected: Tolerance| {
            let month = month.map(|month| month.parse().unwrap());
            assert_eq!(Tolerance::of(month, today.parse().unwrap()), expected, "{month:?} on {today}");
        };
        check(Some("2024-01"), "2024-01-31", Tolerance::Open);
        check(Some("2024-01"), "2024-05-01", Tolerance::Open);
        check(Some("2024-01"), "2024-05-02", Tolerance::Closed);
        check(Some("2024-12"), "2025-04-01", Tolerance::Open);
        check(Some("2024-12"), "2025-04-02", Tolerance::Closed);
        check(Some("2025-12"), "2024-01-01", Tolerance::Open);
        check(None, "2024-01-01", Tolerance::Open);
    }
}
