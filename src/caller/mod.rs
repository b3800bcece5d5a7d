//! The one place that makes HTTP requests.
//!
//! A [`Call`] asks for one page of one dataset; [`Caller::fetch`] asks until that is final, and says so in one of two
//! ways: [`Fetched`], a page or a proof of none, or [`Failure`], with the [`End`] of the call on top and every attempt
//! below it. Whatever happens in between (retries, pauses, refusals) is told to the listener and is no business of whoever
//! asks. All clones of a [`Caller`] share its limits.
//!
//! # The order of things
//!
//! Outer to inner: retry, API with its breaker, pause, permit, slot, HTTP.
//!
//! | step | file | what it does | whom it holds up |
//! |---|---|---|---|
//! | retry | `fetch`, `retry` | tries again what heals by itself, after waits that grow; holds no permit meanwhile | this call |
//! | API | `api`, `reach` | leaves a dataset alone that refused the key or whose day is spent | all calls of the dataset |
//! | breaker | `api`, `breaker`, `window` | leaves a dataset alone whose server is in trouble | all calls of the dataset |
//! | pause | `traffic`, `lights`, `pause`, `hold`, `speed` | after a refusal for speed nobody asks; then single canaries | all calls of the provider |
//! | permit | `provider` | so many requests in flight | all calls of the provider |
//! | slot | `pacer` | so many requests a second, one by one | all calls of the provider |
//! | HTTP | `attempt`, `wire`, `http`, `connect` | one request; connect, read and total timeout | this attempt |
//!
//! An attempt is one request on the wire, no more and no less: redirects, proxies and the client's own retries are off.
//! An API is a provider's dataset: a run asks each provider with one key.
//!
//! # How far a trouble reaches
//!
//! An answer without a page has a kind and a scope, and `reach` says what they do beyond their call. A spent quota leaves
//! its dataset alone until midnight in the provider's zone. A refused key is doubted first: one call asks again, alone,
//! while the others of its dataset wait; refused again, the dataset or the whole provider is left alone for the run. So is
//! a dataset whose calls are refused as invalid again and again. What is left alone ends as [`End::Deferred`], those who
//! wait at once.
//!
//! # What a server announces
//!
//! Headers that say how many calls are let in (`RateLimit`, `X-RateLimit-*` and their like) are read on every answer, as
//! advice to ask more slowly and never to ask faster: the tightest rate that is announced bounds the pace, and where no
//! call is left nobody asks until they are counted anew, for a minute at most. A source whose headers are wrong is not
//! believed for long: what it let in although no call was left says so. That no call of the day is left counts beside a
//! refusal alone.
//!
//! # When a server is in trouble
//!
//! Each dataset has a breaker. It looks at what came of the calls of the last minutes, and opens when too many of them
//! failed: nobody asks then, calls wait and use up no tries. After its time a few calls find out whether the server is
//! back. It is looked at before every attempt, also by those that wake from a retry wait; what was sent before its last
//! change says nothing of now. Only what speaks of the server's health counts: a page, or a failure that heals by itself.
//! A trouble that outlasts the patience of the settings, or the run, is not waited for: its calls are deferred.
//!
//! # How a call ends early
//!
//! - [`Caller::stop_claiming`]: no attempt begins, those in flight land. [`Caller::stop_now`]: these end as well.
//! - [`Call::abandoned`]: the same for one call whose walk is over.
//! - [`Caller::stop_api`]: the same for one dataset.
//! - The calls the run may make are used up: all others are deferred.
//! - [`Caller::fetch`] is dropped: permit, place, canary and doubt go back, and its request in flight is cut off.
//!
//! # Waiting
//!
//! A worker's [`Place`] is given to another while its calls wait for a second or longer, so partitions that keep failing
//! do not slow healthy ones. No call waits for a time that a server named and that is more than a minute off: it is
//! deferred until then. At an open breaker it waits longer, outside of its place, and no new jobs are begun meanwhile.
//! All time comes from one [`Clock`], so that tests can pause it.
//!
//! # What is not here
//!
//! The calls of a day are counted by whoever gives the [`Ration`]; without one, the provider alone says when a day is
//! spent.
//!
//! Nothing in here shows the key: it stands in the URL, which only `http` sees.

mod alarm;
mod announced;
mod api;
mod attempt;
mod body;
mod breaker;
mod budget;
mod call;
mod clock;
mod connect;
mod control;
mod elsewhere;
mod fetch;
mod guise;
mod hold;
mod http;
mod kept;
mod lane;
mod lights;
mod pacer;
mod pause;
mod permits;
mod place;
mod provider;
mod ration;
mod reach;
mod request;
mod retry;
mod retry_after;
mod slots;
mod speed;
mod stop;
mod surroundings;
#[cfg(test)]
mod tests;
mod ticket;
mod tls;
mod traffic;
mod window;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub use body::{Answer, Judge};
pub use call::{Call, End, Failure, Fetched};
pub use clock::{Clock, Nanos};
pub use elsewhere::Others;
pub use fetch::Random;
pub use http::ClientError;
pub use pacer::Pacer;
pub use place::{Place, Places};
pub use provider::{LimitsError, Pace, ProviderLimits};
pub use ration::{Exhausted, Ration, Unrationed};
pub use request::{KeyParam, PageRequest};
pub use slots::{Batch, Reading, Slots, Wish};
pub use speed::Start;
pub use surroundings::{CallerSettings, Surroundings};
pub use tls::CaFileError;

use crate::model::name::Name;
use api::Apis;
use budget::Budget;
use fetch::Rules;
use http::HttpWire;
use lane::Lane;
use provider::Provider;
use stop::Stop;
use wire::Wire;

