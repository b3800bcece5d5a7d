use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::decode::xml;
use crate::model::outcome::Outcome;
use crate::model::tree::NodeKind;

/// A row of one field `a`, read: its kind and text.
fn check_field(body: String, kind: NodeKind, text: &str) {
    let page = page(judged(body.clone()));
    let field = page.records.iter().next().unwrap().field("a").unwrap();
    assert_eq!((field.kind(), field.text()), (kind, text), "{body}");
}

fn check_refused(body: impl Into<Bytes>, part: &str) {
    let body = body.into();
    let trouble = trouble(judged(body.clone()));
    assert_eq!(trouble.kind.outcome(), Outcome::Garbled, "{body:?}");
    assert!(trouble.why.contains(part), "{trouble} says nothing of {part}");
}

#[test]
fn an_xml_field_is_its_text_as_sent() {
    let text = |inner: &str, text: &str| check_field(xml_row(&format!("<a>{inner}</a>")), NodeKind::Text, text);
    text("  61,500", "  61,500");
    text(" ", " ");
    text("", "");
    text("해담 &amp; &lt;달담&gt; &quot;&apos;", "해담 & <달담> \"'");
    text("&#54620;&#xAE00;", "한글");
    text("a<![CDATA[<b>&amp;]]>c", "a<b>&amp;c");
    text("<![CDATA[]]>", "");
    text("a<!-- no -->b<?no?>c", "abc");
    text("a\r\nb\rc", "a\nb\nc");
    text("a&#13;b", "a\rb");
    text("a\0b&#0;", "a\u{FFFD}b\u{FFFD}");
    check_field(xml_row("<a/>"), NodeKind::Null, "");
    check_field(xml_row("<a />"), NodeKind::Null, "");
    check_field(xml_row("<a xmlns:x='y'>1</a >"), NodeKind::Text, "1");
    check_field(xml_row("<a xmlns:x='y'/>"), NodeKind::Null, "");
}

#[test]
fn blanks_beside_the_root_are_no_text_of_it() {
    let tree = Arc::new(xml::read("<?xml version='1.0'?>\n <a>1</a>\n".to_owned()).unwrap());
    assert_eq!(tree.root().child("a").unwrap().text(), "1");
}

#[test]
fn an_attribute_of_a_record_is_a_field() {
    let row = "<items><item id='7 &amp; 8'><a>1</a></item></items><totalCount>1</totalCount>";
    let page = page(judged(xml_body(row)));
    assert_eq!(page.records.iter().next().unwrap().field("@id").unwrap().text(), "7 & 8");
}

