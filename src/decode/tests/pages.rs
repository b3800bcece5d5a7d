use super::*;
use crate::model::outcome::Outcome;
use crate::model::tree::NodeKind;

#[test]
fn a_page_keeps_what_was_sent() {
    let page = page(judged(fixture("register_page.json")));
    let row = page.records.iter().next().unwrap();
    let check = |name: &str, kind: NodeKind, text: &str| {
        let field = row.field(name).unwrap();
        assert_eq!((field.kind(), field.text()), (kind, text), "{name}");
    };
    check("mgmBldrgstPk", NodeKind::Number, "1234567890123456789012");
    check("totArea", NodeKind::Number, "1204.5");
    check("bldNm", NodeKind::Text, " ");
    check("crtnDay", NodeKind::Text, "20240105");
    assert_eq!((page.page_echo, page.code.as_deref(), page.has_more), (Some(1), Some("00"), None));
    assert_eq!(page.records.body().as_bytes(), fixture("register_page.json"));
}

#[test]
fn the_same_rows_have_the_same_hashes_in_either_format() {
    let json = r#""aptNm":"해담 & 달담","floor":11,"cdealType":" ""#;
    let xml = "<cdealType> </cdealType><floor>11</floor><aptNm>해담 &amp; 달담</aptNm>";
    assert_eq!(page(judged(json_row(json))).row_hashes, page(judged(xml_row(xml))).row_hashes);
}

