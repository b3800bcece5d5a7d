use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::caller::{
    Call, Caller, CallerError, CallerSettings, Clock, Failure, Fetched, Judge, PageRequest, Surroundings, Unrationed,
};
use crate::decode::{self, RawAnswer, Reading};
use crate::definition::catalog::Catalog;
use crate::definition::dataset::Dataset;
use crate::model::attempt::CallLabel;
use crate::model::event::Listeners;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::rate::Rate;
use crate::sandbox::{Portal, PortalError, RequestLine, Scenario, ScenarioError};
use crate::settings::breaker::Breakers;

/// Why a proof could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum StandError {
    #[error("the practice portal cannot be started")]
    Portal(#[from] PortalError),
    #[error("the practice portal cannot play the experiment")]
    Scenario(#[from] ScenarioError),
    #[error("the caller cannot be made")]
    Caller(#[from] CallerError),
    #[error("no socket on the loopback to be silent on")]
    Socket(#[source] std::io::Error),
}

/// A practice portal and a caller that asks it: one experiment.
pub(super) struct Stand {
    portal: Portal,
    caller: Caller,
    provider: Name,
    dataset: Arc<Dataset>,
    judge: Judge,
    /// Requests the portal is done with.
    done: watch::Receiver<usize>,
}

/// Long enough to be out of the way of any experiment.
const LONG: Duration = Duration::from_secs(60);
/// Permits enough to be out of the way.
const PERMITS: u32 = 16;
/// The dataset the stand asks for.
pub(super) const DATASET: &str = "apt_trade";
/// The month the stand asks for.
const MONTH: &str = "2024-01";

impl Stand {
    /// A portal that plays `scenario`, and a caller with `settings`, whose first provider is asked.
    pub(super) async fn new(settings: &CallerSettings, scenario: &str) -> Result<Self, StandError> {
        let (tell, done) = watch::channel(0);
        let scenario = Scenario::from_toml(scenario)?;
        let tell = move |_: &RequestLine| tell.send_modify(|done| *done += 1);
        let portal = Portal::start_telling(scenario, (Ipv4Addr::LOCALHOST, 0).into(), tell).await?;
        let surroundings = Surroundings {
            clock: Clock::precise(),
            random: Arc::new(fastrand::f64),
            listener: Arc::new(Listeners::default()),
            ration: Arc::new(Unrationed),
            slots: None,
        };
        let catalog = Catalog::builtin();
        let dataset = catalog.dataset(DATASET).expect("it is shipped").clone();
        let dialect = catalog.dialect(&Name::literal("data_go_kr")).expect("it is shipped").clone();
        let judge: Judge = Arc::new(move |answer: RawAnswer| decode::judge(&answer, &dialect, &Reading::default()));
        let provider = settings.providers.first().expect("a provider is stated").provider.clone();
        Ok(Self { portal, caller: Caller::new(settings.clone(), surroundings)?, provider, dataset, judge, done })
    }

    /// Asks for page 1 of a region's month.
    pub(super) async fn ask(&self, region: &str) -> Result<Fetched, Failure> {
        self.ask_at(self.portal.base_url(), region).await
    }

    /// Asks somebody else than the portal.
    pub(super) async fn ask_at(&self, base_url: String, region: &str) -> Result<Fetched, Failure> {
        let partition = Partition::new([(Name::literal("region"), region), (Name::literal("month"), MONTH)]);
        let call = Call {
            provider: self.provider.clone(),
            label: CallLabel {
                dataset: self.dataset.id.clone(),
                partition: partition.clone(),
                job: JobId(0),
                read: ReadNumber::FIRST,
                page: PageNumber::FIRST,
            },
            request: PageRequest {
                base_url,
                path: self.dataset.path.clone(),
                query: self.dataset.query(&partition, PageNumber::FIRST, 10),
                key: None,
            },
            judge: Arc::clone(&self.judge),
            place: None,
            abandoned: None,
            failed: None,
        };
        self.caller.fetch(call).await
    }

    /// Asks so many times at once; says how many answers came.
    pub(super) async fn ask_all(&self, region: &str, times: usize) -> usize {
        let answers = all((0..times).map(|_| self.ask(region))).await;
        answers.iter().filter(|answer| answer.is_ok()).count()
    }

    /// Waits until the portal is done with so many requests.
    pub(super) async fn done_with(&self, requests: usize) {
        let done = self.done.clone().wait_for(|done| *done >= requests).await.map(drop);
        done.expect("the portal lives as long as this");
    }

    /// Every request the portal has seen, in order.
    pub(super) fn seen(&self) -> Vec<RequestLine> {
        self.portal.requests()
    }

    /// When each of them came, since the portal was started.
    pub(super) fn arrivals(&self) -> Vec<Duration> {
        self.seen().iter().map(|line| line.at).collect()
    }
}

/// The settings with every limit out of the way, for an experiment to put back the one it measures.
pub(super) fn without_limits(acting: &CallerSettings) -> CallerSettings {
    let mut settings = acting.clone();
    let http = &mut settings.http;
    for timeout in [&mut http.connect_timeout, &mut http.read_timeout, &mut http.total_timeout] {
        *timeout = LONG;
    }
    settings.retry.max_retries = 0;
    settings.retry.jitter = Duration::ZERO;
    settings.retry.total_timeout = None;
    settings.retry.error_pause = Duration::ZERO;
    settings.retry.throttle_patience = LONG;
    settings.breakers = Breakers::none();
    settings.max_calls = None;
    for provider in &mut settings.providers {
        provider.rate = Rate::Unlimited;
        provider.concurrency = PERMITS;
    }
    settings
}

/// Time between each and the next.
pub(super) fn gaps(times: &[Duration]) -> Vec<Duration> {
    times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// Waits for all of them at once.
pub(super) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (future, output) in &mut pending {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}
