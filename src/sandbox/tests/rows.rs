use std::collections::HashSet;

use super::client::*;
use crate::sandbox::render::escape_xml;
use crate::sandbox::{Scenario, Service, TrueRow};

#[tokio::test]
async fn both_formats_carry_the_true_rows_of_every_service() {
    let portal = portal("rows = 150").await;
    let mut client = Client::of(&portal).await;
    for service in Service::ALL {
        let truth = portal.truth(service, REGION, march());
        assert_eq!(truth.len(), 150, "{service}");
        let line = |format: &str| format!("GET {}?{}{format} HTTP/1.1\r\n\r\n", service.path(), page(1, 1000));

        client.send(&line("")).await;
        let xml = client.answer().await;
        let items: String = truth.iter().map(as_xml).collect();
        assert!(xml.text().contains(&format!("<items>{items}</items>")), "{service}");
        assert!(xml.text().ends_with("<totalCount>150</totalCount></body></response>"));
        assert_eq!(header(&xml.head, "content-type"), Some("application/xml;charset=UTF-8"));

        client.send(&line("&_type=json")).await;
        let json = client.answer().await.json();
        let rows = rows_of(&json["response"]["body"]);
        let expected: Vec<Row> =
            truth.into_iter().map(|row| row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).collect();
        assert_eq!(rows, expected, "{service}");
        assert_eq!(json["response"]["header"]["resultCode"], "000");
    }
}

fn as_xml(row: &TrueRow) -> String {
    let fields: String = row.iter().map(|(name, value)| format!("<{name}>{}</{name}>", escape_xml(value))).collect();
    format!("<item>{fields}</item>")
}

#[test]
fn rows_never_change_from_one_version_to_the_next() {
    let scenario = Scenario::default();
    let row = scenario.truth(Service::AptTrade, REGION, march()).swap_remove(0);
    assert_eq!(
        as_xml(&row),
        "<item><aptDong>118동</aptDong><aptNm>한마음</aptNm><buildYear>2013</buildYear>\
         <buyerGbn>개인</buyerGbn><cdealDay> </cdealDay><cdealType> </cdealType>\
         <dealAmount>   105,765</dealAmount><dealDay>17</dealDay><dealMonth>3</dealMonth>\
         <dealYear>2024</dealYear><dealingGbn>중개거래</dealingGbn>\
         <estateAgentSggNm>서울 종로구</estateAgentSggNm><excluUseAr>80.7393</excluUseAr><floor>16</floor>\
         <jibun>622</jibun><landLeaseholdGbn>N</landLeaseholdGbn><rgstDate>24.05.12</rgstDate>\
         <sggCd>11110</sggCd><slerGbn>개인</slerGbn><umdNm>반포동</umdNm></item>"
    );
    assert_ne!(row, scenario.truth(Service::AptTrade, "11140", march())[0]);
    assert_ne!(row, scenario.truth(Service::AptTrade, REGION, march().next())[0]);
    assert_ne!(row, scenario.truth(Service::AptTradeDev, REGION, march())[0]);
    assert_ne!(row, Scenario { seed: 1, ..scenario }.truth(Service::AptTrade, REGION, march())[0]);
}

#[test]
fn without_twins_ten_thousand_rows_all_differ() {
    let scenario = Scenario::from_toml("rows = 10_000").unwrap();
    for service in Service::ALL {
        let rows = scenario.truth(service, "41597", march());
        assert_eq!(rows.iter().collect::<HashSet<_>>().len(), 10_000, "{service}");
    }
}

#[test]
fn twins_are_neighbours_in_about_the_share_asked_for() {
    let scenario = Scenario::from_toml("rows = 10_000\ntwins = 0.02").unwrap();
    let rows = scenario.truth(Service::AptTrade, REGION, march());
    let twins = rows.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!((120..280).contains(&twins), "{twins}");
}

