//! The one file that names the HTTP client.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Frame;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Body, Client, Response, Url, redirect};
use rustls::ClientConfig;

use super::announced::Announced;
use super::clock::Clock;
use super::connect::{ConnectTimedOut, Connected, OneAtATime};
use super::kept::Kept;
use super::pacer::{Departure, Pacer};
use super::request::SecretUrl;
use super::retry::Connection;
use super::retry_after;
use super::wire::{Exchange, Fault, Received, Wire};
use crate::decode::RawAnswer;
use crate::model::outcome::{Scope, Trouble, TroubleKind};
use crate::settings::http::HttpSettings;

/// The client cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be built: {0}")]
pub struct ClientError(String);

/// The wire to one provider.
pub(super) struct HttpWire {
    client: Client,
    settings: HttpSettings,
    pacer: Arc<Pacer>,
    kept: Kept,
    clock: Clock,
}

/// No body, of a length that only its end tells: the client drops it when it has put the head on the wire.
struct Leaving(#[expect(dead_code, reason = "it is there to be dropped")] Departure);

impl HttpWire {
    /// Attempts equal requests: proxies, redirects, hidden retries and HTTP/2, which retries by itself, are off.
    pub(super) fn new(settings: HttpSettings, tls: ClientConfig, pacer: Arc<Pacer>, clock: Clock) -> Result<Self, ClientError> {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .gzip(true)
            .tcp_nodelay(true)
            .pool_idle_timeout(settings.idle_timeout)
            .user_agent(&settings.user_agent)
            .tls_backend_preconfigured(tls)
            // Timeouts are ours, here and in the connector, so that each is named as what it is.
            .connector_layer(OneAtATime::new(Arc::clone(&pacer), settings.connect_timeout))
            .build()
            .map_err(|error| ClientError(innermost(&error.without_url())))?;
        Ok(Self { client, settings, pacer, kept: Kept::default(), clock })
    }

    async fn exchange(&self, url: &SecretUrl) -> Result<Received, Fault> {
        let Ok(url) = Url::parse(url.exposed()) else {
            let trouble = Trouble::plain(TroubleKind::Invalid, Scope::Api, "the base URL and path make no URL");
            return Err(Fault { trouble, sent: false, connection: Connection::Other, http_status: None });
        };
        let host = url.host_str().unwrap_or_default().to_owned();
        let request = Request { host, connected: Connected::default(), was_in_use: self.kept.take(self.clock.now()) };
        let exchange = request.connected.watch(self.ask(url, &request));
        match tokio::time::timeout(self.settings.total_timeout, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(request.late("not done", self.settings.total_timeout, "total timeout", None)),
        }
    }

    async fn ask(&self, url: Url, request: &Request) -> Result<Received, Fault> {
        let limit = self.settings.read_timeout;
        let mut get = self.client.get(url);
        if let Some(departure) = self.pacer.departure() {
            get = get.body(Body::wrap(Leaving(departure)));
        }
        let response = match tokio::time::timeout(limit, get.send()).await {
            Ok(response) => response.map_err(|error| request.fault(error, None))?,
            Err(_) => return Err(request.late("no answer", limit, "read timeout", None)),
        };
        let status = response.status();
        if status.is_redirection() {
            return Err(request.redirected(&response));
        }
        let headers = response.headers();
        let content_type = line(headers, &CONTENT_TYPE).map(str::to_owned);
        let retry_after = retry_after(headers, self.clock.wall());
        let lines = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let announced = Announced::read(lines, self.clock.wall());
        let body = self.read(response, request).await?;
        self.kept.put(self.clock.now());
        Ok(Received { raw: RawAnswer { status: status.as_u16(), content_type, retry_after, body }, announced })
    }

    /// Reads piece by piece and counts what comes out of the decompressor: no header says how much that will be.
    async fn read(&self, mut response: Response, request: &Request) -> Result<Bytes, Fault> {
        let status = response.status().as_u16();
        let limit = self.settings.max_body;
        if response.content_length().is_some_and(|announced| announced > limit) {
            return Err(request.too_large(limit, status));
        }
        // A length that lies costs at most what a body may have.
        let mut body = Vec::with_capacity(response.content_length().map_or(0, |announced| announced as usize));
        loop {
            let piece = match tokio::time::timeout(self.settings.read_timeout, response.chunk()).await {
                Ok(piece) => piece.map_err(|error| request.fault(error, Some(status)))?,
                Err(_) => {
                    return Err(request.late("the body stopped", self.settings.read_timeout, "read timeout", Some(status)));
                }
            };
            let Some(piece) = piece else { return Ok(body.into()) };
            if (body.len() + piece.len()) as u64 > limit {
                return Err(request.too_large(limit, status));
            }
            body.extend_from_slice(&piece);
        }
    }
}

impl Wire for HttpWire {
    fn get<'w>(&'w self, url: &'w SecretUrl) -> Exchange<'w> {
        Box::pin(self.exchange(url))
    }
}

impl hyper::body::Body for Leaving {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

/// A request on its way: what its faults are told by.
struct Request {
    host: String,
    connected: Connected,
    /// Whether its connection, unless that is new, was in use a moment ago.
    was_in_use: bool,
}

impl Request {
    /// The one place where errors of the client become ours. Theirs print the URL, and the key with it.
    fn fault(&self, error: reqwest::Error, http_status: Option<u16>) -> Fault {
        let error = error.without_url();
        let host = &self.host;
        let is_connecting = error.is_connect();
        let (kind, scope, cause) = if let Some(late) = find::<ConnectTimedOut>(&error) {
            (TroubleKind::Retry, Scope::Attempt, format!("no connection to {host} within {:?} (connect timeout)", late.limit))
        } else if let Some(tls) = find::<rustls::Error>(&error) {
            let (kind, scope) = match tls {
                rustls::Error::InvalidCertificate(_) => (TroubleKind::Invalid, Scope::Api),
                _ => (TroubleKind::Retry, Scope::Attempt),
            };
            (kind, scope, format!("no secure connection to {host} (tls): {tls}"))
        } else if error.is_timeout() {
            // Before the decoder is asked: a timeout in a body shows as its error too.
            (TroubleKind::Retry, Scope::Attempt, format!("{host} stopped answering (timeout of the system)"))
        } else if error.is_dns() {
            (TroubleKind::Retry, Scope::Attempt, format!("{host} was not found (dns): {}", innermost(&error)))
        } else {
            (TroubleKind::Retry, Scope::Attempt, format!("{}: {}", self.phase(&error, http_status), name(&error)))
        };
        let hint = advice(&error).map(str::to_owned);
        let died_unanswered = http_status.is_none() && !is_connecting && is_closed(&error);
        let is_idle = !self.connected.is_new() && !self.was_in_use;
        let connection = if died_unanswered && is_idle { Connection::Stale } else { Connection::Other };
        let trouble = Trouble { hint, ..Trouble::plain(kind, scope, cause) };
        Fault { trouble, sent: !is_connecting, connection, http_status }
    }

    fn phase(&self, error: &reqwest::Error, http_status: Option<u16>) -> String {
        match http_status {
            Some(_) => format!("the body from {} broke off or is damaged (cut body)", self.host),
            None if error.is_connect() => format!("no connection to {}", self.host),
            None => format!("no answer from {}", self.host),
        }
    }

    fn late(&self, what: &str, limit: Duration, name: &str, http_status: Option<u16>) -> Fault {
        let why = format!("{}: {what} within {limit:?} ({name})", self.host);
        let trouble = Trouble::plain(TroubleKind::Retry, Scope::Attempt, why);
        // Whether the request waited for a connection or for its answer is not known for sure.
        Fault { trouble, sent: true, connection: Connection::Other, http_status }
    }

    fn too_large(&self, limit: u64, status: u16) -> Fault {
        let why = format!("the body from {} is larger than {limit} bytes", self.host);
        Fault::answered(Trouble::plain(TroubleKind::Invalid, Scope::Job, why), status)
    }

    /// Never followed: the key would go along. The target is named by its host only.
    fn redirected(&self, response: &Response) -> Fault {
        let status = response.status().as_u16();
        let target = line(response.headers(), &LOCATION).and_then(|target| response.url().join(target).ok());
        let why = match target.as_ref().and_then(Url::host_str) {
            Some(target) => format!("{} redirects to {target} (status {status}), which is not followed", self.host),
            None => format!("{} answers status {status}, which nobody asked for", self.host),
        };
        Fault::answered(Trouble::plain(TroubleKind::Invalid, Scope::Job, why), status)
    }
}

impl Fault {
    fn answered(trouble: Trouble, status: u16) -> Self {
        Self { trouble, sent: true, connection: Connection::Other, http_status: Some(status) }
    }
}

fn line<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let lines = headers.get_all(RETRY_AFTER).iter().filter_map(|value| value.to_str().ok());
    retry_after::read(lines, line(headers, &DATE), now)
}

/// The error and its causes, outermost first; what an I/O error wraps counts as its cause.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// What a person can do about a cause that will not heal by itself.
fn advice(error: &(dyn Error + 'static)) -> Option<&'static str> {
    // Of the process, of the whole system.
    const TOO_MANY_FILES: [i32; 2] = [24, 23];
    let code_of = |cause: &(dyn Error + 'static)| cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    if find::<rustls::Error>(error).is_some_and(is_outdated) {
        Some(OUTDATED)
    } else if chain(error).filter_map(code_of).any(|code| TOO_MANY_FILES.contains(&code)) {
        Some("This machine ran out of file descriptors: raise `ulimit -n`, or lower `concurrency`.")
    } else {
        None
    }
}

/// Whether the other side knows no encryption that is still safe.
fn is_outdated(error: &rustls::Error) -> bool {
    use rustls::AlertDescription::{HandshakeFailure, InsufficientSecurity, ProtocolVersion};
    matches!(error, rustls::Error::AlertReceived(HandshakeFailure | InsufficientSecurity | ProtocolVersion))
}

const OUTDATED: &str = "The server offers only encryption that is no longer safe (TLS 1.0 or 1.1, or keys exchanged by RSA \
    alone), which gapless does not speak: ask the provider for a newer address.";

/// Whether the other side closed the connection instead of answering.
fn is_closed(error: &(dyn Error + 'static)) -> bool {
    let by_system = find::<io::Error>(error).is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof
        )
    });
    by_system || find::<hyper::Error>(error).is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
}

/// One word for the usual causes, else what the innermost error says.
fn name(error: &(dyn Error + 'static)) -> String {
    let kind = find::<io::Error>(error).map(io::Error::kind);
    let is_incomplete = find::<hyper::Error>(error).is_some_and(hyper::Error::is_incomplete_message);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => "connection reset".to_owned(),
        Some(io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected) => "connection closed".to_owned(),
        _ if is_incomplete => "connection closed".to_owned(),
        _ => innermost(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_descriptors_is_told_what_to_raise() {
        let check = |code: i32, is_told: bool| {
            let wrapped = io::Error::other(io::Error::from_raw_os_error(code));
            assert_eq!(advice(&wrapped).is_some_and(|hint| hint.contains("ulimit -n")), is_told, "{wrapped}");
        };
        check(23, true);
        check(24, true);
        check(111, false);
    }
}