/// Makes every HTTP request of a run. Cheap to clone; all clones share limits and pauses.
#[derive(Clone)]
pub struct Caller {
    rules: Arc<Rules>,
    providers: Arc<HashMap<Name, Provider>>,
}

/// A caller that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    #[error(transparent)]
    Limits(#[from] LimitsError),
    #[error(transparent)]
    CaFile(#[from] CaFileError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Caller {
    pub fn new(settings: CallerSettings, surroundings: Surroundings) -> Result<Self, CallerError> {
        let tls = tls::client_config(settings.http.ca_file.as_deref())?;
        let http = settings.http.clone();
        let clock = surroundings.clock.clone();
        Self::with_wire(settings, surroundings, |pacer| {
            Ok(Box::new(HttpWire::new(http.clone(), tls.clone(), Arc::clone(pacer), clock.clone())?))
        })
    }

    fn with_wire(
        settings: CallerSettings,
        Surroundings { clock, random, listener, ration, slots }: Surroundings,
        wire: impl Fn(&Arc<Pacer>) -> Result<Box<dyn Wire>, CallerError>,
    ) -> Result<Self, CallerError> {
        let deadline = settings.max_runtime.map(|limit| clock.now().saturating_add(clock::nanos(limit)));
        let mut providers = HashMap::new();
        for limits in settings.providers {
            let new_breaker = breaker::maker(&settings.breakers, &limits, &settings.http, &settings.retry, deadline);
            let apis = Apis::new(clock.clone(), Arc::clone(&random), Arc::clone(&listener), new_breaker);
            let (interval, clock) = (limits.interval()?, clock.clone());
            let pacer = Arc::new(match &slots {
                Some(slots) => {
                    let lane = Lane::new(limits.provider.clone(), Arc::clone(slots), clock.clone());
                    Pacer::sharing(interval, clock.clone(), lane)
                }
                None => Pacer::new(interval, clock.clone()),
            });
            let wire = wire(&pacer)?;
            let name = limits.provider.clone();
            let patience = settings.retry.throttle_patience;
            let provider = Provider::new(limits, patience, pacer, wire, clock, Arc::clone(&listener), apis);
            providers.insert(name, provider);
        }
        let budget = Budget::new(settings.max_calls);
        let rules = Rules { retry: settings.retry, clock, random, listener, stop: Stop::default(), budget, ration };
        Ok(Self { rules: Arc::new(rules), providers: Arc::new(providers) })
    }

    /// Asks for one page until it is final: an answer, or the reason why there is none.
    ///
    /// Keeps every limit of the provider, retries what heals by itself, and tells the listener of each attempt. Dropping
    /// it gives everything back. Panics when the provider is not among those the caller was made with.
    ///
    /// ```
    /// # use std::io::{Read, Write};
    /// # use std::net::TcpListener;
    /// # use std::sync::Arc;
    /// # use gapless::caller::*;
    /// # use gapless::model::{attempt::CallLabel, event::Listeners, job::*, name::Name, outcome::*, partition::Partition, rate::Rate};
    /// # use gapless::{decode::RawAnswer, settings::{breaker::Breakers, http::HttpSettings, retry::RetrySettings}};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = TcpListener::bind("127.0.0.1:0")?;
    /// # let base_url = format!("http://{}", server.local_addr()?);
    /// # std::thread::spawn(move || {
    /// #     let mut client = server.accept().unwrap().0;
    /// #     client.read(&mut [0; 4096]).unwrap();
    /// #     client.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope").unwrap();
    /// # });
    /// let provider = Name::literal("open_data");
    /// let rate = Rate::PerSecond(40.0);
    /// let (concurrency, invalid_in_a_row, zone) = (4, 5, jiff::tz::TimeZone::UTC);
    /// let limits = ProviderLimits { provider: provider.clone(), concurrency, rate, invalid_in_a_row, pace: Pace::Careful, zone };
    /// let (http, retry) = (HttpSettings::default(), RetrySettings::default());
    /// let settings =
    ///     CallerSettings { providers: vec![limits], http, retry, breakers: Breakers::none(), max_calls: None, max_runtime: None };
    /// let clock = Clock::precise();
    /// let surroundings =
    ///     Surroundings { clock, random: Arc::new(fastrand::f64), listener: Arc::new(Listeners::default()), ration: Arc::new(Unrationed), slots: None };
    /// let caller = Caller::new(settings, surroundings)?;
    ///
    /// let call = Call {
    ///     provider,
    ///     label: CallLabel {
    ///         dataset: Name::literal("apt_trade"),
    ///         partition: Partition::new([(Name::literal("month"), "2024-03")]),
    ///         job: JobId(1),
    ///         read: ReadNumber::FIRST,
    ///         page: PageNumber::FIRST,
    ///     },
    ///     request: PageRequest { base_url, path: "/trades".into(), query: vec![("month".into(), "202403".into())], key: None },
    ///     // A dialect says what an answer is; this one knows a single rule.
    ///     judge: Arc::new(|raw: RawAnswer| {
    ///         let why = format!("status {}", raw.status);
    ///         Judgement::Trouble(Trouble::plain(TroubleKind::Invalid, Scope::Job, why))
    ///     }),
    ///     place: None,
    ///     abandoned: None,
    ///     failed: None,
    /// };
    /// let failure = caller.fetch(call).await.unwrap_err();
    /// assert_eq!(failure.to_string(), "status 404");
    /// assert_eq!(failure.attempts.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fetch(&self, call: Call) -> Result<Fetched, Failure> {
        let provider = self.providers.get(&call.provider).expect("a caller is made with every provider it is asked for");
        fetch::fetch(&self.rules, provider, call).await
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("providers", &self.providers.keys()).finish_non_exhaustive()
    }
}
