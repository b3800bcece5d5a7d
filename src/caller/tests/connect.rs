use super::super::connect::OneAtATime;
use super::super::pacer::Pacer;
use super::server::{answer, start_tls};
use super::wire::{calling, check, no_retry, patient_http, quick_http, quick_retry};
use super::*;

#[tokio::test]
async fn a_server_that_does_not_speak_tls_in_time_is_a_connect_timeout() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}", server.local_addr().unwrap());
    let attempt =
        World::calling(base_url, limits(1, 0.0), quick_http(), no_retry()).fetch().await.unwrap_err().attempts.remove(0);
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
async fn a_certificate_nobody_vouches_for_stops_the_api_and_a_ca_file_vouches() {
    let failure = calling(&start_tls(answer(200, "page")), quick_retry()).fetch().await.unwrap_err();
    let [attempt] = &*failure.attempts else { panic!("asked once: {failure}") };
    check(attempt, Outcome::Invalid, "no secure connection to 127.0.0.1 (tls): invalid peer certificate");
    assert_eq!((attempt.scope, attempt.sent), (Scope::Api, false));

    let ca_file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/loopback.pem");
    let http = HttpSettings { ca_file: Some(ca_file.into()), ..patient_http() };
    let world = World::calling(start_tls(answer(200, "page")), limits(1, 0.0), http, no_retry());
    world.fetch().await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    let ca_file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/loopback.pem");
    let http = HttpSettings { ca_file: Some(ca_file.into()), ..patient_http() };
    // The certificate is one for the address.
    let base_url = start_tls(answer(200, "page")).replace("127.0.0.1", "localhost");
    let attempt = World::calling(base_url, limits(1, 0.0), http, no_retry()).fetch().await.unwrap_err().attempts.remove(0);
    check(&attempt, Outcome::Invalid, "no secure connection to localhost (tls): invalid peer certificate");
    assert_eq!((attempt.scope, attempt.sent), (Scope::Api, false));
}

#[tokio::test]
async fn a_server_that_knows_no_safe_encryption_is_told_to_be_so() {
    const HANDSHAKE_FAILURE: u8 = 40;
    const PROTOCOL_VERSION: u8 = 70;
    for alert in [HANDSHAKE_FAILURE, PROTOCOL_VERSION] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("https://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut stream = listener.accept().unwrap().0;
            assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
            // A fatal alert.
            stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).unwrap();
            let _ = stream.read(&mut [0; 1]);
        });
        let failure = calling(&base_url, no_retry()).fetch().await.unwrap_err();
        check(&failure.attempts[0], Outcome::Retry, "(tls): received fatal alert");
        let End::Trouble(trouble) = failure.end else { panic!("{:?}", failure.end) };
        assert!(trouble.hint.is_some_and(|hint| hint.contains("no longer safe")), "alert {alert}");
    }
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
    let http = HttpSettings { ca_file: Some(file.path().to_owned()), ..patient_http() };
    let settings = CallerSettings {
        providers: Vec::new(),
        http,
        retry: RetrySettings::default(),
        breakers: Breakers::none(),
        max_calls: None,
        max_runtime: None,
    };
    let made = Caller::new(settings, surroundings(&Clock::tokio(Timestamp::UNIX_EPOCH), &Ears::default()));
    assert!(matches!(made, Err(CallerError::CaFile(CaFileError::Empty { .. }))));
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
