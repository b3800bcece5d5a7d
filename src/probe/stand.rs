use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::caller::{Call, Caller, CallerError, CallerSettings, Clock, Failure, Fetched, Judge, PageRequest, Surroundings};
use crate::decode::{self, RawAnswer, Reading};
use crate::definition::catalog::Catalog;
use crate::definition::dataset::Dataset;
use crate::model::attempt::CallLabel;
use crate::model::event::Listeners;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::sandbox::{Portal, PortalError, RequestLine, Scenario, ScenarioError};

/// Why a proof could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum StandError {
    #[error("the practice portal cannot be started")]
    Portal(#[from] PortalError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error("the caller cannot be made")]
    Caller(#[from] CallerError),
}

/// A practice portal and a caller that asks it: one experiment.
pub(super) struct Stand {
    portal: Portal,
    caller: Caller,
    provider: Name,
    dataset: Arc<Dataset>,
    judge: Judge,
}

/// The month the stand asks for.
const MONTH: &str = "2024-01";

impl Stand {
    /// A portal that plays `scenario`, and a caller with `settings`, whose first provider is asked.
    pub(super) async fn new(settings: &CallerSettings, scenario: &str) -> Result<Self, StandError> {
        let portal = Portal::start(Scenario::from_toml(scenario)?, (Ipv4Addr::LOCALHOST, 0).into()).await?;
        let surroundings =
            Surroundings { clock: Clock::precise(), random: Arc::new(fastrand::f64), listener: Arc::new(Listeners::default()) };
        let catalog = Catalog::builtin();
        let dataset = catalog.dataset("apt_trade").expect("it is shipped").clone();
        let dialect = catalog.dialect(&Name::literal("data_go_kr")).expect("it is shipped").clone();
        let judge: Judge = Arc::new(move |answer: RawAnswer| decode::judge(&answer, &dialect, &Reading::default()));
        let provider = settings.providers.first().expect("a provider is stated").provider.clone();
        Ok(Self { portal, caller: Caller::new(settings.clone(), surroundings)?, provider, dataset, judge })
    }

    /// Asks for page 1 of a region's month.
    pub(super) async fn ask(&self, region: &str) -> Result<Fetched, Failure> {
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
                base_url: self.portal.base_url(),
                path: self.dataset.path.clone(),
                query: self.dataset.query(&partition, PageNumber::FIRST, 10),
                key: None,
            },
            judge: Arc::clone(&self.judge),
            place: None,
            abandoned: None,
        };
        self.caller.fetch(call).await
    }

    /// Asks so many times at once; says how many answers came.
    pub(super) async fn ask_all(&self, region: &str, times: usize) -> usize {
        let answers = all((0..times).map(|_| self.ask(region))).await;
        answers.iter().filter(|answer| answer.is_ok()).count()
    }

    /// Every request the portal has seen, in order.
    pub(super) fn seen(&self) -> Vec<RequestLine> {
        self.portal.requests()
    }
}

/// Waits for all of them at once.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
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