#[test]
fn xml_that_is_not_well_formed_is_refused() {
    check_refused("<a></b>", "malformed at byte 3: ill-formed document: expected `</a>`");
    check_refused("<a/><b/>", "beside its root element at byte 4");
    check_refused("<a/>x", "beside its root element");
    check_refused("x<a/>", "a text nobody knows");
    check_refused("<a/><![CDATA[x]]>", "beside its root element");
    check_refused("<a/>&amp;", "beside its root element");
    check_refused("<a/></a>", "does not match any open tag");
    check_refused("<a/><?xml version='1.0'?>", "beside its root element");
    check_refused("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "document type");
    check_refused("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "document type");
    check_refused("<a>&nbsp;</a>", "`&nbsp;`, which stands for nothing");
    check_refused("<a>&#1;</a>", "`&#1;`, which stands for nothing");
    check_refused("<a>this & that</a>", "malformed");
    check_refused("<a b='1' b='2'/>", "attribute of `a` that is malformed");
    check_refused("<a b=1/>", "attribute of `a` that is malformed");
    check_refused("<a b='<'/>", "`<` in an attribute of `a`");
    check_refused("<a b='&nbsp;'/>", "attribute of `a` that is malformed");
    check_refused("<a>\u{1b}</a>", "U+001B at byte 3");
    check_refused("<a>\u{FFFF}</a>", "U+FFFF at byte 3");
    check_refused("<a>x<b/></a>", "text between the elements of `a`");
    check_refused("<a><b/>x</a>", "text between the elements of `a`");
    check_refused("<a><!-- -- --></a>", "`--` was found in a comment");
    check_refused("<></>", "which is no name");
    check_refused("<1a/>", "calls something `1a`");
    check_refused("<a><!x></a>", "malformed");
}

#[test]
fn xml_is_read_64_elements_deep_and_no_deeper() {
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    check_refused(nested(64), "in no known envelope");
    check_refused(nested(65), "more than 64 elements");
    check_refused("<a>".repeat(100_000), "more than 64 elements");
}

#[test]
fn an_xml_element_has_at_most_1000_attributes() {
    let element = |count: usize| format!("<a {}/>", (0..count).map(|n| format!("a{n}='' ")).collect::<String>());
    check_refused(element(1_000), "in no known envelope");
    check_refused(element(1_001), "more than 1000 attributes");
}

#[test]
fn a_json_field_is_its_literal_as_sent() {
    let field = |literal: &str, kind: NodeKind, text: &str| check_field(json_row(&format!(r#""a":{literal}"#)), kind, text);
    field("12345678901234567890.10", NodeKind::Number, "12345678901234567890.10");
    field("-0", NodeKind::Number, "-0");
    field("1E+999", NodeKind::Number, "1E+999");
    field("true", NodeKind::Boolean, "true");
    field("null", NodeKind::Null, "");
    field(r#"" \"\\\/\b\f\n\r\t\ud55c\uD83D\uDE00""#, NodeKind::Text, " \"\\/\u{8}\u{c}\n\r\t한😀");
    field(r#""a\u0000b""#, NodeKind::Text, "a\u{FFFD}b");
    field(r#""""#, NodeKind::Text, "");
    check_field(json_row(r#""\u0061":"1""#), NodeKind::Text, "1");
    check_field(json_row(r#""a":"1","x\u0000":"2""#), NodeKind::Text, "1");
}

#[test]
fn json_that_is_not_well_formed_is_refused() {
    check_refused("{}{}", "malformed");
    check_refused("{} x", "malformed");
    check_refused("{a:1}", "malformed");
    check_refused("{'a':1}", "malformed");
    check_refused(r#"{"a":1,}"#, "malformed");
    check_refused(r#"{"a":NaN}"#, "malformed");
    check_refused(r#"{"a":007}"#, "malformed");
    check_refused(r#"{"a":+1}"#, "malformed");
    check_refused("{\"a\":\"\0\"}", "malformed");
    check_refused("{\"a\":\"\n\"}", "malformed");
    check_refused(r#"{"a":"\x"}"#, "malformed");
    check_refused(r#"{"a":"\ud800"}"#, "a broken text at byte 5");
    check_refused(r#"{"a":"\ud800x"}"#, "a broken text at byte 5");
    check_refused(r#"{"a":"\udc00"}"#, "a broken text at byte 5");
    check_refused(r#"{"\ud800":1}"#, "a broken text at byte 1");
    check_refused(r#"{"a":1,"b":2,"a":3}"#, "`a` twice in one object");
    check_refused(r#"{"a":1,"\u0061":3}"#, "`a` twice in one object");
    check_refused(r#"{"a":{"b":1,"a":2},"c":1,"a":3}"#, "`a` twice in one object");
    check_refused(b"{\"a\":\"\xff\"}".to_vec(), "is no UTF-8 from byte 6 on");
}

#[test]
fn json_is_read_64_values_deep_and_no_deeper() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check_refused(nested(64), "in no known envelope");
    check_refused(nested(65), "more than 64 values");
    check_refused(nested(100_000), "more than 64 values");
    check_refused("{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000), "more than 64 values");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#13;")
}

/// A text that either format can carry.
fn any_value() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| {
        text.replace(|c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r'), "").replace(['\u{FFFE}', '\u{FFFF}'], "")
    })
}

proptest! {
    #[test]
    fn any_fields_come_back_as_written_from_either_format(
        fields in prop::collection::btree_map("[A-Za-z_가-힣][A-Za-z0-9_.가-힣-]{0,20}", any_value(), 1..8),
    ) {
        let json: Vec<String> = fields.iter().map(|(name, value)| format!("{}:{}", serde_json::json!(name), serde_json::json!(value))).collect();
        let xml: String = fields.iter().map(|(name, value)| format!("<{name}>{}</{name}>", escaped(value))).collect();
        let (json, xml) = (page(judged(json_row(&json.join(",")))), page(judged(xml_row(&xml))));
        for page in [&json, &xml] {
            let read: Vec<(&str, &str)> = page.records.iter().next().unwrap().fields().map(|field| (field.name(), field.text())).collect();
            let written: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            prop_assert_eq!(read, written);
        }
        prop_assert_eq!(json.row_hashes, xml.row_hashes);
    }

    #[test]
    fn no_bytes_make_the_judge_panic_or_see_a_page(
        start in prop::sample::select(vec!["", "<", "{", "[", "<a>", "{\"a\":", "<?xml version='1.0' encoding='", "\u{feff}"]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        status in 100u16..600,
    ) {
        let body = [start.as_bytes(), &bytes].concat();
        let outcome = judge(&answer(status, body), &data_go_kr(), &Reading::default()).outcome();
        prop_assert!(!matches!(outcome, Outcome::Page | Outcome::Empty));
    }
}
