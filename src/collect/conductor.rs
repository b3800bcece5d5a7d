use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Place, Places};
use crate::model::event::Listener;
use crate::model::partition::Partition;

use super::gathering::Gathering;
use super::harvest::Harvest;
use super::queue::Queue;
use super::ration::DailyCalls;
use super::source::Source;
use super::worker::{self, Report, Workshop};
use super::writer::{Desk, WriterGone};

/// A partition to collect, and where from.
#[derive(Clone, Debug)]
pub struct Task {
    pub source: Arc<Source>,
    pub partition: Partition,
    pub urgency: Urgency,
}

/// Whether a partition may use the last calls of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Of a month that is still filling up.
    Recent,
    /// Older, and asked for before.
    Known,
    /// It fills up an old backlog: some calls are kept back from it.
    Backlog,
}

/// Collects partitions, those of each provider in their order.
pub struct Conductor {
    pub caller: Caller,
    pub desk: Desk,
    pub listener: Arc<dyn Listener>,
    /// A partition that would need more pages is not begun.
    pub max_pages: u32,
    /// Pages of one partition that may be asked for side by side, beyond the one that is next; 0 is one by one.
    pub pages_ahead: u32,
    pub now: fn() -> Timestamp,
    pub calls: Arc<DailyCalls>,
    /// Cancelled when no further partition is to be begun.
    pub stop: CancellationToken,
}

/// Jobs that may be open at once at one provider, those in long waits among them.
const MOST_OPEN: usize = 4096;

impl Conductor {
    /// Walks every partition to its verdict, or says that it was not begun.
    ///
    /// Errors: the writer has stopped; what it stored until then is stored.
    pub async fn collect(self, tasks: Vec<Task>) -> Result<Harvest, WriterGone> {
        let mut by_provider: BTreeMap<_, Vec<Task>> = BTreeMap::new();
        for task in tasks {
            by_provider.entry(task.source.provider.id.clone()).or_default().push(task);
        }
        let mut dispatchers = JoinSet::new();
        for tasks in by_provider.into_values() {
            let concurrency = tasks.iter().map(|task| task.source.provider.concurrency).max().unwrap_or(1) as usize;
            let workshop = Workshop {
                caller: self.caller.clone(),
                desk: self.desk.clone(),
                listener: Arc::clone(&self.listener),
                max_pages: self.max_pages,
                pages_ahead: self.pages_ahead,
                ahead_slots: Arc::new(Semaphore::new(concurrency)),
                now: self.now,
            };
            dispatchers.spawn(dispatch(
                workshop,
                tasks,
                Places::new(concurrency * 2),
                Arc::clone(&self.calls),
                self.stop.clone(),
            ));
        }
        drop(self.desk);
        let mut harvest = Harvest::default();
        while let Some(part) = dispatchers.join_next().await {
            harvest.merge(part.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?);
        }
        Ok(harvest)
    }
}

/// Hands the partitions of one provider to workers.
///
/// There are twice as many places as calls may be in flight, so that a permit never waits for a worker; a worker in a
/// long wait gives its place to the next partition.
async fn dispatch(
    workshop: Workshop,
    tasks: Vec<Task>,
    places: Places,
    calls: Arc<DailyCalls>,
    stop: CancellationToken,
) -> Result<Harvest, WriterGone> {
    let mut gathering = Gathering::new(workshop.caller.clone(), workshop.desk.clone(), Arc::clone(&workshop.listener));
    tasks.iter().for_each(|task| gathering.plan(&task.source));
    let mut open = JoinSet::new();
    let mut queue = Queue::new(tasks, workshop.caller.clone());
    loop {
        let is_stopping = stop.is_cancelled() || workshop.caller.is_stopping();
        let taken = if is_stopping { None } else { stop.run_until_cancelled(place_for(&mut queue, &places)).await };
        let Some(taken) = taken else {
            queue.rest().for_each(|Task { source, partition, urgency }| gathering.skip(&source, partition, urgency));
            break;
        };
        let Some(place) = taken else { break };
        // Before the next is begun: what these brought may speak against it.
        while let Some(done) = open.try_join_next() {
            take_in(&mut gathering, done)?;
        }
        // Its breaker may have opened while a place was waited for.
        let Some(Task { source, partition, urgency }) = queue.next() else { continue };
        let stopped = workshop.caller.stopped_api(&source.provider.id, &source.dataset.id);
        let objection = match (stopped, urgency) {
            (Some(why), _) => Some(why),
            (None, Urgency::Backlog) => calls.kept_back(&source.dataset.id, source.provider.reserve_calls).await,
            (None, Urgency::Recent | Urgency::Known) => None,
        };
        if let Some(why) = objection {
            gathering.put_off(&source, partition, why, urgency);
            continue;
        }
        let work = worker::collect(workshop.clone(), Arc::clone(&source), partition, place);
        open.spawn(async move { (source, urgency, work.await) });
        if open.len() >= MOST_OPEN
            && let Some(done) = open.join_next().await
        {
            take_in(&mut gathering, done)?;
        }
    }
    while let Some(done) = open.join_next().await {
        take_in(&mut gathering, done)?;
    }
    gathering.finish().await
}

/// A place for the next partition, when one may be begun; `None` when none is left.
async fn place_for(queue: &mut Queue, places: &Places) -> Option<Place> {
    if queue.ready().await { Some(places.take().await) } else { None }
}

type Done = Result<(Arc<Source>, Urgency, Result<Report, WriterGone>), tokio::task::JoinError>;

fn take_in(gathering: &mut Gathering, done: Done) -> Result<(), WriterGone> {
    let (source, urgency, report) = done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    gathering.bring_in(source, report?, urgency);
    Ok(())
}
