use std::time::{Duration, Instant};

use super::client::*;
use crate::sandbox::{KeyForm, KeySeen, Played, Service};

async fn statuses(client: &mut Client, count: u64) -> Vec<u16> {
    let mut statuses = Vec::new();
    for number in 1..=count {
        statuses.push(client.get(&page(number, 1)).await.status);
    }
    statuses
}

#[tokio::test]
async fn more_calls_a_second_than_allowed_are_refused_at_once() {
    let portal = portal("latency_ms = 0\n[limit]\nper_second = 3").await;
    let mut client = Client::of(&portal).await;
    let before = Instant::now();
    assert_eq!(statuses(&mut client, 5).await, [200, 200, 200, 429, 429]);
    assert!(before.elapsed() >= Duration::from_millis(28), "two refusals of 14 ms each");
    let played: Vec<Played> = portal.requests().into_iter().map(|line| line.played).collect();
    assert_eq!(played[3..], [Played::TooFast, Played::TooFast]);
    // Refused calls do not count: a second after the first good call there is room again.
    loop {
        if client.get(&page(6, 1)).await.status == 200 {
            break;
        }
    }
    let good = |line: &&crate::sandbox::RequestLine| line.answered == Some(200);
    let lines = portal.requests();
    let at: Vec<Duration> = lines.iter().filter(good).map(|line| line.at).collect();
    assert!(at[3] - at[0] >= Duration::from_millis(990) && at[3] - at[0] < Duration::from_millis(1_500), "{at:?}");
}

#[tokio::test]
async fn a_limit_can_speak_any_of_its_dialects() {
    async fn check(answer: &str, status: u16, text: &str) {
        let portal = portal(&format!("[limit]\nper_second = 1\nwait_ms = 0\nanswer = {answer}")).await;
        let mut client = Client::of(&portal).await;
        client.get(&page(1, 1)).await;
        let refused = client.get(&page(2, 1)).await;
        assert_eq!((refused.status, refused.text().contains(text)), (status, true), "{answer}");
    }
    check(r#"{ kind = "gateway3", code = "23" }"#, 429, "<returnReasonCode>23</returnReasonCode>").await;
    check(r#"{ kind = "gateway3", code = "23", status = 200 }"#, 200, "<returnReasonCode>23</returnReasonCode>").await;
    check(r#"{ kind = "gateway2", text = "rate" }"#, 429, "API rate limit exceeded").await;
    check(r#"{ kind = "bare", status = 429, retry_after = 2 }"#, 429, "").await;
}

#[tokio::test]
async fn more_calls_in_flight_than_allowed_are_refused() {
    let portal = portal("latency_ms = 60_000\n[limit]\nin_flight = 2").await;
    let mut waiting = Vec::new();
    for number in 1..=2 {
        let mut client = Client::of(&portal).await;
        client.ask(&page(number, 1)).await;
        log_when(&portal, |lines| lines.len() == number as usize).await;
        waiting.push(client);
    }
    let refused = Client::of(&portal).await.get(&page(3, 1)).await;
    assert_eq!(refused.status, 429);
    let line = portal.requests().pop().unwrap();
    assert_eq!((line.in_flight, line.played), (3, Played::TooMany));
    // A client that leaves makes room, though its answer was not due yet.
    let mut left = waiting.pop().unwrap();
    left.stop_sending().await;
    left.rest().await;
    let mut next = Client::of(&portal).await;
    next.ask(&page(4, 1)).await;
    let lines = log_when(&portal, |lines| lines.len() == 4).await;
    assert_eq!(lines[3].in_flight, 2);
}

#[tokio::test]
async fn asking_during_a_ban_begins_it_anew() {
    let portal = portal("[limit]\nper_second = 1\nban_ms = 3_600_000\nwait_ms = 0").await;
    let mut client = Client::of(&portal).await;
    assert_eq!(statuses(&mut client, 2).await, [200, 429]);
    let first = portal.requests()[0].at;
    loop {
        let status = client.get(&page(3, 1)).await.status;
        assert_eq!(status, 429, "an hour of silence has not passed");
        if portal.requests().last().unwrap().at - first > Duration::from_millis(1_050) {
            break;
        }
    }
}

#[tokio::test]
async fn a_spent_quota_is_one_services_own() {
    let portal = portal("[quota]\ndaily_calls = 2").await;
    let mut client = Client::of(&portal).await;
    assert_eq!(statuses(&mut client, 3).await, [200, 200, 429]);
    let spent = client.get(&page(4, 1)).await;
    assert!(spent.text().contains("<returnReasonCode>22</returnReasonCode>"));
    assert_eq!(portal.requests()[3].played, Played::QuotaSpent);
    client.send(&format!("GET {}?{} HTTP/1.1\r\n\r\n", Service::AptRent.path(), page(1, 1))).await;
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn only_the_expected_key_is_let_in() {
    let portal = portal("key = \"aB3+cd/EF9gh==\"").await;
    let mut client = Client::of(&portal).await;
    let mut check = async |key: &str, seen: KeySeen, code: Option<&str>| {
        let got = client.get(&format!("{key}{}", page(1, 1))).await;
        let refusal = code.map(|code| format!("<returnReasonCode>{code}</returnReasonCode>"));
        assert_eq!(got.status, if code.is_some() { 403 } else { 200 }, "{key}");
        assert!(refusal.is_none_or(|refusal| got.text().contains(&refusal)), "{key}");
        let line = portal.requests().pop().unwrap();
        assert_eq!(line.key, seen, "{key}");
        assert!(line.param("serviceKey").is_none());
    };
    check("serviceKey=aB3%2Bcd%2FEF9gh%3D%3D&", KeySeen::Right(KeyForm::Encoded), None).await;
    check("ServiceKey=aB3%2Bcd%2FEF9gh%3D%3D&", KeySeen::Right(KeyForm::Encoded), None).await;
    check("serviceKey=aB3+cd/EF9gh==&", KeySeen::Wrong(KeyForm::Bare), Some("30")).await;
    check("serviceKey=aB3%252Bcd%252FEF9gh%253D%253D&", KeySeen::Wrong(KeyForm::Twice), Some("30")).await;
    check("", KeySeen::Absent, Some("20")).await;
}
