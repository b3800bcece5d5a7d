mod connect;
mod pause;
mod retry;
mod server;
mod stop;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::retry::Connection;
use super::wire::{Exchange, Fault, Wire};
use super::*;
use jiff::tz::TimeZone;

use crate::decode::RawAnswer;
use crate::model::attempt::{Attempt, CallLabel};
use crate::model::event::{Event, NextStep};
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::outcome::{Judgement, Outcome, Scope, Trouble, TroubleKind};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::rate::Rate;
use crate::model::record::Records;
use crate::model::secret::ServiceKey;
use crate::model::tree::Tree;
use crate::settings::http::HttpSettings;
use crate::settings::retry::{RetryAfterRule, RetrySettings};

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;
const START: &str = "2026-11-29T18:00:00Z";
const KEY: &str = "aB3+cd/EF9gh==";

/// What a scripted wire says to one request.
#[derive(Clone)]
enum Reply {
    Status(u16),
    RetryAfter(u16, u64),
    Fails(Connection),
    Never,
}

type Script = dyn Fn(usize, Nanos) -> Reply + Send + Sync;

/// A wire without sockets, so that time can be paused.
struct ScriptedWire {
    clock: Clock,
    script: Box<Script>,
    latency: Duration,
    sends: Arc<Mutex<Vec<Nanos>>>,
}

impl Wire for ScriptedWire {
    fn get<'w>(&'w self, _: &'w super::request::SecretUrl) -> Exchange<'w> {
        Box::pin(async move {
            let now = self.clock.now();
            let index = {
                let mut sends = self.sends.lock().unwrap();
                sends.push(now);
                sends.len() - 1
            };
            let reply = (self.script)(index, now);
            self.clock.sleep(self.latency).await;
            let (status, retry_after) = match reply {
                Reply::Status(status) => (status, None),
                Reply::RetryAfter(status, seconds) => (status, Some(Duration::from_secs(seconds))),
                Reply::Fails(connection) => {
                    let trouble = Trouble::plain(TroubleKind::Retry, Scope::Attempt, "connection reset");
                    return Err(Fault { trouble, sent: true, connection, http_status: None });
                }
                Reply::Never => std::future::pending().await,
            };
            Ok(RawAnswer { status, content_type: None, retry_after, body: Bytes::from_static(b"body") })
        })
    }
}

/// Judges by the status alone, so that a script can bring about every outcome.
fn judge(raw: RawAnswer) -> Judgement {
    let page = Page {
        records: Records::new(Arc::new(Tree::default()), Vec::new()),
        row_hashes: Arc::new([]),
        total: None,
        page_echo: None,
        code: None,
        has_more: None,
    };
    let kind = match raw.status {
        200 => return Judgement::Page(page),
        204 => return Judgement::Empty(page),
        202 => TroubleKind::Later,
        400 => TroubleKind::Invalid,
        401 => TroubleKind::Refused,
        402 => TroubleKind::Spent,
        409 => TroubleKind::Restart,
        413 => TroubleKind::TooBig,
        429 => TroubleKind::SlowDown,
        500..=599 => TroubleKind::Retry,
        _ => TroubleKind::Garbled,
    };
    let body = String::from_utf8_lossy(&raw.body[..raw.body.len().min(80)]).into_owned();
    Judgement::Trouble(Trouble::plain(kind, Scope::Attempt, format!("status {}: {body}", raw.status)))
}

/// Keeps every event.
#[derive(Clone, Default)]
struct Ears(Arc<Mutex<Vec<Event>>>);

