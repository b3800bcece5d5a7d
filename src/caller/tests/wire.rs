use super::server::{Act, Server, answer};
use super::*;

/// Real time, so everything is short.
pub(super) fn quick_retry() -> RetrySettings {
    RetrySettings { delay: Duration::from_millis(1), multiplier: 1.0, ..retry_settings() }
}

pub(super) fn no_retry() -> RetrySettings {
    RetrySettings { max_retries: 0, ..quick_retry() }
}

pub(super) fn quick_http() -> HttpSettings {
    HttpSettings {
        connect_timeout: Duration::from_millis(200),
        read_timeout: Duration::from_millis(400),
        total_timeout: Duration::from_millis(800),
        ..patient_http()
    }
}

/// Timeouts that a busy machine does not reach.
pub(super) fn patient_http() -> HttpSettings {
    HttpSettings { max_body: 8 * 1024 * 1024, ..HttpSettings::default() }
}

pub(super) fn calling(base_url: &str, retry: RetrySettings) -> World {
    World::calling(base_url.to_owned(), limits(4, 0.0), patient_http(), retry)
}

/// One request to a server that does this with it; what became of it.
async fn fault(acts: Vec<Act>) -> Attempt {
    fault_within(patient_http(), acts).await
}

async fn fault_within(http: HttpSettings, acts: Vec<Act>) -> Attempt {
    let server = Server::start(move |_| acts.clone()).await;
    let world = World::calling(server.base_url.clone(), limits(4, 0.0), http, no_retry());
    let [attempt] = world.fetch().await.unwrap_err().attempts.try_into().expect("one attempt");
    attempt
}

fn head(rest: &str) -> Act {
    Act::Send(format!("HTTP/1.1 200 OK\r\n{rest}\r\n\r\n").into_bytes())
}

#[track_caller]
pub(super) fn check(attempt: &Attempt, outcome: Outcome, named: &str) {
    let why = attempt.why.as_deref().unwrap();
    assert!(attempt.outcome == outcome && why.contains(named), "{}: {why}", attempt.outcome);
}

#[tokio::test]
async fn attempts_equal_requests_at_the_server() {
    for act in [Act::Reset, Act::Close] {
        let server = Server::start(move |_| vec![act.clone()]).await;
        let world = calling(&server.base_url, quick_retry());
        let failure = world.fetch().await.unwrap_err();
        assert_eq!(server.arrivals().len(), 5);
        assert_eq!(failure.attempts.len(), 5);
        assert!(failure.attempts.iter().all(|attempt| attempt.sent));
        let waited = NextStep::RetryIn(Duration::from_millis(1));
        assert_eq!(world.ears.steps()[..4], [waited; 4], "a new connection that dies is no stale one");
    }
}

#[tokio::test]
async fn a_request_that_died_on_a_kept_connection_is_tried_again_without_the_wait() {
    let server =
        Server::start(|arrival| if arrival.request == 0 { vec![Act::Send(answer(200, "page"))] } else { vec![Act::Close] }).await;
    let retry = RetrySettings { delay: Duration::from_secs(60), ..retry_settings() };
    let world = calling(&server.base_url, retry);
    world.fetch().await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    let fetched = world.fetch().await.unwrap();
    assert_eq!(outcomes(&fetched.attempts), [Outcome::Retry, Outcome::Page]);
    let order: Vec<_> = server.arrivals().iter().map(|arrival| (arrival.connection, arrival.request)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (1, 0)]);
}

#[tokio::test]
async fn a_connection_that_was_in_use_and_is_closed_instead_of_an_answer_is_no_stale_one() {
    for act in [Act::Reset, Act::Close] {
        let server = Server::start(
            move |arrival| {
                if arrival.request == 0 { vec![Act::Send(answer(200, "page"))] } else { vec![act.clone()] }
            },
        );
        let world = calling(&server.await.base_url, quick_retry());
        world.fetch().await.unwrap();
        let fetched = world.fetch().await.unwrap();
        assert_eq!(outcomes(&fetched.attempts), [Outcome::Retry, Outcome::Page]);
        let waited = NextStep::RetryIn(Duration::from_millis(1));
        assert_eq!(world.ears.steps(), [NextStep::Done, waited, NextStep::Done], "it is asked again after a wait");
    }
}

#[tokio::test]
async fn timeouts_are_named() {
    check(&fault_within(quick_http(), vec![Act::Hang]).await, Outcome::Retry, "no answer within 400ms (read timeout)");
    let stopped = fault_within(quick_http(), vec![head("content-length: 9"), Act::Send(b"pag".to_vec()), Act::Hang]).await;
    check(&stopped, Outcome::Retry, "the body stopped within 400ms (read timeout)");
    assert_eq!(stopped.http_status, Some(200));
    let drop = Act::SendForEver { piece: b"x".to_vec(), every: Duration::from_millis(50) };
    let dripping = fault_within(quick_http(), vec![head("content-length: 9999"), drop]).await;
    check(&dripping, Outcome::Retry, "not done within 800ms (total timeout)");
}

