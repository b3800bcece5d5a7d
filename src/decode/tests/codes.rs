use std::fmt::Write;

use super::*;
use crate::definition::rule::Rule;
use crate::definition::spelling::Code;

fn line(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Page(page) => format!("page of {} rows", page.rows()),
        Judgement::Empty(_) => "empty".to_owned(),
        Judgement::Trouble(trouble) => format!("{}, {}", trouble.kind.outcome(), trouble.scope),
    }
}

/// Adds a line for each run of numbers with the same answer.
fn table(of: &mut String, numbers: std::ops::RangeInclusive<u16>, answer: impl Fn(u16) -> String) {
    let mut runs: Vec<(u16, u16, String)> = Vec::new();
    for number in numbers {
        let answer = answer(number);
        match runs.last_mut() {
            Some((_, last, same)) if *same == answer => *last = number,
            _ => runs.push((number, number, answer)),
        }
    }
    for (first, last, answer) in runs {
        let numbers = if first == last { format!("{first:02}") } else { format!("{first:02}..{last:02}") };
        writeln!(of, "{numbers:<9} {answer}").unwrap();
    }
}

#[test]
fn every_code_name_text_and_status_has_its_answer() {
    let dialect = data_go_kr();
    let with = |code: &str, message: &str| {
        let body =
            format!(r#"{{"response":{{"header":{{"resultCode":"{code}","resultMsg":"{message}"}},"body":{{"totalCount":0}}}}}}"#);
        line(&judge(&answer(200, body), &dialect, &Reading::default()))
    };
    let text = |status: u16, body: &str| line(&judge(&answer(status, body.to_owned()), &dialect, &Reading::default()));
    let mut all = String::from("# codes\n");
    table(&mut all, 0..=300, |code| with(&format!("{code:02}"), ""));
    all.push_str("# names, each beside the code 99\n");
    for token in dialect.rules().iter().flat_map(|rule: &Rule| &rule.tokens) {
        writeln!(all, "{token}: {}", with("99", &token.to_string())).unwrap();
    }
    all.push_str("# texts, with status 200\n");
    for known in dialect.rules().iter().flat_map(|rule| &rule.texts) {
        writeln!(all, "{known}: {}", text(200, &known.to_string())).unwrap();
    }
    all.push_str("# statuses of a text nobody knows\n");
    table(&mut all, 200..=599, |status| text(status, "something else"));
    all.push_str("# statuses of an empty body\n");
    table(&mut all, 200..=599, |status| text(status, ""));
    insta::assert_snapshot!(all);
}

#[test]
fn every_rule_says_what_to_do_in_sentences() {
    let dialect = data_go_kr();
    let rulings = dialect.rules().iter().filter_map(|rule| match &rule.meaning {
        crate::definition::rule::Meaning::Trouble(ruling) => Some(ruling),
        crate::definition::rule::Meaning::NoData { .. } => None,
    });
    for ruling in rulings.chain([dialect.unknown_code(), dialect.empty_body()]) {
        assert!(ruling.hint.ends_with('.') && ruling.hint.len() > 20, "{}", ruling.hint);
        assert!(!ruling.source.trim().is_empty());
    }
}

#[test]
fn success_is_each_spelling_of_zero_and_200() {
    let dialect = data_go_kr();
    let check = |code: &str, expected: bool| assert_eq!(dialect.is_success(&Code::new(code)), expected, "{code}");
    for code in ["0", "00", "000", "0000", "200", " 00 "] {
        check(code, true);
    }
    for code in ["", "03", "2", "20", "OK", "INFO-000", "-0"] {
        check(code, false);
    }
}
