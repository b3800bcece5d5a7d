use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use super::request::{KeySeen, Request};

/// One request as the portal saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestLine {
    /// Since the portal started, taken when the head was complete.
    #[serde(rename = "at_us", serialize_with = "as_micros")]
    pub at: Duration,
    /// From 1, in order of arrival.
    pub number: u64,
    pub method: String,
    pub path: String,
    /// Decoded, in the order sent, without the key.
    pub query: Vec<(String, String)>,
    #[serde(flatten)]
    pub key: KeySeen,
    /// Which connection brought it, from 1 in order of acceptance.
    pub connection: u64,
    /// Requests the portal had not finished answering, this one included.
    pub in_flight: u32,
    /// The status, as soon as it is on its way; `None` where no byte of an answer is.
    pub answered: Option<u16>,
    pub played: Played,
}

/// What the portal did with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// Still waiting for its turn.
    Pending,
    /// The true page.
    Page,
    /// A fault of the scenario, by name.
    Fault(String),
    TooFast,
    TooMany,
    WrongKey,
    QuotaSpent,
    UnknownPath,
    BadRequest,
}

impl RequestLine {
    /// The value of a query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Page => "page",
            Self::Fault(name) => name,
            Self::TooFast => "too_fast",
            Self::TooMany => "too_many",
            Self::WrongKey => "wrong_key",
            Self::QuotaSpent => "quota_spent",
            Self::UnknownPath => "unknown_path",
            Self::BadRequest => "bad_request",
        })
    }
}

impl Serialize for Played {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn as_micros<S: Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(at.as_micros())
}

/// Hears every request when the portal is done with it.
pub(super) type Listener = Box<dyn Fn(&RequestLine) + Send + Sync>;

/// The log of a portal.
pub(super) struct Journal {
    started: Instant,
    listener: Listener,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lines: Vec<RequestLine>,
    in_flight: u32,
}

impl Journal {
    pub fn new(started: Instant, listener: Listener) -> Self {
        Self { started, listener, inner: Mutex::default() }
    }

    pub fn lines(&self) -> Vec<RequestLine> {
        self.lock().lines.clone()
    }

    /// Enters a request whose head is complete now; it is in flight until its [`Presence`] leaves.
    pub fn enter(self: &Arc<Self>, request: Option<&Request>, key: KeySeen, connection: u64) -> Presence {
        let mut inner = self.lock();
        inner.in_flight += 1;
        let line = RequestLine {
            at: self.started.elapsed(),
            number: inner.lines.len() as u64 + 1,
            method: request.map(|request| request.method.clone()).unwrap_or_default(),
            path: request.map(|request| request.path.clone()).unwrap_or_default(),
            query: request.map(|request| request.query.clone()).unwrap_or_default(),
            key,
            connection,
            in_flight: inner.in_flight,
            answered: None,
            played: Played::Pending,
        };
        let presence = Presence { number: line.number, in_flight: line.in_flight, journal: Arc::clone(self), is_in: true };
        inner.lines.push(line);
        presence
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the log")
    }
}

/// A request in flight.
pub(super) struct Presence {
    pub number: u64,
    pub in_flight: u32,
    journal: Arc<Journal>,
    is_in: bool,
}

impl Presence {
    pub fn plays(&self, played: Played) {
        self.change(|line| line.played = played);
    }

    /// To be called before the first byte leaves: whoever reads an answer finds it in the log.
    pub fn answers(&self, status: u16) {
        self.change(|line| line.answered = Some(status));
    }

    /// Ends the request for the count in flight. To be called before the last byte leaves: a client that has read its
    /// answer and asks again must not be seen as two.
    pub fn leave(&mut self) {
        if std::mem::replace(&mut self.is_in, false) {
            self.journal.lock().in_flight -= 1;
        }
    }

    fn change(&self, change: impl FnOnce(&mut RequestLine)) {
        change(&mut self.journal.lock().lines[self.number as usize - 1]);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.leave();
        let line = self.journal.lock().lines[self.number as usize - 1].clone();
        (self.journal.listener)(&line);
    }
}
