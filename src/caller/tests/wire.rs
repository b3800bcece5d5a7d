use super::super::connect::OneAtATime;
use super::super::pacer::Pacer;
use super::server::{Act, Server, answer, start_tls};
use super::*;

/// Real time, so everything is short.
fn quick_retry() -> RetrySettings {
    RetrySettings { delay: Duration::from_millis(1), multiplier: 1.0, ..retry_settings() }
}

fn no_retry() -> RetrySettings {
    RetrySettings { max_retries: 0, ..quick_retry() }
}

fn quick_http() -> HttpSettings {
    HttpSettings {
        connect_timeout: Duration::from_millis(200),
        read_timeout: Duration::from_millis(400),
        total_timeout: Duration::from_millis(800),
        body_limit: 8 * 1024 * 1024,
        ..HttpSettings::default()
    }
}

fn calling(base_url: &str, retry: RetrySettings) -> World {
    World::calling(base_url.to_owned(), limits(4, 0.0), quick_http(), retry)
}

/// One request to a server that does this with it; what became of it.
async fn fault(acts: Vec<Act>) -> Attempt {
    let server = Server::start(move |_| acts.clone()).await;
    let failure = calling(&server.base_url, no_retry()).fetch().await.unwrap_err();
    let [attempt] = failure.attempts.try_into().expect("one attempt");
    attempt
}

fn head(rest: &str) -> Act {
    Act::Send(format!("HTTP/1.1 200 OK\r\n{rest}\r\n\r\n").into_bytes())
}

#[track_caller]
fn check(attempt: &Attempt, outcome: Outcome, named: &str) {
    let why = attempt.why.as_deref().unwrap();
    assert!(attempt.outcome == outcome && why.contains(named), "{}: {why}", attempt.outcome);
}

#[tokio::test]
async fn attempts_equal_requests_at_the_server() {
    for act in [Act::Reset, Act::Close] {
        let server = Server::start(move |_| vec![act.clone()]).await;
        let failure = calling(&server.base_url, quick_retry()).fetch().await.unwrap_err();
        assert_eq!(server.arrivals().len(), 5);
        assert_eq!(failure.attempts.len(), 5);
        assert!(failure.attempts.iter().all(|attempt| attempt.sent));
    }
}

#[tokio::test]
async fn a_request_that_died_on_a_kept_connection_is_tried_again_without_the_wait() {
    let server =
        Server::start(|arrival| if arrival.request == 0 { vec![Act::Send(answer(200, "page"))] } else { vec![Act::Close] }).await;
    let retry = RetrySettings { delay: Duration::from_secs(60), ..retry_settings() };
    let world = calling(&server.base_url, retry);
    world.fetch().await.unwrap();
    let fetched = world.fetch().await.unwrap();
    assert_eq!(outcomes(&fetched.attempts), [Outcome::Retry, Outcome::Page]);
    let order: Vec<_> = server.arrivals().iter().map(|arrival| (arrival.connection, arrival.request)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (1, 0)]);
}

#[tokio::test]
async fn timeouts_are_named() {
    check(&fault(vec![Act::Hang]).await, Outcome::Retry, "no answer within 400ms (read timeout)");
    let stopped = fault(vec![head("content-length: 9"), Act::Send(b"pag".to_vec()), Act::Hang]).await;
    check(&stopped, Outcome::Retry, "the body stopped within 400ms (read timeout)");
    assert_eq!(stopped.http_status, Some(200));
    let drop = Act::SendForEver { piece: b"x".to_vec(), every: Duration::from_millis(50) };
    let dripping = fault(vec![head("content-length: 9999"), drop]).await;
    check(&dripping, Outcome::Retry, "not done within 800ms (total timeout)");
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_in_time_is_a_connect_timeout() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}", server.local_addr().unwrap());
    let attempt = calling(&base_url, no_retry()).fetch().await.unwrap_err().attempts.remove(0);
    check(&attempt, Outcome::Retry, "no connection to 127.0.0.1 within 200ms (connect timeout)");
    assert!(!attempt.sent, "no byte of the request can have left");
}

#[tokio::test]
async fn a_refused_connection_is_named_and_nothing_was_sent() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let attempt = calling(&format!("http://{unused}"), no_retry()).fetch().await.unwrap_err().attempts.remove(0);
    check(&attempt, Outcome::Retry, "no connection to 127.0.0.1: connection refused");
    assert!(!attempt.sent);
}

