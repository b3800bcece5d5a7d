use crate::model::month::{Month, MonthError};

/// A SPAN of months: `2024-01`, `2024-01..2024-12`, `2006-01..`, `last:3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: Month,
    pub last: Month,
}

/// Why a text names no months.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    #[error("`{text}` is not a span of months: write `2024-01`, `2024-01..2024-12`, `2006-01..` or `last:3`")]
    Shape {
        text: String,
        #[source]
        source: Option<MonthError>,
    },
    #[error("the span `{text}` ends before it begins")]
    Backwards { text: String },
    #[error("{month} is in the future; the current month there is {current}")]
    Future { month: Month, current: Month },
    #[error("the source has no month before {first}, and `{text}` ends before it")]
    BeforeFirst { text: String, first: Month },
}

impl Span {
    /// The months a text names when `current` is the current month in the provider's zone.
    pub fn parse(text: &str, current: Month) -> Result<Self, SpanError> {
        let shape = |source: Option<MonthError>| SpanError::Shape { text: text.to_owned(), source };
        let month = |part: &str| part.trim().parse::<Month>().map_err(|error| shape(Some(error)));
        let span = if let Some(count) = text.trim().strip_prefix("last:") {
            let count: u32 = count.trim().parse().ok().filter(|count| (1..=1200).contains(count)).ok_or_else(|| shape(None))?;
            Self { first: current.back(count - 1), last: current }
        } else {
            match text.split_once("..") {
                None => {
                    let only = month(text)?;
                    Self { first: only, last: only }
                }
                Some((first, "")) => Self { first: month(first)?, last: current },
                Some((first, last)) => Self { first: month(first)?, last: month(last)? },
            }
        };
        match span {
            Self { first, .. } if first > current => Err(SpanError::Future { month: first, current }),
            Self { last, .. } if last > current => Err(SpanError::Future { month: last, current }),
            Self { first, last } if last < first => Err(SpanError::Backwards { text: text.to_owned() }),
            span => Ok(span),
        }
    }

    /// The part of it that begins with the first month a source has; says whether anything was cut off.
    pub fn clipped(self, first: Month, text: &str) -> Result<(Self, Clipped), SpanError> {
        if self.last < first {
            return Err(SpanError::BeforeFirst { text: text.to_owned(), first });
        }
        let clipped = if self.first < first { Clipped::Yes } else { Clipped::No };
        Ok((Self { first: self.first.max(first), ..self }, clipped))
    }

    pub fn months(self) -> impl Iterator<Item = Month> {
        self.first.through(self.last)
    }
}

/// Whether a span began before the source does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clipped {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn month(text: &str) -> Month {
        text.parse().unwrap()
    }

    #[test]
    fn a_span_is_a_month_two_months_an_open_end_or_the_last_few() {
        let check = |text: &str, first: &str, last: &str| {
            let span = Span::parse(text, month("2026-11")).unwrap();
            assert_eq!((span.first.to_string().as_str(), span.last.to_string().as_str()), (first, last), "{text}");
        };
        check("2024-01", "2024-01", "2024-01");
        check("2024-01..2024-12", "2024-01", "2024-12");
        check("2006-01..", "2006-01", "2026-11");
        check("last:3", "2026-09", "2026-11");
        check("last:1", "2026-11", "2026-11");
        check("2026-11", "2026-11", "2026-11");
    }

    #[test]
    fn everything_else_is_refused_with_the_reason() {
        let check = |text: &str, part: &str| {
            let error = Span::parse(text, month("2026-11")).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        for text in ["202413", "2024-1", "", "2024-13", "..", "..2024-01", "last:0", "last:x", "last:-1", "2024-01...2024-03"] {
            check(text, "is not a span of months");
        }
        check("2024-12..2024-01", "ends before it begins");
        check("2026-12", "2026-12 is in the future; the current month there is 2026-11");
        check("2024-01..2027-01", "2027-01 is in the future");
    }

    #[test]
    fn a_span_is_clipped_to_what_the_source_has() {
        let span = Span::parse("2001-01..2007-01", month("2026-11")).unwrap();
        let (clipped, was_clipped) = span.clipped(month("2006-01"), "x").unwrap();
        assert_eq!((clipped.first, clipped.last, was_clipped), (month("2006-01"), month("2007-01"), Clipped::Yes));
        assert_eq!(clipped.clipped(month("2006-01"), "x").unwrap().1, Clipped::No);
        assert!(matches!(clipped.clipped(month("2010-01"), "x"), Err(SpanError::BeforeFirst { .. })));
    }
}
