use std::error::Error;

use super::client::*;
use crate::sandbox::Scenario;

#[test]
fn every_scenario_that_is_compiled_in_is_valid() {
    for name in Scenario::NAMES {
        Scenario::named(name).unwrap_or_else(|error| panic!("{name}: {error}: {:?}", error.source()));
    }
    assert_eq!(Scenario::named("plain").unwrap(), Scenario::default());
    assert!(Scenario::named("other").unwrap_err().to_string().contains("three-pages"));
}

#[test]
fn a_scenario_with_a_mistake_is_refused_with_its_place() {
    let check = |toml: &str, expected: &str| {
        let error = Scenario::from_toml(toml).unwrap_err();
        let told = format!("{error} {}", error.source().map(|source| source.to_string()).unwrap_or_default());
        assert!(told.contains(expected), "{toml}: {told}");
    };
    check("row = 3", "unknown field `row`");
    check("rows = \"many\"", "a number, `{ from = …, to = … }`, or `{ median = …, p95 = … }`");
    check("rows = { from = 9, to = 3 }", "rows counts down");
    check("latency_ms = { median = 110, p95 = 100 }", "latency_ms counts down");
    check("twins = 2.0", "twins is 2: a share is from 0 to 1");
    check("[[fault]]\npage = 2", "fault 1 does nothing");
    check("[[fault]]\nwait_ms = 1\n[[fault]]\nshare = -0.1\nwait_ms = 1", "share of fault 2 is -0.1");
    check("[[fault]]\ntimes = 0\nwait_ms = 1", "line 2");
    check("[[fault]]\nwire = { kind = \"cut\" }", "unknown variant `cut`");
    check("[[fault]]\nwire = { kind = \"hang\", for_s = 3 }", "unknown field `for_s`");
    check("[[fault]]\nservice = \"AptTrade\"\nwait_ms = 1", "one value, or a list of them");
    check("[limit]\nper_minute = 3", "unknown field `per_minute`");
}

#[tokio::test]
async fn the_first_rule_that_fits_plays() {
    let scenario = r#"
        [[fault]]
        service = ["RTMSDataSvcAptTrade", "RTMSDataSvcAptRent"]
        region = ["11110", "11140"]
        month = "2024-03"
        page = [2, 3]
        times = 1
        answer = { kind = "bare", status = 502 }
        [[fault]]
        page = { from = 3, to = 4 }
        answer = { kind = "bare", status = 503 }
        [[fault]]
        region = "41111"
        answer = { kind = "bare", status = 504 }
    "#;
    let portal = portal(scenario).await;
    let mut client = Client::of(&portal).await;
    let mut check = async |region: &str, month: &str, page: u64, expected: &[u16]| {
        for status in expected {
            let query = format!("LAWD_CD={region}&DEAL_YMD={month}&pageNo={page}");
            assert_eq!(client.get(&query).await.status, *status, "{query}");
        }
    };
    check("11110", "202403", 1, &[200]).await;
    // `times` is counted for each page of each partition.
    check("11110", "202403", 2, &[502, 200, 200]).await;
    check("11140", "202403", 2, &[502, 200]).await;
    check("11110", "202403", 3, &[502, 503, 503]).await;
    check("11110", "202404", 2, &[200]).await;
    check("11110", "202404", 4, &[503]).await;
    check("11110", "202404", 5, &[200]).await;
    check("41111", "202404", 5, &[504]).await;
}

#[tokio::test]
async fn a_share_catches_always_the_same_pages() {
    let caught = async || {
        let portal = portal("rows = 1\n[[fault]]\nshare = 0.1\nanswer = { kind = \"bare\", status = 503 }").await;
        let mut client = Client::of(&portal).await;
        let mut caught = Vec::new();
        for number in 1..=400 {
            if client.get(&page(number, 1)).await.status == 503 {
                caught.push(number);
            }
        }
        caught
    };
    let first = caught().await;
    assert!((20..=60).contains(&first.len()), "{}", first.len());
    assert_eq!(first, caught().await);
}

#[tokio::test]
async fn a_page_1_that_was_not_served_opens_no_reading() {
    let scenario = r#"
        rows = 30
        [[fault]]
        page = 1
        times = 1
        answer = { kind = "html", status = 504 }
        [[fault]]
        page = 1
        times = 1
        wire = { kind = "reset_before_answer" }
        [[fault]]
        read = 1
        content = { kind = "total_off", by = 5 }
    "#;
    let portal = portal(scenario).await;
    assert_eq!(Client::of(&portal).await.get(&page(1, 10)).await.status, 504);
    let mut client = Client::of(&portal).await;
    client.ask(&page(1, 10)).await;
    assert_eq!(client.rest().await.1, Ending::Reset);
    let mut client = Client::of(&portal).await;
    assert_eq!(read_page(&mut client, 1, 10).await.0, 35, "the first reading");
    assert_eq!(read_page(&mut client, 2, 10).await.0, 35);
    // A count without rows is no reading.
    assert_eq!(read_page(&mut client, 1, 0).await.0, 35);
    assert_eq!(read_page(&mut client, 1, 30).await.0, 30, "the second reading");
    assert_eq!(read_page(&mut client, 2, 10).await.0, 30);
}

#[tokio::test]
async fn a_latency_is_waited_for() {
    let portal = portal("latency_ms = { from = 30, to = 40 }").await;
    let before = std::time::Instant::now();
    Client::of(&portal).await.get(&page(1, 1)).await;
    assert!(before.elapsed().as_millis() >= 30);
}
