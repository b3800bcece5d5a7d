//! How long judging a page of 1,000 rows takes: `cargo bench --bench decode`.
//!
//! Bars, on one core: 4 ms for JSON, 12 ms for XML.

use std::fmt::Write;
use std::time::{Duration, Instant};

use gapless::decode::{RawAnswer, Reading, judge};
use gapless::definition::dialect::Dialect;
use gapless::model::outcome::Judgement;

const ROWS: usize = 1_000;
const FIELDS: usize = 20;

fn main() {
    let dialect = Dialect::from_toml(include_str!("../config/dialects/data_go_kr.toml")).expect("the dialect is well formed");
    report("json", json(), Duration::from_millis(4), &dialect);
    report("xml", xml(), Duration::from_millis(12), &dialect);
}

/// Prints the best of many runs: what the machine does besides only ever adds.
fn report(format: &str, body: String, bar: Duration, dialect: &Dialect) {
    let bytes = body.len();
    let answer = RawAnswer { status: 200, content_type: None, retry_after: None, body: body.into() };
    let best = (0..50)
        .map(|_| {
            let start = Instant::now();
            let judgement = judge(&answer, dialect, &Reading::default());
            let took = start.elapsed();
            assert!(matches!(judgement, Judgement::Page(page) if page.rows() == ROWS as u64));
            took
        })
        .min()
        .expect("there were runs");
    let verdict = if best <= bar { "within" } else { "above" };
    println!("{format:<5} {bytes:>7} bytes  {best:>10.2?}  {verdict} the bar of {bar:?}");
}

fn value(row: usize, field: usize) -> String {
    match field % 4 {
        0 => format!("  {row},{field:03}"),
        1 => "한들마을".to_owned(),
        2 => " ".to_owned(),
        _ => (row * FIELDS + field).to_string(),
    }
}

fn json() -> String {
    let mut rows = Vec::new();
    for row in 0..ROWS {
        let fields: Vec<String> = (0..FIELDS).map(|field| format!(r#""fieldName{field:02}":"{}""#, value(row, field))).collect();
        rows.push(format!("{{{}}}", fields.join(",")));
    }
    let rows = rows.join(",");
    format!(
        r#"{{"response":{{"header":{{"resultCode":"000"}},"body":{{"items":{{"item":[{rows}]}},"pageNo":1,"totalCount":{ROWS}}}}}}}"#
    )
}

fn xml() -> String {
    let mut rows = String::new();
    for row in 0..ROWS {
        rows.push_str("<item>");
        for field in 0..FIELDS {
            write!(rows, "<fieldName{field:02}>{}</fieldName{field:02}>", value(row, field)).expect("a string takes any text");
        }
        rows.push_str("</item>");
    }
    format!(
        "<response><header><resultCode>000</resultCode></header><body><items>{rows}</items><pageNo>1</pageNo>\
         <totalCount>{ROWS}</totalCount></body></response>"
    )
}