#[test]
fn fields_that_count_rows_are_left_out_of_hashes() {
    let hash = |rnum: u32, volatile: &[String]| {
        let answer = answer(200, json_row(&format!(r#""rnum":{rnum},"a":"1""#)));
        page(judge(&answer, &data_go_kr(), &Reading { records: &[], volatile })).row_hashes
    };
    assert_eq!(hash(1, &["rnum".to_owned()]), hash(2, &["rnum".to_owned()]));
    assert_ne!(hash(1, &[]), hash(2, &[]));
}

#[test]
fn nothing_where_the_records_stand_is_no_rows() {
    let check = |body: &str| {
        let outcome = judged(if body.starts_with('<') { xml_body(body) } else { json_body(body) }).outcome();
        assert_eq!(outcome, Outcome::Empty, "{body}");
    };
    for items in
        [r#""""#, r#""\n ""#, "null", "[]", "{}", r#"{"item":[]}"#, r#"{"item":""}"#, r#"{"item":null}"#, r#"{"item":{}}"#]
    {
        check(&format!(r#""items":{items},"totalCount":0"#));
    }
    check(r#""totalCount":0"#);
    for items in ["<items/>", "<items></items>", "<items>\n</items>", "<items><item/></items>", ""] {
        check(&format!("{items}<totalCount>0</totalCount>"));
    }
}

#[test]
fn a_dataset_says_where_its_records_stand_instead() {
    let check = |places: &[&str], expected: Result<u64, &str>| {
        let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
        let answer = answer(200, json_body(r#""list":[{"a":1},{"a":2}],"totalCount":2"#));
        match (judge(&answer, &data_go_kr(), &Reading { records: &places, volatile: &[] }), expected) {
            (Judgement::Page(page), Ok(rows)) => assert_eq!(page.rows(), rows),
            (Judgement::Trouble(trouble), Err(part)) => assert!(trouble.why.contains(part), "{trouble}"),
            (judgement, _) => panic!("{judgement:?}"),
        }
    };
    check(&[], Ok(0));
    check(&["response.body.list"], Ok(2));
    check(&["response.body.rows[]", "response.body.list[]"], Ok(2));
    check(&["response..list"], Err("`response..list` is not a path"));
}

/// A success that is none after all.
fn check_garbled(body: &str, part: &str) {
    let trouble = trouble(judged(body.to_owned()));
    assert_eq!(trouble.kind.outcome(), Outcome::Garbled, "{body}");
    assert!(trouble.why.contains(part), "{trouble} says nothing of {part}");
}

#[test]
fn a_total_that_is_no_count_is_garbled() {
    let check = |total: &str| check_garbled(&json_body(&format!(r#""items":"","totalCount":{total}"#)), "is no count of rows");
    check("-1");
    check("1.5");
    check("1e18");
    check("99999999999999999999");
    check(r#""NaN""#);
    check("{}");
    check_garbled(&xml_body("<items/><totalCount>many</totalCount>"), "the total `many`");
    check_garbled(
        &xml_body("<totalCount>1</totalCount><totalCount>2</totalCount>"),
        "`response.body.totalCount` is there more than once",
    );
}

#[test]
fn a_code_for_no_data_with_rows_is_garbled() {
    let with = |body: &str| format!(r#"{{"response":{{"header":{{"resultCode":"03"}},"body":{{{body}}}}}}}"#);
    check_garbled(&with(r#""items":{"item":[{"a":1}]}"#), "a code for no data with 1 rows");
    check_garbled(&with(r#""items":"","totalCount":7"#), "a total of 7");
}

#[test]
fn zero_said_by_name_counts_only_beside_a_code_that_says_nothing_else() {
    let check = |code: &str, message: &str, expected: Outcome| {
        let body =
            format!(r#"{{"response":{{"header":{{"resultCode":"{code}","resultMsg":"{message}"}},"body":{{"totalCount":0}}}}}}"#);
        assert_eq!(judged(body).outcome(), expected, "{code} {message}");
    };
    check("00", "NODATA_ERROR", Outcome::Empty);
    check("77", "NO DATA", Outcome::Empty);
    check("22", "NODATA_ERROR", Outcome::Spent);
    check("77", "NO DATA SERVICE FOR THIS KEY", Outcome::Garbled);
    check("00", "LIMITED NUMBER OF SERVICE REQUESTS EXCEEDS", Outcome::Empty);
    check("00", "LIMITED NUMBER OF SERVICE REQUESTS EXCEEDS ERROR", Outcome::Spent);
}

#[test]
fn a_success_code_in_an_envelope_for_errors_is_garbled() {
    let gateway = String::from_utf8(fixture("gateway_00.xml")).unwrap();
    check_garbled(&gateway, "a success code in an envelope for errors");
}

#[test]
fn an_envelope_without_a_code_is_garbled() {
    check_garbled(r#"{"response":{"header":{}}}"#, "without a code");
    check_garbled(r#"{"response":{"header":{"resultCode":""},"body":{"totalCount":0}}}"#, "without a code");
    check_garbled(r#"{"response":{"header":{"resultCode":["00"]},"body":{"totalCount":0}}}"#, "without a code");
}

#[test]
fn records_that_are_no_records_are_garbled() {
    let items = |items: &str| json_body(&format!(r#""items":{items},"totalCount":1"#));
    check_garbled(&items(r#"{"row":[{"a":1}]}"#), "`response.body.items[]` is no list of records");
    check_garbled(&items(r#""ERROR""#), "is no list of records");
    check_garbled(&items(r#"{"item":"ERROR"}"#), "is no list of records");
    check_garbled(&items(r#"[{"a":1},null]"#), "record 2 of the page has no fields");
    check_garbled(&items(r#"["a"]"#), "record 1 of the page has no fields");
    check_garbled(&xml_body("<items><item/><item><a>1</a></item></items>"), "record 1 of the page has no fields");
    check_garbled(&xml_row("<a><b>1</b></a>"), "field `a` of record 1 of the page has elements");
    check_garbled(&xml_row("<a unit='m'>1</a>"), "field `a` of record 1 of the page has elements or attributes");
    check_garbled(&xml_row("<a>1</a><a>2</a>"), "has the field `a` twice");
    check_garbled(&xml_body("<items><item><a>1</a></item></items><items/>"), "field `item` of record 1");
}

#[test]
fn a_record_has_at_most_1000_fields_of_16_mib() {
    let fields = |count: usize| (0..count).map(|n| format!(r#""f{n}":1"#)).collect::<Vec<_>>().join(",");
    assert_eq!(page(judged(json_row(&fields(1_000)))).rows(), 1);
    check_garbled(&json_row(&fields(1_001)), "more than 1000 fields");
    let field = |length: usize| json_row(&format!(r#""a":"{}""#, "x".repeat(length)));
    assert_eq!(page(judged(field(16 << 20))).rows(), 1);
    check_garbled(&field((16 << 20) + 1), "field `a` of record 1 of the page is longer than");
}

#[test]
fn objects_and_lists_in_a_json_field_keep_their_source_text() {
    let page = page(judged(json_row(r#""a":{ "b" : [1.0, null] },"c":[ ]"#)));
    let row = page.records.iter().next().unwrap();
    assert_eq!(row.field("a").map(|field| (field.kind(), field.text())), Some((NodeKind::Object, r#"{ "b" : [1.0, null] }"#)));
    assert_eq!(row.field("c").map(|field| (field.kind(), field.text())), Some((NodeKind::Array, "[ ]")));
    assert_eq!(row.fields().count(), 2);
}

#[test]
fn a_page_number_that_makes_no_sense_is_none() {
    let echo = |echo: &str| page(judged(json_body(&format!(r#""totalCount":0,"pageNo":{echo}"#)))).page_echo;
    assert_eq!(echo("3"), Some(3));
    assert_eq!(echo(r#""3""#), Some(3));
    assert_eq!(echo("-1"), None);
    assert_eq!(echo(r#""""#), None);
}
