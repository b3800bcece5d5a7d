//! Answers no practice portal gives, byte by byte: what stands in them is stored as sent, or the partition is named.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::world::World;

const COLLECT: &str = "collect apt_trade --partition 11110,2024-01 --create --format json";

/// A server on this machine that answers every request alike, and the heads of the requests it saw.
struct Stranger {
    base_url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Stranger {
    fn answering(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, seen) = (answer.clone(), Arc::clone(&seen));
                std::thread::spawn(move || serve(&stream.unwrap(), &answer, &seen));
            }
        });
        Self { base_url, heads }
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn serve(stream: &TcpStream, answer: &[u8], seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        seen.lock().unwrap().push(head);
        if (&mut &*stream).write_all(answer).is_err() {
            return;
        }
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// A page of rows, each the fields of one beside those that say where it belongs.
fn page(rows: &[&str]) -> String {
    let belongs = "<sggCd>11110</sggCd><dealYear>2024</dealYear><dealMonth>1</dealMonth>";
    let items: String = rows.iter().map(|row| format!("<item>{belongs}{row}</item>")).collect();
    envelope(&items, rows.len())
}

fn envelope(items: &str, total: usize) -> String {
    format!(
        "<response><header><resultCode>000</resultCode><resultMsg>OK</resultMsg></header><body><items>{items}</items>\
         <numOfRows>100</numOfRows><pageNo>1</pageNo><totalCount>{total}</totalCount></body></response>"
    )
}

/// What one partition comes to when it is answered so.
fn collected(answer: Vec<u8>) -> (World, Stranger, crate::world::Ended) {
    let stranger = Stranger::answering(answer);
    let world = World::playing("").set("retry.max_retries", "1").set("providers.data_go_kr.base_url", &stranger.base_url);
    let run = world.run(COLLECT);
    (world, stranger, run)
}

/// The rows come whole: `cells` of them are as given.
#[track_caller]
fn check_stored(body: &[u8], cells: &str, expected: &[&[&str]]) {
    let (world, stranger, run) = collected(answer("200 OK", body));
    run.exits(0);
    assert_eq!(stranger.requests(), 1);
    assert_eq!(world.query(&format!("select {cells} from apt_trade_rows order by _ordinal")), expected);
    world.assert_store_is_sound(cells);
}

/// Nothing of it is published, and it is said why, after so many calls.
#[track_caller]
fn check_gap(answer: Vec<u8>, verdict: &str, why: &str, requests: usize) {
    let (world, stranger, run) = collected(answer);
    let run = run.exits(3);
    let gap = &run.json()["gaps"][0];
    assert_eq!(gap["verdict"], verdict, "{gap}");
    assert!(gap["why"].as_str().unwrap().contains(why), "`{why}` is said in {gap}");
    assert!(run.stderr.len() < 4_000 && run.stdout.len() < 4_000, "what is told of a huge answer is short");
    assert_eq!((stranger.requests(), world.count("select count(*) from apt_trade")), (requests, 0), "{why}");
    world.assert_store_is_sound(why);
}

#[test]
fn values_are_stored_as_sent_or_kept_beside_what_could_be_read() {
    let check = |rows: &[&str], cells: &str, expected: &[&[&str]]| check_stored(page(rows).as_bytes(), cells, expected);
    check(
        &["<dealAmount>n/a</dealAmount><floor>3.5</floor>", "<dealAmount>12345678901234567890123</dealAmount><floor>-1</floor>"],
        "deal_amount, floor, _unparsed",
        &[&["-", "-", r#"{"dealAmount":"n/a","floor":"3.5"}"#], &["-", "-1", r#"{"dealAmount":"12345678901234567890123"}"#]],
    );
    check(
        &["<excluUseAr>9007199254740993</excluUseAr>", "<excluUseAr>1e999</excluUseAr>", "<excluUseAr>84.9</excluUseAr>"],
        "exclu_use_ar, _unparsed",
        &[&["-", r#"{"excluUseAr":"9007199254740993"}"#], &["-", r#"{"excluUseAr":"1e999"}"#], &["84.9", "-"]],
    );
    // Fields nobody declared, whatever they are called.
    let odd = "<select>1</select><_job>2</_job><__proto__>3</__proto__><region>9</region><APTNM>x</APTNM><a.b-c>4</a.b-c>";
    let extra = r#"{"select":"1","_job":"2","__proto__":"3","region":"9","APTNM":"x","a.b-c":"4"}"#;
    check(&[&format!("{odd}<aptNm>a</aptNm>")], "region, apt_nm, _extra", &[&["11110", "a", extra]]);
    let sql = "'); drop table apt_trade_rows; --";
    check(&[&format!("<aptNm>{sql}</aptNm>")], "apt_nm", &[&[sql]]);
    // No store can keep the first; the second steers terminals, and stays what it is in the data.
    check(&["<aptNm>a\0b&#0;c</aptNm>", "<aptNm>a\u{202e}b</aptNm>"], "apt_nm", &[&["a\u{fffd}b\u{fffd}c"], &["a\u{202e}b"]]);
}

#[test]
fn a_field_is_stored_to_its_last_byte_or_the_page_is_refused() {
    let long = page(&[&format!("<aptNm>{}</aptNm>", "가".repeat(3_500_000))]);
    check_stored(long.as_bytes(), "length(apt_nm), substr(apt_nm, -1)", &[&["3500000", "가"]]);
    let longer = page(&[&format!("<aptNm>{}</aptNm>", "a".repeat(17 << 20))]);
    check_gap(answer("200 OK", longer.as_bytes()), "failed", "is longer than 16777216 bytes", 2);
}

#[test]
fn a_page_in_any_charset_is_read_or_refused_and_never_guessed() {
    let korean = page(&["<aptNm>한글</aptNm>"]);
    let in_utf_8 = |declared: &str| [declared.as_bytes(), korean.as_bytes()].concat();
    let in_euc_kr = |declared: &str| {
        // 한글 in EUC-KR.
        let (before, after) = korean.split_once("한글").unwrap();
        [declared.as_bytes(), before.as_bytes(), b"\xc7\xd1\xb1\xdb", after.as_bytes()].concat()
    };
    let utf_16: Vec<u8> = "\u{feff}".encode_utf16().chain(korean.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for body in [
        korean.clone().into_bytes(),
        format!("\u{feff}{korean}").into_bytes(),
        format!(" \r\n\t{korean}\n").into_bytes(),
        utf_16,
        in_euc_kr("<?xml version=\"1.0\" encoding=\"EUC-KR\"?>"),
        in_euc_kr("<?xml version=\"1.0\" encoding=\"cp949\"?>"),
    ] {
        check_stored(&body, "apt_nm", &[&["한글"]]);
    }
    let refused = |body: Vec<u8>, why: &str| check_gap(answer("200 OK", &body), "failed", why, 2);
    refused(in_euc_kr("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"), "is no UTF-8 from byte");
    refused(in_euc_kr(""), "is no UTF-8 from byte");
    refused(in_utf_8("<?xml version=\"1.0\" encoding=\"EUC-KR\"?>"), "declares EUC-KR but is UTF-8");
}

#[test]
fn a_page_that_could_mean_two_things_is_refused() {
    let refused = |body: &str, verdict: &str, why: &str| check_gap(answer("200 OK", body.as_bytes()), verdict, why, 2);
    refused(&page(&["<aptNm>a</aptNm><aptNm>b</aptNm>"]), "failed", "has the field `aptNm` twice");
    let fields: String = (0..1_000).map(|number| format!("<f{number}>1</f{number}>")).collect();
    refused(&page(&[&fields]), "failed", "has more than 1000 fields");
    refused(&page(&["<aptNm>&#27;[2J</aptNm>"]), "failed", "`&#27;`, which stands for nothing");
    refused(&format!("<!DOCTYPE r SYSTEM 'file:///etc/passwd'>{}", page(&[""])), "failed", "document type");
    refused(&"<a>".repeat(100_000), "failed", "more than 64 elements");
    // Months that are none belong to no partition.
    for month in ["13", "00", "99"] {
        let row = format!("<item><sggCd>11110</sggCd><dealYear>2024</dealYear><dealMonth>{month}</dealMonth></item>");
        refused(&envelope(&row, 1), "short", "foreign rows: 1 of 1 belong to another partition");
    }
}

#[test]
fn a_head_decides_nothing_that_the_body_says() {
    let body = page(&["<aptNm>a</aptNm>"]);
    for head in [
        "200 OK\r\ncontent-type: text/html",
        "200 OK\r\ncontent-type: application/json; charset=klingon",
        "206 Partial Content\r\ncontent-range: bytes 0-99/100",
        "404 Not Found",
        "200 OK\r\nretry-after: 86400",
        "103 Early Hints\r\n\r\nHTTP/1.1 200 OK",
    ] {
        let (world, stranger, run) = collected(answer(head, body.as_bytes()));
        run.exits(0);
        assert_eq!((stranger.requests(), world.count("select count(*) from apt_trade")), (1, 1), "{head}");
    }
    let many = format!("200 OK{}", "\r\nx-a: b".repeat(10_000));
    check_gap(answer(&many, body.as_bytes()), "failed", "message head is too large", 2);
    check_gap(answer("304 Not Modified", b""), "failed", "127.0.0.1 answers status 304, which nobody asked for", 1);
    check_gap(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(), "failed", "HTTP status 204 with an empty body", 2);
}

#[test]
fn a_stranger_sets_no_cookies_and_proxies_of_the_environment_are_not_asked() {
    let trap = Stranger::answering(answer("200 OK", page(&[]).as_bytes()));
    let cookies = format!("200 OK{}", "\r\nset-cookie: a=b; path=/".repeat(50));
    let stranger = Stranger::answering(answer(&cookies, page(&["<aptNm>a</aptNm>"]).as_bytes()));
    let mut world = World::playing("").set("providers.data_go_kr.base_url", &stranger.base_url);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        world = world.variable(name, &trap.base_url);
    }
    for _ in 0..2 {
        world.run(&format!("{COLLECT} --only all")).exits(0);
    }
    let heads = stranger.heads.lock().unwrap();
    assert_eq!((heads.len(), trap.requests()), (2, 0));
    assert!(heads.iter().all(|head| !head.to_ascii_lowercase().contains("cookie")), "{heads:?}");
}