impl Listener for Ears {
    fn hear(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Ears {
    fn count(&self, is_it: impl Fn(&Event) -> bool) -> usize {
        self.0.lock().unwrap().iter().filter(|event| is_it(event)).count()
    }

    fn steps(&self) -> Vec<NextStep> {
        let step = |event: &Event| match event {
            Event::AttemptEnded { next, .. } => Some(*next),
            _ => None,
        };
        self.0.lock().unwrap().iter().filter_map(step).collect()
    }

    fn pauses(&self) -> Vec<u64> {
        let pause = |event: &Event| match event {
            Event::ProviderPaused { pause, .. } => Some(pause.as_secs()),
            _ => None,
        };
        self.0.lock().unwrap().iter().filter_map(pause).collect()
    }
}

/// A caller with one provider.
struct World {
    caller: Caller,
    ears: Ears,
    clock: Clock,
    sends: Arc<Mutex<Vec<Nanos>>>,
    base_url: String,
}

fn provider() -> Name {
    Name::literal("open_data")
}

fn limits(concurrency: u32, rps: f64) -> ProviderLimits {
    let rate = if rps == 0.0 { Rate::Unlimited } else { Rate::PerSecond(rps) };
    ProviderLimits { provider: provider(), concurrency, rate, zone: TimeZone::UTC }
}

fn retry_settings() -> RetrySettings {
    RetrySettings { error_pause: Duration::ZERO, ..RetrySettings::default() }
}

impl World {
    fn scripted(
        limits: ProviderLimits,
        retry: RetrySettings,
        script: impl Fn(usize, Nanos) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let clock = Clock::tokio(START.parse().unwrap());
        let (ears, sends) = (Ears::default(), Arc::default());
        let settings = CallerSettings { providers: vec![limits], http: HttpSettings::default(), retry, max_calls: None };
        let script: Arc<Script> = Arc::new(script);
        let caller = Caller::with_wire(settings, surroundings(&clock, &ears), |_| {
            let script = Arc::clone(&script);
            let (clock, sends) = (clock.clone(), Arc::clone(&sends));
            let script = Box::new(move |index, now| script(index, now));
            Ok(Box::new(ScriptedWire { clock, script, latency: Duration::from_millis(100), sends }))
        });
        Self { caller: caller.unwrap(), ears, clock, sends, base_url: "https://api.example".to_owned() }
    }

    /// Over real sockets, in real time.
    fn calling(base_url: String, limits: ProviderLimits, http: HttpSettings, retry: RetrySettings) -> Self {
        let (clock, ears) = (Clock::precise(), Ears::default());
        let settings = CallerSettings { providers: vec![limits], http, retry, max_calls: None };
        let caller = Caller::new(settings, surroundings(&clock, &ears)).unwrap();
        Self { caller, ears, clock, sends: Arc::default(), base_url }
    }

    fn call(&self) -> Call {
        Call {
            provider: provider(),
            label: CallLabel {
                dataset: Name::literal("apt_trade"),
                partition: Partition::new([(Name::literal("month"), "2024-03")]),
                job: JobId(1),
                read: ReadNumber::FIRST,
                page: PageNumber::FIRST,
            },
            request: PageRequest {
                base_url: self.base_url.clone(),
                path: "/trades".to_owned(),
                query: Vec::new(),
                key: Some(KeyParam { name: "serviceKey".to_owned(), key: ServiceKey::from_pasted(KEY).unwrap() }),
            },
            judge: Arc::new(judge),
            place: None,
        }
    }

    async fn fetch(&self) -> Result<Fetched, Failure> {
        self.caller.fetch(self.call()).await
    }

    /// So many calls side by side.
    fn fetch_many(&self, count: usize) -> tokio::task::JoinSet<Result<Fetched, Failure>> {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..count {
            let (caller, call) = (self.caller.clone(), self.call());
            calls.spawn(async move { caller.fetch(call).await });
        }
        calls
    }

    fn sends(&self) -> Vec<Nanos> {
        self.sends.lock().unwrap().clone()
    }

    /// Time between the end of a request and the next one, in whole milliseconds.
    fn waits(&self) -> Vec<u64> {
        self.sends().windows(2).map(|pair| (pair[1] - pair[0]) / MS - 100).collect()
    }
}

fn surroundings(clock: &Clock, ears: &Ears) -> Surroundings {
    Surroundings { clock: clock.clone(), random: Arc::new(|| 0.5), listener: Arc::new(ears.clone()) }
}

fn outcomes(attempts: &[Attempt]) -> Vec<Outcome> {
    attempts.iter().map(|attempt| attempt.outcome).collect()
}

fn at(seconds: u64) -> Timestamp {
    super::clock::later(START.parse().unwrap(), Duration::from_secs(seconds))
}
