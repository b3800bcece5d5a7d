//! The judge as a whole: what each answer of data.go.kr is.

mod answers;
mod codes;
mod cuts;
mod pages;
mod readers;

use bytes::Bytes;

use super::{RawAnswer, Reading, judge};
use crate::definition::dialect::Dialect;
use crate::model::outcome::{Judgement, Trouble};
use crate::model::page::Page;

fn data_go_kr() -> Dialect {
    Dialect::from_toml(include_str!("../../../config/dialects/data_go_kr.toml")).unwrap()
}

fn answer(status: u16, body: impl Into<Bytes>) -> RawAnswer {
    RawAnswer { status, content_type: None, retry_after: None, body: body.into() }
}

/// The bytes of a fixture.
fn fixture(file: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/data_go_kr/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The answer to a body that came with status 200.
fn judged(body: impl Into<Bytes>) -> Judgement {
    judge(&answer(200, body), &data_go_kr(), &Reading::default())
}

#[track_caller]
fn page(judgement: Judgement) -> Page {
    match judgement {
        Judgement::Page(page) | Judgement::Empty(page) => page,
        Judgement::Trouble(trouble) => panic!("{trouble}"),
    }
}

#[track_caller]
fn trouble(judgement: Judgement) -> Trouble {
    match judgement {
        Judgement::Page(page) | Judgement::Empty(page) => panic!("a page of {} rows", page.rows()),
        Judgement::Trouble(trouble) => trouble,
    }
}

/// A success of one row, around the source text of its fields.
fn json_row(fields: &str) -> String {
    json_body(&format!(r#""items":{{"item":[{{{fields}}}]}},"totalCount":1"#))
}

fn json_body(body: &str) -> String {
    format!(r#"{{"response":{{"header":{{"resultCode":"00","resultMsg":"OK"}},"body":{{{body}}}}}}}"#)
}

fn xml_row(fields: &str) -> String {
    xml_body(&format!("<items><item>{fields}</item></items><totalCount>1</totalCount>"))
}

fn xml_body(body: &str) -> String {
    format!("<response><header><resultCode>00</resultCode></header><body>{body}</body></response>")
}
