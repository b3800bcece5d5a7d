use super::*;
use crate::model::name::Name;

fn column(kind: ColumnType, format: Option<&str>) -> Column {
    Column {
        id: Name::literal("value"),
        field: "value".to_owned(),
        aliases: Vec::new(),
        kind,
        format: format.map(str::to_owned),
        null_marks: vec!["-".to_owned()],
        unit: None,
        label: None,
        label_ko: None,
    }
}

/// What is stored, spelled out; `None` is NULL.
fn read(rule: &ColumnRule, kind: NodeKind, text: &str) -> Result<Option<String>, ()> {
    let value = match kind {
        NodeKind::Object | NodeKind::Array => rule.read_nested(text.into()),
        NodeKind::Null | NodeKind::Text | NodeKind::Number | NodeKind::Boolean => rule.read(kind, text),
    };
    Ok(Some(match value {
        Stored::Unparsed => return Err(()),
        Stored::Null => return Ok(None),
        Stored::Text(text) => text.into_owned(),
        Stored::Short(text) => text.as_str().to_owned(),
        Stored::Integer(value) => value.to_string(),
        Stored::Real(value) => format!("{value:?}"),
    }))
}

fn reads(kind: ColumnType, format: Option<&str>, cases: &[(&str, &str)]) {
    let rule = ColumnRule::of(&column(kind, format), &["N/A".to_owned()]);
    for (text, expected) in cases {
        assert_eq!(read(&rule, NodeKind::Text, text), Ok(Some((*expected).to_owned())), "{kind} {format:?} {text:?}");
    }
}

fn keeps_verbatim(kind: ColumnType, format: Option<&str>, cases: &[&str]) {
    let rule = ColumnRule::of(&column(kind, format), &[]);
    for text in cases {
        assert_eq!(read(&rule, NodeKind::Text, text), Err(()), "{kind} {format:?} {text:?}");
    }
}

const ALL: [ColumnType; 9] = [
    ColumnType::Text,
    ColumnType::Code,
    ColumnType::Integer,
    ColumnType::Decimal,
    ColumnType::Date,
    ColumnType::Month,
    ColumnType::Time,
    ColumnType::Boolean,
    ColumnType::Json,
];

#[test]
fn blanks_and_null_marks_are_null_in_every_type() {
    for kind in ALL {
        let rule = ColumnRule::of(&column(kind, None), &["N/A".to_owned()]);
        for blank in ["", " ", "\t\n", "\u{3000}", "-", " - ", "N/A"] {
            assert_eq!(read(&rule, NodeKind::Text, blank), Ok(None), "{kind} {blank:?}");
        }
        assert_eq!(read(&rule, NodeKind::Null, "null"), Ok(None), "{kind}");
    }
}

#[test]
fn texts_and_codes_keep_everything_but_the_blanks_around_them() {
    for kind in [ColumnType::Text, ColumnType::Code] {
        reads(
            kind,
            None,
            &[("007", "007"), (" 래미안 1차 ", "래미안 1차"), ("1e5", "1e5"), ("a\0b", "a\u{fffd}b"), ("--", "--")],
        );
    }
}