#[test]
fn rows_have_the_quirks_of_the_real_ones() {
    let scenario = Scenario::from_toml("rows = 2_000").unwrap();
    let rows = scenario.truth(Service::AptTrade, REGION, march());
    let count = |name: &str, fits: fn(&str) -> bool| {
        rows.iter().filter(|row| row.iter().any(|(field, value)| *field == name && fits(value))).count()
    };
    assert_eq!(count("sggCd", |value| value == "11110"), 2_000);
    assert_eq!(count("dealYear", |value| value == "2024"), 2_000);
    assert_eq!(count("dealMonth", |value| value == "3"), 2_000);
    assert_eq!(count("dealAmount", |value| value.contains(',')), 2_000);
    assert!(count("dealAmount", |value| value.starts_with("   ")) > 200);
    assert!((20..100).contains(&count("cdealType", |value| value == "O")), "1 to 5 % are cancelled");
    assert_eq!(count("cdealType", |value| value == "O"), count("cdealDay", |value| value.starts_with("24.04.")));
    assert!(count("aptDong", |value| value == " ") > 200);
    assert!(count("floor", |value| value == "-1") > 10);
    assert!(count("excluUseAr", |value| !value.contains('.')) > 50);
    assert!(count("aptNm", |value| value.contains('&')) > 10);
    assert!(count("jibun", |value| value.contains('-')) > 100);
}

#[tokio::test]
async fn one_row_is_an_object_and_no_rows_are_an_empty_text() {
    let portal = portal("rows = 1").await;
    let mut client = Client::of(&portal).await;
    let one = client.get(&format!("{}&_type=json", page(1, 10))).await.json();
    assert!(one["response"]["body"]["items"]["item"].is_object());
    let none = client.get("LAWD_CD=99999&DEAL_YMD=202403&pageNo=1&numOfRows=1&_type=json").await.text();
    assert_eq!(
        none,
        r#"{"response":{"header":{"resultCode":"000","resultMsg":"OK"},"body":{"items":"","numOfRows":1,"pageNo":1,"totalCount":0}}}"#
    );
    assert!(client.get("LAWD_CD=99999&DEAL_YMD=202403").await.text().contains("<body><items/><numOfRows>10</numOfRows>"));
}

#[tokio::test]
async fn what_is_not_there_is_success_with_no_rows() {
    let portal = portal("last_month = \"2024-06\"\nempty_regions = [\"28720\"]\nempty_months = [\"2020-01\"]").await;
    let mut client = Client::of(&portal).await;
    for query in [
        "LAWD_CD=42110&DEAL_YMD=202403",
        "LAWD_CD=41110&DEAL_YMD=202403",
        "LAWD_CD=1111&DEAL_YMD=202403",
        "LAWD_CD=11110&DEAL_YMD=202413",
        "LAWD_CD=11110&DEAL_YMD=2024",
        "LAWD_CD=11110&DEAL_YMD=202407",
        "LAWD_CD=11110&DEAL_YMD=200512",
        "LAWD_CD=11110&DEAL_YMD=202001",
        "LAWD_CD=28720&DEAL_YMD=202403",
        "lawd_cd=11110&deal_ymd=202403",
    ] {
        let got = client.get(query).await;
        assert!(got.text().contains("<resultCode>000</resultCode>"), "{query}");
        assert!(got.text().contains("<totalCount>0</totalCount>"), "{query}");
    }
    assert!(!client.get("LAWD_CD=11110&DEAL_YMD=202406").await.text().contains("<totalCount>0</totalCount>"));
}

#[tokio::test]
async fn pages_put_together_are_the_partition() {
    let portal = portal("rows = 250\npage_cap = 100").await;
    let mut client = Client::of(&portal).await;
    let truth = truth(&portal);
    let mut together = Vec::new();
    for (number, held) in [(1, 100), (2, 100), (3, 50), (4, 0)] {
        // The cap is silent: more is asked for, and the total stays.
        let (total, rows) = read_page(&mut client, number, 1000).await;
        assert_eq!((total, rows.len()), (250.into(), held), "page {number}");
        together.extend(rows);
    }
    assert_eq!(together, truth);
    assert_eq!(read_page(&mut client, 1, 0).await, (250.into(), vec![]));
}

#[tokio::test]
async fn certain_partitions_can_have_other_sizes() {
    let scenario = "rows = 7\n[[size]]\nregion = \"11110\"\nmonth = [\"2024-03\", \"2024-04\"]\nrows = { from = 20, to = 30 }";
    let portal = portal(scenario).await;
    let size = |region: &str, month: &str| portal.truth(Service::AptRent, region, month.parse().unwrap()).len();
    assert!((20..=30).contains(&size("11110", "2024-03")));
    assert_eq!(size("11110", "2024-05"), 7);
    assert_eq!(size("11140", "2024-03"), 7);
}
