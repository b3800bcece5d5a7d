use super::*;
use crate::model::outcome::Outcome::{self, *};
use crate::model::outcome::Scope;

#[derive(Debug, PartialEq)]
struct Judged {
    outcome: Outcome,
    /// Of a trouble.
    scope: Option<Scope>,
    rows: u64,
    total: Option<u64>,
}

fn check(file: &str, status: u16, outcome: Outcome, scope: Option<Scope>, rows: u64, total: Option<u64>) {
    let judged = match judge(&answer(status, fixture(file)), &data_go_kr(), &Reading::default()) {
        Judgement::Page(page) => Judged { outcome: Page, scope: None, rows: page.rows(), total: page.total },
        Judgement::Empty(page) => Judged { outcome: Empty, scope: None, rows: page.rows(), total: page.total },
        Judgement::Trouble(trouble) => {
            Judged { outcome: trouble.kind.outcome(), scope: Some(trouble.scope), rows: 0, total: None }
        }
    };
    assert_eq!(judged, Judged { outcome, scope, rows, total }, "{file} with status {status}");
}

const ATTEMPT: Option<Scope> = Some(Scope::Attempt);
const JOB: Option<Scope> = Some(Scope::Job);
const API: Option<Scope> = Some(Scope::Api);
const RUN: Option<Scope> = Some(Scope::Run);

#[test]
fn a_success_envelope_is_a_page_whatever_the_status_around_it() {
    check("trade_page.json", 200, Page, None, 2, Some(2));
    check("trade_page.json", 403, Page, None, 2, Some(2));
    check("trade_page.json", 429, Page, None, 2, Some(2));
    check("trade_one.json", 200, Page, None, 1, Some(1));
    check("trade_page.xml", 200, Page, None, 2, Some(2));
    check("rent_page.xml", 200, Page, None, 1, Some(1));
    check("register_page.json", 200, Page, None, 1, Some(1));
    check("bare_page.json", 200, Page, None, 1, Some(1));
    check("flat_page.json", 200, Page, None, 1, Some(1));
    check("air_page.json", 200, Page, None, 2, Some(2));
    check("weather_page.json", 200, Page, None, 1, Some(1));
    check("population_page.json", 200, Page, None, 2, Some(2));
    check("euc_kr_page.xml", 200, Page, None, 1, Some(1));
}

#[test]
fn zero_rows_are_empty_only_when_a_total_of_0_or_a_code_proves_it() {
    check("trade_empty.json", 200, Empty, None, 0, Some(0));
    check("items_null.json", 200, Empty, None, 0, Some(0));
    check("empty_items.xml", 200, Empty, None, 0, Some(0));
    check("air_empty.json", 200, Empty, None, 0, Some(0));
    check("weather_no_data.json", 200, Empty, None, 0, None);
    check("trade_past_the_end.json", 200, Page, None, 0, Some(1204));
    check("population_silent.json", 200, Garbled, JOB, 0, None);
}

#[test]
fn an_error_is_known_in_each_of_its_envelopes() {
    check("gateway_01.xml", 200, Retry, ATTEMPT, 0, None);
    check("gateway_04.xml", 200, Retry, ATTEMPT, 0, None);
    check("gateway_12.xml", 200, Invalid, API, 0, None);
    check("gateway_12.xml", 400, Invalid, API, 0, None);
    check("gateway_22.xml", 200, Spent, API, 0, None);
    check("gateway_22.xml", 403, Spent, API, 0, None);
    check("gateway_22.xml", 429, Spent, API, 0, None);
    check("gateway_23_swapped.xml", 429, SlowDown, ATTEMPT, 0, None);
    check("gateway_30.xml", 200, Refused, API, 0, None);
    check("gateway_30_swapped.json", 403, Refused, API, 0, None);
    check("gateway_31.xml", 200, Refused, API, 0, None);
    check("gateway_32.xml", 200, Refused, RUN, 0, None);
    check("key_030.xml", 200, Refused, API, 0, None);
    check("weather_key_30.json", 200, Refused, API, 0, None);
    check("denied_20.xml", 200, Refused, API, 0, None);
    check("population_period_13.json", 200, TooBig, JOB, 0, None);
}

#[test]
fn an_error_wins_over_rows_and_total_beside_it() {
    for (code, outcome) in [("22", Spent), ("30", Refused), ("99", Retry), ("77", Garbled), ("", Garbled)] {
        let json = format!(
            r#"{{"response":{{"header":{{"resultCode":"{code}","resultMsg":"x"}},"body":{{"items":{{"item":[{{"a":1}}]}},"totalCount":1}}}}}}"#
        );
        let xml = format!(
            "<response><header><resultCode>{code}</resultCode><resultMsg>x</resultMsg></header>\
             <body><items><item><a>1</a></item></items><totalCount>1</totalCount></body></response>"
        );
        for body in [json, xml] {
            assert_eq!(judged(body.clone()).outcome(), outcome, "{body}");
        }
    }
}

#[test]
fn a_name_wins_over_the_number_beside_it() {
    check("quota_99.json", 200, Spent, API, 0, None);
    check("gateway_22_per_second.xml", 200, SlowDown, ATTEMPT, 0, None);
}

