use super::*;
use crate::model::outcome::Outcome;

/// Cuts a body at every byte: each is asked for again, none is taken for an answer.
fn check(file: &str) {
    let (whole, dialect) = (fixture(file), data_go_kr());
    let whole = whole.trim_ascii_end();
    for end in 0..whole.len() {
        let outcome = judge(&answer(200, whole[..end].to_vec()), &dialect, &Reading::default()).outcome();
        assert_eq!(outcome, Outcome::Retry, "{file} cut at byte {end}");
    }
    assert_ne!(judge(&answer(200, whole.to_vec()), &dialect, &Reading::default()).outcome(), Outcome::Retry);
}

#[test]
fn a_body_cut_anywhere_is_asked_for_again() {
    check("trade_page.json");
    check("trade_empty.json");
    check("air_page.json");
    check("trade_page.xml");
    check("rent_page.xml");
    check("empty_items.xml");
    check("euc_kr_page.xml");
    check("gateway_30.xml");
}

#[test]
fn xml_cut_inside_its_stranger_parts_is_asked_for_again() {
    let whole = "<?xml version='1.0'?><!-- a > b --><response a='>'><![CDATA[ ]]><?pi a > b?><header><resultCode>00</resultCode></header>\
        <body><items><item><a>&#54620;&amp;<![CDATA[</item>]]>x</a></item></items><totalCount>1</totalCount></body></response>";
    for end in 0..whole.len() {
        assert_eq!(judged(whole[..end].to_owned()).outcome(), Outcome::Retry, "cut at byte {end}");
    }
    assert_eq!(judged(whole.to_owned()).outcome(), Outcome::Page);
}

#[test]
fn json_cut_inside_its_stranger_parts_is_asked_for_again() {
    let whole = json_row(r#""a":"\ud55c\n\\\"","b":-1.5e+10,"c":[true,false,null,{}],"d":{"e":[]}"#);
    for end in 0..whole.len() {
        assert_eq!(judged(whole[..end].to_owned()).outcome(), Outcome::Retry, "cut at byte {end}");
    }
    assert_eq!(judged(whole).outcome(), Outcome::Page);
}
