mod abandon;
mod announced;
mod breaker;
mod budget;
mod connect;
mod elsewhere;
mod gate;
mod health;
mod pause;
mod retry;
mod search;
mod server;
mod stop;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::announced::Announced;
use super::retry::Connection;
use super::wire::{Exchange, Fault, Received, Wire};
use super::*;
use jiff::tz::TimeZone;

use crate::decode::RawAnswer;
use crate::model::attempt::{Attempt, CallLabel, Waits};
use crate::model::event::{Event, Listener, NextStep};
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::outcome::{Judgement, Outcome, Scope, Trouble, TroubleKind};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::rate::Rate;
use crate::model::record::Records;
use crate::model::secret::ServiceKey;
use crate::model::tree::Tree;
use crate::settings::breaker::Breakers;
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
    /// After so long, not after the usual time.
    After(Duration, u16),
    /// With these headers.
    Saying(u16, &'static [(&'static str, &'static str)]),
}

/// One request as the scripted wire sees it.
struct Asked<'a> {
    /// From 0.
    index: usize,
    at: Nanos,
    url: &'a str,
    /// Itself among them.
    in_flight: u32,
}

type Script = dyn Fn(&Asked<'_>) -> Reply + Send + Sync;

/// A wire without sockets, so that time can be paused.
struct ScriptedWire {
    clock: Clock,
    script: Arc<Script>,
    latency: Duration,
    sends: Arc<Mutex<Vec<Nanos>>>,
    in_flight: Arc<()>,
}

impl Wire for ScriptedWire {
    fn get<'w>(&'w self, url: &'w super::request::SecretUrl) -> Exchange<'w> {
        Box::pin(async move {
            let now = self.clock.now();
            let here = Arc::clone(&self.in_flight);
            let in_flight = u32::try_from(Arc::strong_count(&here) - 1).unwrap();
            let index = {
                let mut sends = self.sends.lock().unwrap();
                sends.push(now);
                sends.len() - 1
            };
            let reply = (self.script)(&Asked { index, at: now, url: url.exposed(), in_flight });
            self.clock.sleep(if let Reply::After(latency, _) = reply { latency } else { self.latency }).await;
            drop(here);
            let lines = if let Reply::Saying(_, lines) = reply { lines } else { &[] };
            let (status, retry_after) = match reply {
                Reply::Status(status) | Reply::After(_, status) | Reply::Saying(status, _) => (status, None),
                Reply::RetryAfter(status, seconds) => (status, Some(Duration::from_secs(seconds))),
                Reply::Fails(connection) => {
                    let trouble = Trouble::plain(TroubleKind::Retry, Scope::Attempt, "connection reset");
                    return Err(Fault { trouble, sent: true, connection, http_status: None });
                }
                Reply::Never => std::future::pending().await,
            };
            let raw = RawAnswer { status, content_type: None, retry_after, body: Bytes::from_static(b"body") };
            Ok(Received { raw, announced: Announced::read(lines.iter().copied(), self.clock.wall()) })
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
    let (kind, scope) = match raw.status {
        200 => return Judgement::Page(page),
        204 => return Judgement::Empty(page),
        202 => (TroubleKind::Later, Scope::Attempt),
        400 => (TroubleKind::Invalid, Scope::Attempt),
        401 => (TroubleKind::Refused, Scope::Attempt),
        402 => (TroubleKind::Spent, Scope::Attempt),
        403 => (TroubleKind::Refused, Scope::Api),
        409 => (TroubleKind::Restart, Scope::Attempt),
        410 => (TroubleKind::Invalid, Scope::Api),
        413 => (TroubleKind::TooBig, Scope::Attempt),
        421 => (TroubleKind::Misfit, Scope::Attempt),
        429 => (TroubleKind::SlowDown, Scope::Attempt),
        451 => (TroubleKind::Refused, Scope::Run),
        500..=599 => (TroubleKind::Retry, Scope::Attempt),
        _ => (TroubleKind::Garbled, Scope::Attempt),
    };
    let body = String::from_utf8_lossy(&raw.body[..raw.body.len().min(80)]).into_owned();
    Judgement::Trouble(Trouble::plain(kind, scope, format!("status {}: {body}", raw.status)))
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
    ProviderLimits {
        provider: provider(),
        concurrency,
        rate,
        invalid_in_a_row: u32::MAX,
        pace: Pace::Careful,
        zone: TimeZone::UTC,
    }
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
        Self::playing(limits, retry, None, move |asked| script(asked.index, asked.at))
    }

    /// As [`World::scripted`], with a script that sees the URL, and a run that may make so many calls.
    fn playing(
        limits: ProviderLimits,
        retry: RetrySettings,
        max_calls: Option<u64>,
        script: impl Fn(&Asked<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let settings = CallerSettings {
            providers: vec![limits],
            http: HttpSettings::default(),
            retry,
            breakers: Breakers::none(),
            max_calls,
            max_runtime: None,
        };
        Self::with(settings, script)
    }

    fn with(settings: CallerSettings, script: impl Fn(&Asked<'_>) -> Reply + Send + Sync + 'static) -> Self {
        Self::sharing(settings, None, script)
    }

    /// Beside other hosts, which leave it these slots.
    fn sharing(
        settings: CallerSettings,
        slots: Option<Arc<dyn Slots>>,
        script: impl Fn(&Asked<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let clock = Clock::tokio(START.parse().unwrap());
        let (ears, sends) = (Ears::default(), Arc::default());
        let script: Arc<Script> = Arc::new(script);
        let surroundings = Surroundings { slots, ..surroundings(&clock, &ears) };
        let caller = Caller::with_wire(settings, surroundings, |_| {
            let (clock, sends, script) = (clock.clone(), Arc::clone(&sends), Arc::clone(&script));
            Ok(Box::new(ScriptedWire { clock, script, latency: Duration::from_millis(100), sends, in_flight: Arc::default() }))
        });
        Self { caller: caller.unwrap(), ears, clock, sends, base_url: "https://api.example".to_owned() }
    }

    /// Over real sockets, in real time.
    fn calling(base_url: String, limits: ProviderLimits, http: HttpSettings, retry: RetrySettings) -> Self {
        let (clock, ears) = (Clock::precise(), Ears::default());
        let settings = CallerSettings {
            providers: vec![limits],
            http,
            retry,
            breakers: Breakers::none(),
            max_calls: None,
            max_runtime: None,
        };
        let caller = Caller::new(settings, surroundings(&clock, &ears)).unwrap();
        Self { caller, ears, clock, sends: Arc::default(), base_url }
    }

    fn call(&self) -> Call {
        self.call_of("apt_trade")
    }

    /// A call of a dataset, whose name is the last part of the URL's path.
    fn call_of(&self, dataset: &'static str) -> Call {
        Call {
            provider: provider(),
            label: CallLabel {
                dataset: Name::literal(dataset),
                partition: Partition::new([(Name::literal("month"), "2024-03")]),
                job: JobId(1),
                read: ReadNumber::FIRST,
                page: PageNumber::FIRST,
            },
            request: PageRequest {
                base_url: self.base_url.clone(),
                path: format!("/{dataset}"),
                query: Vec::new(),
                key: Some(KeyParam { name: "serviceKey".to_owned(), key: ServiceKey::from_pasted(KEY).unwrap() }),
            },
            judge: Arc::new(judge),
            place: None,
            abandoned: None,
            failed: None,
        }
    }

    async fn fetch(&self) -> Result<Fetched, Failure> {
        self.caller.fetch(self.call()).await
    }

    /// So many calls side by side.
    fn fetch_many(&self, count: usize) -> JoinSet<Result<Fetched, Failure>> {
        let mut calls = JoinSet::new();
        for _ in 0..count {
            calls.spawn(self.begun(self.call()));
        }
        calls
    }

    /// A call to be polled by whoever likes.
    fn begun(&self, call: Call) -> impl Future<Output = Result<Fetched, Failure>> + Send + use<> {
        let caller = self.caller.clone();
        async move { caller.fetch(call).await }
    }

    /// Waits until so many requests have left.
    async fn sent(&self, count: usize) {
        while self.sends().len() < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
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
    Surroundings {
        clock: clock.clone(),
        random: Arc::new(|| 0.5),
        listener: Arc::new(ears.clone()),
        ration: Arc::new(Unrationed),
        slots: None,
    }
}

fn outcomes(attempts: &[Attempt]) -> Vec<Outcome> {
    attempts.iter().map(|attempt| attempt.outcome).collect()
}

fn at(seconds: u64) -> Timestamp {
    super::clock::later(START.parse().unwrap(), Duration::from_secs(seconds))
}
