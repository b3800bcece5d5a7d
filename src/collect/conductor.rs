use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Place, Places};
use crate::model::event::Listener;
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::store::job::Elsewhere;

use super::gathering::{Found, Gathering};
use super::harvest::Harvest;
use super::queue::Queue;
use super::ration::{DailyCalls, Room};
use super::source::Source;
use super::worker::{self, Brought, Workshop};
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
            let gathering = Gathering::new(workshop.caller.clone(), workshop.desk.clone(), Arc::clone(&workshop.listener));
            let (places, calls, stop) = (Places::new(concurrency * 2), Arc::clone(&self.calls), self.stop.clone());
            let dispatcher = Dispatcher {
                workshop,
                places,
                calls,
                stop,
                gathering,
                begun: HashMap::new(),
                ended: HashMap::new(),
                elsewhere: Vec::new(),
            };
            dispatchers.spawn(dispatcher.work(tasks));
        }
        drop(self.desk);
        let mut harvest = Harvest::default();
        while let Some(part) = dispatchers.join_next().await {
            harvest.merge(part.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?);
        }
        Ok(harvest)
    }
}

/// Partitions that other runs are at are asked for again after so long: they may have ended by then, or have died.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Hands the partitions of one provider to workers.
struct Dispatcher {
    workshop: Workshop,
    /// Twice as many as calls may be in flight, so that a permit never waits for a worker; a worker in a long wait gives
    /// its place to the next partition.
    places: Places,
    calls: Arc<DailyCalls>,
    stop: CancellationToken,
    gathering: Gathering,
    /// Older months of each dataset that have not ended.
    begun: HashMap<Name, u64>,
    /// Jobs of each dataset that have ended.
    ended: HashMap<Name, u64>,
    /// What other runs are at.
    elsewhere: Vec<Task>,
}

impl Dispatcher {
    /// Goes through the partitions, and again through those that other runs are at, until none is open anywhere.
    async fn work(mut self, mut tasks: Vec<Task>) -> Result<Harvest, WriterGone> {
        tasks.iter().for_each(|task| self.gathering.plan(&task.source));
        loop {
            self.hand_out(tasks).await?;
            tasks = std::mem::take(&mut self.elsewhere);
            if tasks.is_empty() {
                return self.gathering.finish().await;
            }
            let waited = self.stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN)).await;
            if waited.is_none() || self.workshop.caller.is_stopping() {
                for Task { source, partition, urgency } in tasks.drain(..) {
                    self.gathering.put_off(&source, partition, "another run is collecting it".to_owned(), urgency);
                }
            }
        }
    }

    async fn hand_out(&mut self, tasks: Vec<Task>) -> Result<(), WriterGone> {
        let mut open = JoinSet::new();
        let mut queue = Queue::new(tasks, self.workshop.caller.clone());
        loop {
            let is_stopping = self.stop.is_cancelled() || self.workshop.caller.is_stopping();
            let taken = if is_stopping { None } else { self.stop.run_until_cancelled(place_for(&mut queue, &self.places)).await };
            let Some(taken) = taken else {
                queue.rest().for_each(|Task { source, partition, urgency }| self.gathering.skip(&source, partition, urgency));
                break;
            };
            let Some(place) = taken else { break };
            // Before the next is begun: what these brought may speak against it.
            while let Some(done) = open.try_join_next() {
                self.take_in(done)?;
            }
            // Its breaker may have opened while a place was waited for.
            let Some(Task { source, partition, urgency }) = queue.next() else { continue };
            let stopped = self.workshop.caller.stopped_api(&source.provider.id, &source.dataset.id);
            let objection = match (stopped, urgency) {
                (Some(why), _) => Some(why),
                (None, Urgency::Backlog) => self.kept_back(&source, &mut open).await?,
                (None, Urgency::Recent | Urgency::Known) => None,
            };
            if let Some(why) = objection {
                self.gathering.put_off(&source, partition, why, urgency);
                continue;
            }
            if urgency == Urgency::Backlog {
                *self.begun.entry(source.dataset.id.clone()).or_default() += 1;
            }
            let work = worker::collect(self.workshop.clone(), Arc::clone(&source), partition, place);
            open.spawn(async move { (source, urgency, work.await) });
            if open.len() >= MOST_OPEN
                && let Some(done) = open.join_next().await
            {
                self.take_in(done)?;
            }
        }
        while let Some(done) = open.join_next().await {
            self.take_in(done)?;
        }
        Ok(())
    }

    /// Why an older month is not begun, as soon as that is known.
    async fn kept_back(&mut self, source: &Source, open: &mut JoinSet<Finished>) -> Result<Option<String>, WriterGone> {
        let (dataset, reserve) = (&source.dataset.id, source.provider.reserve_calls);
        loop {
            let [begun, ended] = [&self.begun, &self.ended].map(|counts| counts.get(dataset).copied().unwrap_or(0));
            match self.calls.room(dataset, reserve, begun, ended).await {
                Room::Enough => return Ok(None),
                Room::KeptBack { why } => return Ok(Some(why)),
                Room::Unsure => match open.join_next().await {
                    Some(done) => self.take_in(done)?,
                    None => return Ok(None),
                },
            }
        }
    }

    fn take_in(&mut self, done: Done) -> Result<(), WriterGone> {
        let (source, urgency, brought) = done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        *self.ended.entry(source.dataset.id.clone()).or_default() += 1;
        if let (Urgency::Backlog, Some(begun)) = (urgency, self.begun.get_mut(&source.dataset.id)) {
            *begun -= 1;
        }
        match brought? {
            Brought::Report(report) => self.gathering.bring_in(source, report, urgency),
            Brought::Elsewhere(partition, Elsewhere::InWork { .. }) => {
                self.elsewhere.push(Task { source, partition, urgency });
            }
            Brought::Elsewhere(partition, Elsewhere::Done { verdict, why, promised, received }) => {
                self.gathering.find(&source, Found { partition, verdict, why, promised, received }, urgency);
            }
        }
        Ok(())
    }
}

/// A place for the next partition, when one may be begun; `None` when none is left.
async fn place_for(queue: &mut Queue, places: &Places) -> Option<Place> {
    if queue.ready().await { Some(places.take().await) } else { None }
}

type Finished = (Arc<Source>, Urgency, Result<Brought, WriterGone>);
type Done = Result<Finished, tokio::task::JoinError>;