#[test]
fn a_known_text_means_the_same_with_and_without_its_status() {
    for status in [200, 401] {
        check("text_unauthorized.txt", status, Refused, API, 0, None);
    }
    for status in [200, 403] {
        check("text_forbidden.txt", status, Refused, API, 0, None);
    }
    for status in [200, 404] {
        check("text_not_found.txt", status, Invalid, API, 0, None);
    }
    for status in [200, 403, 429] {
        check("text_quota.txt", status, Spent, API, 0, None);
        check("text_rate.txt", status, SlowDown, ATTEMPT, 0, None);
    }
    for status in [200, 403, 500] {
        check("text_unexpected.txt", status, Retry, ATTEMPT, 0, None);
        check("text_unexpected_singular.txt", status, Retry, ATTEMPT, 0, None);
        check("text_forwarding.txt", status, Retry, ATTEMPT, 0, None);
        check("text_receiving.txt", status, Retry, ATTEMPT, 0, None);
        check("page_blocked.html", status, Refused, API, 0, None);
    }
}

#[test]
fn a_body_nobody_names_is_judged_by_its_status_and_else_is_garbled() {
    check("page_504.html", 504, Retry, ATTEMPT, 0, None);
    check("page_504.html", 200, Garbled, JOB, 0, None);
    check("page_504.html", 403, Refused, API, 0, None);
    check("page_504.html", 429, SlowDown, ATTEMPT, 0, None);
    check("page_script.html", 200, Garbled, JOB, 0, None);
    check("text_of_somebody.txt", 200, Garbled, JOB, 0, None);
    check("text_of_somebody.txt", 202, Later, ATTEMPT, 0, None);
    check("text_of_somebody.txt", 302, Garbled, JOB, 0, None);
    check("text_of_somebody.txt", 404, Invalid, API, 0, None);
    check("text_of_somebody.txt", 414, Invalid, JOB, 0, None);
    check("text_of_somebody.txt", 503, Retry, ATTEMPT, 0, None);
    check("other_family.json", 200, Garbled, JOB, 0, None);
    check("other_family.json", 503, Retry, ATTEMPT, 0, None);
    check("gateway_00.xml", 200, Garbled, JOB, 0, None);
    check("gateway_77.xml", 200, Garbled, JOB, 0, None);
}

#[test]
fn a_body_that_is_empty_or_cut_heals_by_itself() {
    check("nothing.txt", 200, Retry, ATTEMPT, 0, None);
    check("nothing.txt", 204, Retry, ATTEMPT, 0, None);
    check("nothing.txt", 202, Later, ATTEMPT, 0, None);
    check("nothing.txt", 401, Refused, API, 0, None);
    check("nothing.txt", 503, Retry, ATTEMPT, 0, None);
    check("cut.json", 200, Retry, ATTEMPT, 0, None);
    check("cut.xml", 200, Retry, ATTEMPT, 0, None);
    check("cut.json", 403, Refused, API, 0, None);
}

#[test]
fn a_trouble_says_code_and_name_and_what_to_do() {
    let check = |file: &str, status: u16, code: Option<&str>, why: &str| {
        let trouble = trouble(judge(&answer(status, fixture(file)), &data_go_kr(), &Reading::default()));
        assert_eq!((trouble.code.as_deref(), &*trouble.why), (code, why), "{file}");
    };
    check("gateway_22.xml", 200, Some("22"), "code 22 LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR");
    check("gateway_30_swapped.json", 403, Some("30"), "code 30 SERVICE_KEY_IS_NOT_REGISTERED_ERROR");
    check("key_030.xml", 200, Some("030"), "code 030 SERVICE_KEY_IS_NOT_REGISTERED_ERROR: 등록되지 않은 서비스키입니다.");
    check("gateway_77.xml", 200, Some("77"), "code 77: SERVICE ERROR; SOMETHING_NEW_ERROR");
    check("quota_99.json", 200, Some("99"), "code 99 LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR");
    check("text_quota.txt", 429, None, "HTTP status 429: `API token quota exceeded`");
    check("nothing.txt", 200, None, "HTTP status 200 with an empty body");
    check("nothing.txt", 503, None, "HTTP status 503");
    check(
        "population_silent.json",
        200,
        Some("0"),
        concat!(
            "HTTP status 200 with a success without total and without rows: ",
            r#"`{"Response":{"head":{"resultCode":"0"},"items":""}}`"#,
        ),
    );
    let hint = trouble(judged(fixture("gateway_30.xml"))).hint.unwrap();
    for cause in ["not applied for", "percent-encoded twice", "1 to 2 hours"] {
        assert!(hint.contains(cause), "{hint}");
    }
}

#[test]
fn what_the_server_asks_to_wait_goes_with_any_trouble() {
    let wait = Some(std::time::Duration::from_secs(7));
    for (status, body) in [(429, &b"slower"[..]), (503, b""), (200, b"{\"resultCode\":\"22\"}"), (200, b"{")] {
        let answer = RawAnswer { retry_after: wait, ..answer(status, body) };
        assert_eq!(trouble(judge(&answer, &data_go_kr(), &Reading::default())).retry_after, wait);
    }
}

#[test]
fn every_fixture_is_in_the_index() {
    let index = String::from_utf8(fixture("INDEX.md")).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/data_go_kr");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "INDEX.md" || index.contains(&format!("| {name} |")), "{name}");
    }
}
