use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Instant;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};

use super::client::*;
use crate::sandbox::answer::Reply;
use crate::sandbox::journal::Journal;
use crate::sandbox::send::send;
use crate::sandbox::{KeySeen, Played, Portal, Scenario, Service};

#[tokio::test]
async fn one_connection_carries_many_requests_and_the_log_has_each_once() {
    let portal = portal("").await;
    let before = Instant::now();
    let mut client = Client::of(&portal).await;
    for number in 1..=5 {
        assert_eq!(header(&client.get(&page(number, 10)).await.head, "connection"), Some("keep-alive"));
    }
    Client::of(&portal).await.get(&page(6, 10)).await;
    let lines = portal.requests();
    let seen: Vec<_> = lines.iter().map(|line| (line.number, line.connection, line.param("pageNo").unwrap())).collect();
    assert_eq!(seen, [(1, 1, "1"), (2, 1, "2"), (3, 1, "3"), (4, 1, "4"), (5, 1, "5"), (6, 2, "6")]);
    for pair in lines.windows(2) {
        assert!(pair[0].at < pair[1].at);
    }
    for line in &lines {
        assert_eq!((line.in_flight, line.answered, &line.played), (1, Some(200), &Played::Page));
        assert_eq!((line.method.as_str(), line.path.as_str()), ("GET", Service::AptTrade.path().as_str()));
        assert!(line.at <= before.elapsed() + before.elapsed());
    }
}

#[tokio::test]
async fn requests_sent_in_one_go_are_answered_in_order() {
    let portal = portal("").await;
    let mut client = Client::of(&portal).await;
    for number in 1..=3 {
        client.ask(&page(number, 1)).await;
    }
    for number in 1..=3 {
        assert!(client.answer().await.text().contains(&format!("<pageNo>{number}</pageNo>")));
    }
}

#[tokio::test]
async fn a_reset_request_is_in_the_log_once_and_under_its_faults_name() {
    let portal = portal("[[fault]]\nname = \"gone\"\ntimes = 2\nwire = { kind = \"reset_before_answer\" }").await;
    for _ in 0..2 {
        let mut client = Client::of(&portal).await;
        client.ask(&page(1, 10)).await;
        assert_eq!(client.rest().await.1, Ending::Reset);
    }
    Client::of(&portal).await.get(&page(1, 10)).await;
    let seen: Vec<_> = portal.requests().into_iter().map(|line| (line.number, line.answered, line.played)).collect();
    let gone = || Played::Fault("gone".to_owned());
    assert_eq!(seen, [(1, None, gone()), (2, None, gone()), (3, Some(200), Played::Page)]);
}

#[tokio::test]
async fn faults_without_a_name_are_called_by_their_parts() {
    let portal = portal(
        "[[fault]]\npage = 1\nwire = { kind = \"trickle\", bytes = 50_000, every_ms = 1 }\n\
         content = { kind = \"slide\" }\n[[fault]]\npage = 2\nanswer = { kind = \"gateway1\", code = \"22\" }",
    )
    .await;
    let mut client = Client::of(&portal).await;
    client.get(&page(1, 10)).await;
    client.get(&page(2, 10)).await;
    let played: Vec<String> = portal.requests().iter().map(|line| line.played.to_string()).collect();
    assert_eq!(played, ["content slide + wire trickle", "answer gateway1"]);
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_logged() {
    let portal = portal("").await;
    let mut client = Client::of(&portal).await;
    client.send("\u{1}\u{2} nonsense\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 400);
    assert_eq!(portal.requests()[0].played, Played::BadRequest);
}

#[tokio::test]
async fn a_client_that_asks_to_close_is_closed() {
    let portal = portal("").await;
    let mut client = Client::of(&portal).await;
    client.send(&format!("GET {} HTTP/1.1\r\nConnection: close\r\n\r\n", Service::AptTrade.path())).await;
    assert_eq!(header(&client.answer().await.head, "connection"), Some("close"));
    assert_eq!(client.rest().await, (Vec::new(), Ending::Closed));
}

#[tokio::test]
async fn every_line_is_told_when_it_is_done() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let tell = move |line: &crate::sandbox::RequestLine| listener.lock().unwrap().push(serde_json::to_value(line).unwrap());
    let portal = Portal::start_telling(Scenario::default(), "127.0.0.1:0".parse().unwrap(), tell).await.unwrap();
    let mut client = Client::of(&portal).await;
    client.get(&format!("serviceKey=a%2Bb&{}", page(1, 10))).await;
    client.get(&page(2, 10)).await;
    drop(portal);
    client.rest().await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2);
    let line = &told[0];
    assert_eq!((&line["number"], &line["answered"], &line["played"]), (&1.into(), &200.into(), &"page".into()));
    assert_eq!((&line["key"], &line["form"]), (&"right".into(), &"encoded".into()));
    assert_eq!(line["query"][0], serde_json::json!(["LAWD_CD", "11110"]));
    assert!(line["at_us"].is_u64());
}

#[tokio::test]
async fn a_dropped_portal_ends_its_connections_and_frees_its_port() {
    let portal = portal("latency_ms = 60_000").await;
    let address = portal.base_url().strip_prefix("http://").unwrap().parse().unwrap();
    let mut client = Client::of(&portal).await;
    client.ask(&page(1, 10)).await;
    log_when(&portal, |lines| lines.len() == 1).await;
    drop(portal);
    client.rest().await;
    Portal::start(Scenario::default(), address).await.unwrap();
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let portal = portal("").await;
    let mut client = Client::of(&portal).await;
    client.send(&format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(64 * 1024))).await;
    assert_eq!(client.head().await.0, 400);
}

#[tokio::test]
async fn an_answer_counts_as_done_before_its_last_bytes_leave() {
    for (body_bytes, is_seen_working) in [(12 * 1024, false), (200 * 1024, true)] {
        let (mut server, mut client) = narrow_pair().await;
        let journal = Arc::new(Journal::new(Instant::now(), Box::new(|_| {})));
        let in_flight = || journal.enter(None, KeySeen::Absent, 2).in_flight - 1;
        let mut presence = journal.enter(None, KeySeen::Absent, 1);
        let reply = Reply { status: 200, content_type: "text/plain", headers: Vec::new(), body: vec![b'a'; body_bytes] };
        let mut sending = pin!(send(&mut server, &reply, None, true, "today", &mut presence));
        let mut seen = Vec::new();
        // The buffers are smaller than the last bytes, so the portal is still writing them while the client reads.
        while poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await.is_pending() {
            seen.push(in_flight());
            assert_ne!(client.read(&mut [0; 1024]).await.unwrap(), 0);
        }
        assert_eq!(seen.contains(&1), is_seen_working, "{body_bytes}: {seen:?}");
        assert_eq!(seen.last(), Some(&0), "{body_bytes}: {seen:?}");
    }
}

/// Both ends of a connection whose buffers hold a few kilobytes.
async fn narrow_pair() -> (TcpStream, TcpStream) {
    let (listening, asking) = (TcpSocket::new_v4().unwrap(), TcpSocket::new_v4().unwrap());
    listening.set_send_buffer_size(1).unwrap();
    asking.set_recv_buffer_size(1).unwrap();
    listening.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listening.listen(1).unwrap();
    let client = asking.connect(listener.local_addr().unwrap()).await.unwrap();
    (listener.accept().await.unwrap().0, client)
}
