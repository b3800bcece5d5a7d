use serde_json::Value;

use super::client::*;

/// What a page of 100 shows while a fault plays: its total, and which true rows, by index.
async fn check(content: &str, pages: &[(u64, Value, Vec<usize>)]) {
    let portal = portal(&format!("rows = 250\n[[fault]]\n{content}")).await;
    let mut client = Client::of(&portal).await;
    let truth = truth(&portal);
    for (number, total, indexes) in pages {
        let (seen_total, rows) = read_page(&mut client, *number, 100).await;
        assert_eq!(seen_total, *total, "total of page {number} under {content}");
        let expected: Vec<Row> = indexes.iter().map(|index| truth[*index].clone()).collect();
        assert!(rows == expected, "rows of page {number} under {content}: {} of {}", rows.len(), expected.len());
    }
}

fn rows(range: std::ops::Range<usize>) -> Vec<usize> {
    range.collect()
}

#[tokio::test]
async fn a_total_can_be_wrong_in_every_way() {
    let first = || rows(0..100);
    check("content = { kind = \"total_off\", by = 7 }", &[(1, 257.into(), first())]).await;
    check("content = { kind = \"total_off\", by = -300 }", &[(1, 0.into(), first())]).await;
    check("content = { kind = \"total_is\", text = \"0\" }", &[(1, 0.into(), first())]).await;
    check("content = { kind = \"total_is\", text = \"1,234\" }", &[(1, "1,234".into(), first())]).await;
    check("content = { kind = \"total_is\", text = \"\" }", &[(1, "".into(), first())]).await;
    check("content = { kind = \"total_missing\" }", &[(1, Value::Null, first())]).await;
}

#[tokio::test]
async fn a_total_can_move_for_ever_or_until_a_later_reading() {
    let grows = "page = { from = 2 }\ncontent = { kind = \"total_off\", by = 100 }";
    let (p1, p2) = ((1, 250.into(), rows(0..100)), (2, 350.into(), rows(100..200)));
    check(grows, &[p1.clone(), p2.clone(), p1.clone(), p2.clone(), p1.clone(), p2.clone()]).await;

    let settled = (2, 250.into(), rows(100..200));
    check(&format!("{grows}\nread = 1"), &[p1.clone(), p2.clone(), p1.clone(), settled.clone()]).await;
    let third = [p1.clone(), p2.clone(), p1.clone(), p2, p1, settled];
    check(&format!("{grows}\nread = [1, 2]"), &third).await;
}

#[tokio::test]
async fn a_partition_can_change_its_size_between_pages() {
    let page_two = |total: u64, rows| (2, total.into(), rows);
    check("page = 2\ncontent = { kind = \"size_off\", by = -120 }", &[page_two(130, rows(100..130))]).await;
    let late = "page = 1\nread = 1\ncontent = { kind = \"size_off\", by = -1 }";
    check(late, &[(1, 249.into(), rows(0..100)), page_two(250, rows(100..200)), (1, 250.into(), rows(0..100))]).await;
}

#[tokio::test]
async fn rows_can_be_missing_repeated_or_slid() {
    let all = || Value::from(250);
    let without_third = [rows(100..102), rows(103..200)].concat();
    check("page = 2\ncontent = { kind = \"row_missing\", at = 2 }", &[(2, all(), without_third)]).await;
    check("page = 2\ncontent = { kind = \"no_rows\" }", &[(2, all(), vec![]), (3, all(), rows(200..250))]).await;
    check("content = { kind = \"same_page\" }", &[(1, all(), rows(0..100)), (3, all(), rows(0..100))]).await;
    check("content = { kind = \"all_rows\" }", &[(1, all(), rows(0..250)), (2, all(), rows(0..250))]).await;
    let cycle = [(1, rows(0..100)), (2, rows(100..200)), (3, rows(0..100)), (4, rows(100..200))];
    check("content = { kind = \"cycle\" }", &cycle.map(|(page, rows)| (page, all(), rows))).await;
    let again = [(3, all(), rows(200..250)), (4, all(), rows(200..250)), (9, all(), rows(200..250))];
    check("content = { kind = \"last_page_again\" }", &again).await;
    let slid = [(1, all(), rows(0..100)), (2, all(), rows(99..199)), (3, all(), rows(200..250))];
    check("page = 2\ncontent = { kind = \"slide\" }", &slid).await;
}

#[tokio::test]
async fn rows_can_be_of_another_region_or_month() {
    let scenario = "rows = 20\n[[fault]]\nregion = \"11110\"\n[fault.content]\nkind = \"foreign\"\nregion = \"11140\"\nrows = 3";
    let portal = portal(scenario).await;
    let (total, rows) = read_page(&mut Client::of(&portal).await, 1, 100).await;
    assert_eq!(total, 20);
    let regions: Vec<&str> = rows.iter().map(|row| row["sggCd"].as_str()).collect();
    assert_eq!(regions, [["11140"; 3].as_slice(), ["11110"; 17].as_slice()].concat());

    let portal = self::portal("rows = 5\n[[fault]]\ncontent = { kind = \"foreign\", month = \"2024-02\" }").await;
    let (_, rows) = read_page(&mut Client::of(&portal).await, 1, 100).await;
    assert_eq!(rows.iter().filter(|row| row["dealMonth"] == "2").count(), 5);
}

#[tokio::test]
async fn a_page_can_tell_another_number() {
    let portal = portal("[[fault]]\ncontent = { kind = \"page_echo\", number = 7 }").await;
    let got = Client::of(&portal).await.get(&page(2, 10)).await;
    assert!(got.text().contains("<pageNo>7</pageNo>"));
}

#[tokio::test]
async fn the_text_of_a_page_can_be_damaged_in_both_formats() {
    async fn check(how: &str, damaged: fn(whole: &[u8], xml: bool) -> Vec<u8>) {
        let fault = format!("rows = 2\n[[fault]]\ntimes = 1\ncontent = {{ kind = \"broken\", how = \"{how}\" }}");
        for (number, is_xml) in [(1, true), (2, false)] {
            let portal = portal(&fault).await;
            let mut client = Client::of(&portal).await;
            let query = format!("{}{}", page(number, 2), if is_xml { "" } else { "&_type=json" });
            let (broken, whole) = (client.get(&query).await.body, client.get(&query).await.body);
            assert_eq!(String::from_utf8_lossy(&broken), String::from_utf8_lossy(&damaged(&whole, is_xml)), "{how}");
        }
    }
    check("unclosed_root", |whole, xml| whole[..whole.len() - if xml { 11 } else { 1 }].to_vec()).await;
    check("half", |whole, _| whole[..whole.len() / 2].to_vec()).await;
    check("trailing_text", |whole, _| [whole, b"\n<!-- cached -->trailing"].concat()).await;
    check("duplicate_field", |whole, xml| {
        let (tail, again) = if xml { (18, "<totalCount>0</totalCount>") } else { (3, ",\"totalCount\":0") };
        [&whole[..whole.len() - tail], again.as_bytes(), &whole[whole.len() - tail..]].concat()
    })
    .await;
    check("doctype", |whole, xml| {
        let at = if xml { whole.windows(2).position(|two| two == b"?>").unwrap() + 2 } else { 0 };
        let doctype = br#"<!DOCTYPE response [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"#;
        [&whole[..at], doctype, &whole[at..]].concat()
    })
    .await;
    check("invalid_utf8", |whole, _| match whole.iter().position(|byte| *byte >= 0x80) {
        Some(at) => [&whole[..at], &[0xff], &whole[at + 1..]].concat(),
        None => [whole, &[0xff]].concat(),
    })
    .await;
}