#[test]
fn an_integer_is_sixty_four_bits_with_whole_groups_of_commas() {
    reads(
        ColumnType::Integer,
        None,
        &[
            ("0", "0"),
            ("-0", "0"),
            ("+7", "7"),
            ("007", "7"),
            ("   350,000", "350000"),
            ("1,000", "1000"),
            ("12,345,678", "12345678"),
            ("-1,000", "-1000"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
        ],
    );
    keeps_verbatim(
        ColumnType::Integer,
        None,
        &[
            "1,00",
            ",100",
            "100,",
            "1,,000",
            "1234,567",
            "9223372036854775808",
            "12345678901234567890123",
            "1.0",
            "1e3",
            "0x10",
            "1 000",
            "+",
            "--1",
            "１２",
            "Infinity",
        ],
    );
}

#[test]
fn a_decimal_is_stored_only_if_a_double_keeps_all_its_digits() {
    reads(
        ColumnType::Decimal,
        None,
        &[
            ("84.99", "84.99"),
            ("59.9600", "59.96"),
            ("1,234.5", "1234.5"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("-0", "0.0"),
            ("-0.10", "-0.1"),
            ("123456789012345", "123456789012345.0"),
            ("9007199254740992", "9007199254740992.0"),
            ("0.1234567890123456", "0.1234567890123456"),
            ("1e3", "1000.0"),
            ("1.5E-3", "0.0015"),
            ("0e999999999999", "0.0"),
            ("1e300", "1e300"),
            ("5e-324", "5e-324"),
            ("0.000000000000000000000000000001", "1e-30"),
        ],
    );
    keeps_verbatim(
        ColumnType::Decimal,
        None,
        &[
            "9007199254740993",
            "0.12345678901234567891",
            "1e999",
            "1e-999",
            "1e99999999999999999999",
            "1,00.5",
            "1.2.3",
            "1.5,000",
            ".",
            "e5",
            "1e",
            "NaN",
            "inf",
            "1_000",
        ],
    );
}

#[test]
fn dates_are_read_in_the_spelling_of_the_source() {
    reads(ColumnType::Date, None, &[("2024-03-09", "2024-03-09"), ("2024-02-29", "2024-02-29")]);
    reads(ColumnType::Date, Some("yyyymmdd"), &[("20240309", "2024-03-09")]);
    reads(ColumnType::Date, Some("yy.mm.dd"), &[("24.03.09", "2024-03-09"), ("99.12.31", "2099-12-31")]);
    reads(ColumnType::Date, Some("yyyy. m. d"), &[("2024. 3. 9", "2024-03-09"), ("2024. 12. 31", "2024-12-31")]);
    reads(ColumnType::Date, Some("yyyy년 mm월 dd일"), &[("2024년 03월 09일", "2024-03-09")]);
    keeps_verbatim(
        ColumnType::Date,
        None,
        &["20240309", "2023-02-29", "2024-13-01", "0000-00-00", "2024-3-9", "2024-03-09T00:00"],
    );
    keeps_verbatim(ColumnType::Date, Some("yyyymmdd"), &["99999999", "2024039", "202403090", "2024-03-09"]);
}

#[test]
fn months_and_times_are_read_in_the_spelling_of_the_source() {
    reads(ColumnType::Month, None, &[("2024-03", "2024-03")]);
    reads(ColumnType::Month, Some("yyyymm"), &[("202403", "2024-03")]);
    keeps_verbatim(ColumnType::Month, Some("yyyymm"), &["202400", "202413", "000001", "20243"]);
    reads(ColumnType::Time, None, &[("00:00", "00:00"), ("23:59:58", "23:59:58"), ("24:00", "24:00"), ("24:00:00", "24:00:00")]);
    reads(ColumnType::Time, Some("hhmm"), &[("0930", "09:30"), ("2400", "24:00")]);
    keeps_verbatim(ColumnType::Time, None, &["24:01", "25:00", "12:60", "12:30:60", "1230", "9:30"]);
}

#[test]
fn a_boolean_has_ten_spellings() {
    reads(ColumnType::Boolean, None, &[("Y", "1"), ("true", "1"), ("1", "1"), ("yes", "1"), ("T", "1")]);
    reads(ColumnType::Boolean, None, &[("n", "0"), ("False", "0"), ("0", "0"), ("NO", "0"), ("f", "0")]);
    keeps_verbatim(ColumnType::Boolean, None, &["2", "O", "ja", "truth"]);
}

#[test]
fn json_is_kept_as_source_text_and_other_types_take_no_object() {
    let check = |kind: ColumnType, node: NodeKind, text: &str, expected: Result<Option<&str>, ()>| {
        let rule = ColumnRule::of(&column(kind, None), &[]);
        assert_eq!(read(&rule, node, text), expected.map(|text| text.map(str::to_owned)), "{kind} {text}");
    };
    check(ColumnType::Json, NodeKind::Object, r#"{"b": 1.0, "a":2}"#, Ok(Some(r#"{"b": 1.0, "a":2}"#)));
    check(ColumnType::Json, NodeKind::Text, "[1,2]", Ok(Some("[1,2]")));
    check(ColumnType::Json, NodeKind::Number, "1e5", Ok(Some("1e5")));
    check(ColumnType::Json, NodeKind::Text, "{broken", Err(()));
    check(ColumnType::Text, NodeKind::Object, r#"{"a":2}"#, Err(()));
    check(ColumnType::Integer, NodeKind::Array, "[1]", Err(()));
    check(ColumnType::Text, NodeKind::Number, "1.50", Ok(Some("1.50")));
}

proptest::proptest! {
    #[test]
    fn every_double_is_read_back_from_its_shortest_spelling(double in proptest::num::f64::NORMAL) {
        proptest::prop_assert_eq!(number::decimal(&format!("{double:e}")), Some(double));
    }

    #[test]
    fn no_text_stops_the_program(text in "[-+0-9.,eE ]{0,40}") {
        if let Some(double) = number::decimal(&text) {
            proptest::prop_assert!(double.is_finite());
        }
        number::integer(&text);
    }
}