#[tokio::test]
async fn a_host_that_cannot_exist_is_not_found() {
    // A label of more than 63 characters is refused before any question leaves this machine.
    let base_url = format!("http://{}.invalid", "x".repeat(64));
    let attempt = calling(&base_url, no_retry()).fetch().await.unwrap_err().attempts.remove(0);
    check(&attempt, Outcome::Retry, "was not found (dns)");
    assert!(!attempt.sent);
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
    let world = World::calling(server.base_url.clone(), limits(8, RPS), quick_http(), quick_retry());
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
    assert!(head.starts_with("GET /trades?serviceKey=aB3%2Bcd%2FEF9gh%3D%3D HTTP/1.1\r\n"), "{head}");
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
        assert_eq!(fetched.body.hash, *blake3::hash(redacted.as_bytes()).as_bytes());
        assert_eq!(fetched.attempts[0].body_bytes, body.len() as u64, "as it came over the wire");
    }
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_stops_the_api_and_a_ca_file_vouches() {
    let failure = calling(&start_tls(answer(200, "page")), quick_retry()).fetch().await.unwrap_err();
    let [attempt] = &*failure.attempts else { panic!("asked once: {failure}") };
    check(attempt, Outcome::Invalid, "no secure connection to 127.0.0.1 (tls): invalid peer certificate");
    assert_eq!((attempt.scope, attempt.sent), (Scope::Api, false));

    let ca_file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/loopback.pem");
    let http = HttpSettings { ca_file: Some(ca_file.into()), connect_timeout: Duration::from_secs(5), ..quick_http() };
    let world = World::calling(start_tls(answer(200, "page")), limits(1, 0.0), http, no_retry());
    world.fetch().await.unwrap();
}

#[tokio::test]
async fn plain_text_in_place_of_tls_is_named_and_heals_by_itself() {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", server.local_addr().unwrap());
    tokio::spawn(async move {
        let mut stream = server.accept().await.unwrap().0;
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let attempt = calling(&base_url, no_retry()).fetch().await.unwrap_err().attempts.remove(0);
    check(&attempt, Outcome::Retry, "(tls)");
}

#[test]
fn a_ca_file_without_certificates_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let http = HttpSettings { ca_file: Some(file.path().to_owned()), ..quick_http() };
    let settings = CallerSettings { http, ..CallerSettings::default() };
    let made = Caller::new(settings, surroundings(&Clock::tokio(Timestamp::UNIX_EPOCH), &Ears::default()));
    assert!(matches!(made, Err(CallerError::CaFile(CaFileError::Empty { .. }))));
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    let check = |concurrency, rps: f64, is_fine: bool| {
        let settings = CallerSettings { providers: vec![limits(concurrency, rps)], ..CallerSettings::default() };
        let made = Caller::new(settings, surroundings(&Clock::tokio(Timestamp::UNIX_EPOCH), &Ears::default()));
        assert_eq!(made.is_ok(), is_fine, "{concurrency} in flight, {rps} a second");
    };
    check(1, 40.0, true);
    check(1, 0.0, true);
    check(1, 0.001, true);
    check(0, 40.0, false);
    check(1, -1.0, false);
    check(1, f64::NAN, false);
    check(1, f64::INFINITY, false);
    check(1, 1_000_001.0, false);
    check(1, 1e-300, false);
}

/// A connector that takes its time.
#[derive(Clone)]
struct SlowConnector(Duration);

impl tower_service::Service<()> for SlowConnector {
    type Response = ();
    type Error = std::io::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<(), std::io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), std::io::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let takes = self.0;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn handshakes_are_made_one_at_a_time_and_each_has_the_whole_limit() {
    use tower_layer::Layer;
    use tower_service::Service;
    let clock = Clock::tokio(Timestamp::UNIX_EPOCH);
    let pacer = Arc::new(Pacer::new(Duration::from_millis(25), clock.clone()));
    let connector = OneAtATime::new(Arc::clone(&pacer), Duration::from_millis(400));
    let mut connects = tokio::task::JoinSet::new();
    let slow = connector.layer(SlowConnector(Duration::from_millis(300)));
    for mut slow in [slow.clone(), slow.clone(), slow] {
        connects.spawn(async move { slow.call(()).await.is_ok() });
    }
    assert_eq!(connects.join_all().await, [true; 3]);
    assert_eq!(clock.now() / (100 * MS), 9);
    let error = connector.layer(SlowConnector(Duration::from_secs(9))).call(()).await.unwrap_err();
    assert_eq!(error.to_string(), "no connection within 0.4 s");
    pacer.turn().await;
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
