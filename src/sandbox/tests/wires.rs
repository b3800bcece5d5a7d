use std::time::{Duration, Instant};

use super::client::*;
use crate::sandbox::Portal;

/// A portal whose first answer meets this fault, a client that has asked it, and the whole body.
async fn faced(wire: &str) -> (Portal, Client, Vec<u8>) {
    let portal = portal(&format!("rows = 30\n[[fault]]\npage = 1\ntimes = 1\nwire = {wire}")).await;
    let mut client = Client::of(&portal).await;
    client.ask(&page(1, 100)).await;
    log_when(&portal, |lines| lines.len() == 1).await;
    let whole = Client::of(&portal).await.get(&page(1, 100)).await.body;
    (portal, client, whole)
}

#[tokio::test]
async fn a_reset_can_come_before_the_answer() {
    let (portal, mut client, _) = faced(r#"{ kind = "reset_before_answer" }"#).await;
    assert_eq!(client.rest().await, (Vec::new(), Ending::Reset));
    assert_eq!(portal.requests()[0].answered, None);
}

#[tokio::test]
async fn a_reset_can_come_between_head_and_body() {
    let (portal, mut client, _) = faced(r#"{ kind = "reset_after_head" }"#).await;
    let (bytes, ending) = client.rest().await;
    // The kernel may throw the head away when the reset overtakes it.
    assert!(bytes.is_empty() || bytes.ends_with(b"\r\n\r\n"));
    assert_eq!(ending, Ending::Reset);
    assert_eq!(portal.requests()[0].answered, Some(200));
}

#[tokio::test]
async fn a_hanging_answer_never_comes() {
    let (portal, mut client, _) = faced(r#"{ kind = "hang" }"#).await;
    assert_eq!(client.pending(), 0);
    // It stays in flight until the client leaves.
    let mut other = Client::of(&portal).await;
    other.get(&page(2, 10)).await;
    assert_eq!(portal.requests().last().unwrap().in_flight, 2);
    client.stop_sending().await;
    assert_eq!(client.rest().await, (Vec::new(), Ending::Closed));
    other.get(&page(3, 10)).await;
    let line = portal.requests().pop().unwrap();
    assert_eq!((line.in_flight, portal.requests()[0].answered), (1, None));
}

#[tokio::test]
async fn a_body_can_hang_after_the_head() {
    let (_portal, mut client, whole) = faced(r#"{ kind = "hang_after_head" }"#).await;
    let (_, head) = client.head().await;
    assert_eq!(header(&head, "content-length"), Some(whole.len().to_string().as_str()));
    assert_eq!(client.pending(), 0);
    client.stop_sending().await;
    assert_eq!(client.rest().await, (Vec::new(), Ending::Closed));
}

#[tokio::test]
async fn a_body_can_be_cut_under_every_framing() {
    async fn check(wire: &str, framing: Option<(&str, &str)>, ends_early: fn(rest: &[u8], whole: &[u8]) -> bool) {
        let (_portal, mut client, whole) = faced(wire).await;
        let (status, head) = client.head().await;
        assert_eq!(status, 200);
        match framing {
            Some((name, value)) => {
                let value = value.replace("LENGTH", &whole.len().to_string());
                assert_eq!(header(&head, name), Some(value.as_str()), "{wire}");
            }
            None => assert!(header(&head, "content-length").or(header(&head, "transfer-encoding")).is_none()),
        }
        let (rest, ending) = client.rest().await;
        assert_eq!(ending, Ending::Closed);
        assert!(ends_early(&rest, &whole), "{wire}: {}", String::from_utf8_lossy(&rest));
    }
    let half = |rest: &[u8], whole: &[u8]| rest == &whole[..whole.len() / 2];
    check(r#"{ kind = "cut_body" }"#, Some(("content-length", "LENGTH")), half).await;
    check(r#"{ kind = "cut_unframed" }"#, None, half).await;
    check(r#"{ kind = "cut_unframed", share = 1.0 }"#, None, |rest, whole| rest == whole).await;
    let chunked = Some(("transfer-encoding", "chunked"));
    check(r#"{ kind = "cut_chunked", at = "mid_chunk" }"#, chunked, |rest, _| !rest.ends_with(b"\r\n")).await;
    check(r#"{ kind = "cut_chunked", at = "chunk_edge" }"#, chunked, |rest, whole| {
        rest.ends_with(b"</response>\r\n") && unchunked(rest) == whole
    })
    .await;
    let surplus = |rest: &[u8], whole: &[u8]| rest.len() == whole.len() + 64 && rest.starts_with(whole);
    check(r#"{ kind = "surplus" }"#, Some(("content-length", "LENGTH")), surplus).await;
}

/// What chunks hold, as far as they go.
fn unchunked(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
    body
}

#[tokio::test]
async fn chunks_in_order_end_with_the_last_chunk() {
    let (portal, mut client, whole) = faced(r#"{ kind = "chunked" }"#).await;
    client.head().await;
    // The connection stays: what follows the last chunk is the next answer.
    client.ask("LAWD_CD=0").await;
    client.stop_sending().await;
    let (rest, _) = client.rest().await;
    let end = memchr::memmem::find(&rest, b"\r\n0\r\n\r\n").unwrap();
    assert_eq!(unchunked(&rest[..end + 2]), whole);
    assert!(rest[end + 7..].starts_with(b"HTTP/1.1 200 OK"));
    assert_eq!(portal.requests().len(), 3);
}

#[tokio::test]
async fn a_body_can_trickle_and_a_head_too() {
    async fn check(wire: &str, at_least: Duration) {
        let before = Instant::now();
        let (_portal, mut client, whole) = faced(wire).await;
        assert_eq!(client.answer().await.body, whole, "{wire}");
        assert!(before.elapsed() >= at_least, "{wire}: {:?}", before.elapsed());
    }
    check(r#"{ kind = "trickle", bytes = 1000, every_ms = 5 }"#, Duration::from_millis(40)).await;
    check(r#"{ kind = "slow_head", bytes = 20, every_ms = 5 }"#, Duration::from_millis(40)).await;
}

#[tokio::test]
async fn heads_and_bodies_can_be_far_too_large() {
    let (_portal, mut client, _) = faced(r#"{ kind = "long_head", kib = 300 }"#).await;
    assert!(client.head().await.1.len() > 300 * 1024);

    let (_portal, mut client, _) = faced(r#"{ kind = "oversize", mib = 3, framing = "declared" }"#).await;
    assert_eq!(client.answer().await.body.len(), 3 << 20);

    let (_portal, mut client, _) = faced(r#"{ kind = "oversize", mib = 2, framing = "undeclared" }"#).await;
    let (_, head) = client.head().await;
    assert_eq!(header(&head, "content-length"), None);
    assert_eq!(client.rest().await.0.len(), 2 << 20);
}

#[tokio::test]
async fn a_bomb_unpacks_to_the_size_it_was_given() {
    let (_portal, mut client, _) = faced(r#"{ kind = "gzip_bomb", mib = 1 }"#).await;
    let got = client.answer().await;
    assert_eq!(header(&got.head, "content-encoding"), Some("gzip"));
    assert!(got.body.len() < 8 * 1024, "{} bytes", got.body.len());
    assert_eq!(unpacked_size(&got.body), 1 << 20);
}

/// Follows the one block of a bomb: a blank, repeats of 258 bytes, and blanks for the rest.
fn unpacked_size(gzip: &[u8]) -> usize {
    let mut bits = gzip[10..].iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
    let mut code = |count: usize| bits.by_ref().take(count).fold(0_u32, |code, bit| code << 1 | u32::from(bit));
    assert_eq!(code(3), 0b110, "the last block, fixed codes");
    assert_eq!(code(8), 0x30 + u32::from(b' '));
    let mut size = 1;
    loop {
        match code(7) {
            0 => return size,
            0b010_1000 => {
                assert_eq!(code(1), 0);
                size += 1;
            }
            start => {
                assert_eq!((start << 1 | code(1), code(5)), (0b1100_0101, 0));
                size += 258;
            }
        }
    }
}

#[tokio::test]
async fn a_plain_body_can_be_labelled_as_packed() {
    let (_portal, mut client, whole) = faced(r#"{ kind = "gzip_label" }"#).await;
    let got = client.answer().await;
    assert_eq!((header(&got.head, "content-encoding"), got.body), (Some("gzip"), whole));
}

/// A client that took the promise at its word would send its next request to nobody.
#[tokio::test]
async fn a_connection_that_gave_a_whole_answer_stays_as_it_said() {
    for wire in [r#"{ kind = "gzip_label" }"#, r#"{ kind = "gzip_bomb", mib = 1 }"#, r#"{ kind = "long_head", kib = 8 }"#] {
        let (_portal, mut client, _) = faced(wire).await;
        for _ in 0..2 {
            assert_eq!(header(&client.answer().await.head, "connection"), Some("keep-alive"), "{wire}");
            client.ask(&page(1, 10)).await;
        }
    }
}

#[tokio::test]
async fn a_connection_can_close_though_it_said_it_would_stay() {
    let (_portal, mut client, whole) = faced(r#"{ kind = "close_after" }"#).await;
    let got = client.answer().await;
    assert_eq!((header(&got.head, "connection"), got.body), (Some("keep-alive"), whole));
    assert_eq!(client.rest().await, (Vec::new(), Ending::Closed));
}

#[tokio::test]
async fn a_fault_can_wait_for_a_reused_connection() {
    let portal = portal("[[fault]]\nconnection = \"reused\"\nwire = { kind = \"reset_before_answer\" }").await;
    let mut client = Client::of(&portal).await;
    assert_eq!(client.get(&page(1, 10)).await.status, 200);
    client.ask(&page(2, 10)).await;
    assert_eq!(client.rest().await, (Vec::new(), Ending::Reset));
    assert_eq!(Client::of(&portal).await.get(&page(2, 10)).await.status, 200);
}