#[tokio::test]
async fn a_body_that_broke_off_is_never_an_answer() {
    let short = fault(vec![head("content-length: 9"), Act::Send(b"pag".to_vec()), Act::Close]).await;
    check(&short, Outcome::Retry, "(cut body)");
    let chunk = fault(vec![head("transfer-encoding: chunked"), Act::Send(b"4\r\npage\r\n".to_vec()), Act::Close]).await;
    check(&chunk, Outcome::Retry, "(cut body)");
    let plain = fault(vec![head("content-encoding: gzip\r\ncontent-length: 4"), Act::Send(b"page".to_vec())]).await;
    check(&plain, Outcome::Retry, "(cut body)");
    let reset = fault(vec![Act::Reset]).await;
    check(&reset, Outcome::Retry, "no answer from 127.0.0.1: connection reset");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_target_is_named() {
    let trap = Server::answering(answer(200, "page")).await;
    let target = trap.base_url.replace("127.0.0.1", "localhost");
    let moved = format!("HTTP/1.1 302 Found\r\nlocation: {target}/?serviceKey={KEY}\r\ncontent-length: 0\r\n\r\n");
    let attempt = fault(vec![Act::Send(moved.into_bytes())]).await;
    check(&attempt, Outcome::Invalid, "127.0.0.1 redirects to localhost (status 302), which is not followed");
    assert_eq!((attempt.scope, attempt.http_status), (Scope::Job, Some(302)));
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn a_key_in_the_name_of_a_redirect_target_is_taken_out() {
    let moved = "HTTP/1.1 301 Moved\r\nlocation: //abcdef123456.example/\r\ncontent-length: 0\r\n\r\n";
    let server = Server::answering(moved.as_bytes().to_vec()).await;
    let world = calling(&server.base_url, no_retry());
    let mut call = world.call();
    let key = ServiceKey::from_pasted("abcdef123456").unwrap();
    call.request.key = Some(KeyParam { name: "key".to_owned(), key });
    let failure = world.caller.fetch(call).await.unwrap_err();
    assert!(failure.to_string().contains("redirects to [key].example"), "{failure}");
}

#[tokio::test]
async fn an_endless_gzip_body_is_cut_at_the_limit_in_little_memory() {
    let before = peak_memory();
    let attempt = fault(vec![
        head("content-encoding: gzip\r\nconnection: close"),
        Act::Send(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]),
        Act::SendForEver { piece: zeros_deflated(), every: Duration::ZERO },
    ])
    .await;
    check(&attempt, Outcome::Invalid, "larger than 8388608 bytes");
    assert_eq!(attempt.scope, Scope::Job);
    let grown = peak_memory() - before;
    assert!(grown < 2 * 8 * 1024 + 16 * 1024, "{grown} KiB");
}

#[tokio::test]
async fn a_body_announced_as_too_large_is_not_read() {
    let attempt = fault(vec![head("content-length: 8388609"), Act::Hang]).await;
    check(&attempt, Outcome::Invalid, "larger than 8388608 bytes");
}

#[tokio::test]
async fn fast_refusals_do_not_raise_the_rate_on_the_wire() {
    const RPS: f64 = 50.0;
    let server = Server::answering(answer(503, "busy")).await;
    let world = World::calling(server.base_url.clone(), limits(8, RPS), patient_http(), quick_retry());
    world.fetch_many(12).join_all().await;
    let arrivals = server.arrivals();
    assert_eq!(arrivals.len(), 60);
    // Windows of ten and more, because single arrivals are moved by the machine.
    for (from, first) in arrivals.iter().enumerate() {
        for (more, later) in arrivals[from..].iter().enumerate().skip(10) {
            let least = Duration::from_secs_f64(more as f64 / RPS).saturating_sub(Duration::from_millis(60));
            assert!(later.at - first.at >= least, "{more} requests after {from} in {:?}", later.at - first.at);
        }
    }
}

#[tokio::test]
async fn what_an_answer_announces_is_read_off_the_wire() {
    let slowly = b"HTTP/1.1 200 OK\r\nratelimit-policy: 20;w=1\r\ncontent-length: 4\r\n\r\npage".to_vec();
    let server = Server::answering(slowly).await;
    let world = World::calling(server.base_url.clone(), limits(2, 100.0), patient_http(), no_retry());
    world.fetch_many(12).join_all().await;
    let arrivals = server.arrivals();
    let took = arrivals[11].at - arrivals[2].at;
    assert!(took > Duration::from_millis(440), "nine gaps of 50 ms, not of 10: {took:?}");
}

#[tokio::test]
async fn events_say_how_many_requests_are_in_flight() {
    let server = Server::answering(answer(200, "page")).await;
    let world = calling(&server.base_url, no_retry());
    world.fetch_many(12).join_all().await;
    let events = world.ears.0.lock().unwrap();
    let started = events.iter().filter_map(|event| match event {
        Event::AttemptStarted { in_flight, permits, .. } => Some((*in_flight, *permits)),
        _ => None,
    });
    let started: Vec<_> = started.collect();
    assert_eq!(started.len(), 12);
    assert!(started.iter().all(|(in_flight, permits)| (1..=4).contains(in_flight) && *permits == 4), "{started:?}");
}

#[tokio::test]
async fn the_key_is_on_the_wire_once_encoded_and_nowhere_else() {
    let server = Server::start(|arrival| vec![Act::Send(answer(404, &arrival.head))]).await;
    let world = calling(&server.base_url, no_retry());
    let failure = world.fetch().await.unwrap_err();
    let head = &server.arrivals()[0].head;
    assert!(head.starts_with("GET /apt_trade?serviceKey=aB3%2Bcd%2FEF9gh%3D%3D HTTP/1.1\r\n"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("referer"));
    assert!(head.contains("user-agent: gapless/"));
    let told = format!("{failure} {failure:?} {:?} {:?}", world.ears.0.lock().unwrap(), world.caller);
    assert!(told.contains("serviceKey=[key]"), "{told}");
    assert!(!told.contains("aB3"), "{told}");
}

#[tokio::test]
async fn a_body_is_kept_as_received_without_the_key() {
    for size in [100, 100_000] {
        let body = format!("{}{KEY}", "x".repeat(size));
        let server = Server::answering(answer(200, &body)).await;
        let fetched = calling(&server.base_url, no_retry()).fetch().await.unwrap();
        let redacted = body.replace(KEY, "[key]");
        assert_eq!(fetched.body.raw_bytes, redacted.len() as u64);
        assert_eq!(zstd::decode_all(&*fetched.body.zstd).unwrap(), redacted.as_bytes());
        assert_eq!(fetched.body.blake3, *blake3::hash(redacted.as_bytes()).as_bytes());
        assert_eq!(fetched.attempts[0].body_bytes, body.len() as u64, "as it came over the wire");
    }
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    let check = |concurrency, rps: f64, is_fine: bool| {
        let (http, retry) = (HttpSettings::default(), RetrySettings::default());
        let settings = CallerSettings {
            providers: vec![limits(concurrency, rps)],
            http,
            retry,
            breakers: Breakers::none(),
            max_calls: None,
            max_runtime: None,
        };
        let made = Caller::new(settings, surroundings(&Clock::tokio(Timestamp::UNIX_EPOCH), &Ears::default()));
        assert_eq!(made.is_ok(), is_fine, "{concurrency} in flight, {rps} a second");
    };
    check(1, 40.0, true);
    check(1, 0.0, true);
    check(1, 0.001, true);
    check(0, 40.0, false);
}

/// A piece of a deflate stream that can be repeated for ever: 8 blocks of 7,999 zeros each, in fixed codes, which end on a
/// whole byte.
fn zeros_deflated() -> Vec<u8> {
    let mut bits = Vec::new();
    for _ in 0..8 {
        // Not the last block; fixed codes.
        bits.extend([0, 1, 0]);
        let mut code = |value: u32, length: u32| bits.extend((0..length).rev().map(|bit| (value >> bit & 1) as u8));
        // The byte 0 once; then 31 times "258 bytes, from one byte back"; then the end of the block.
        code(0b0011_0000, 8);
        for _ in 0..31 {
            code(0b1100_0101, 8);
            code(0, 5);
        }
        code(0, 7);
    }
    assert_eq!(bits.len() % 8, 0);
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// The most memory this process has had, in KiB; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn the_gap_counts_from_where_a_request_is_written() {
    let server = Server::start(|_| vec![Act::Send(answer(200, "page"))]).await;
    let world = World::calling(server.base_url.clone(), limits(4, 20.0), patient_http(), no_retry());
    world.fetch().await.unwrap();
    // The machine has other things to do once the second has had its turn, and before the client writes it.
    let mut second = Box::pin(world.begun(world.call()));
    let mut is_held_up = false;
    let held_up = std::future::poll_fn(|context| {
        let polled = second.as_mut().poll(context);
        if !is_held_up && world.ears.count(|event| matches!(event, Event::AttemptStarted { .. })) == 2 {
            is_held_up = true;
            std::thread::sleep(Duration::from_millis(40));
        }
        polled
    });
    let (second, third) = tokio::join!(held_up, world.fetch());
    assert!(second.is_ok() && third.is_ok());
    let arrivals = server.arrivals();
    let gap = arrivals[2].at - arrivals[1].at;
    assert!(gap >= Duration::from_millis(40), "two arrived within {gap:?}");
    let heads: String = arrivals.iter().map(|arrival| arrival.head.to_ascii_lowercase()).collect();
    assert!(!heads.contains("content-length") && !heads.contains("transfer-encoding"), "{heads}");
}
