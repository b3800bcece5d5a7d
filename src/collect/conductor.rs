use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Places};
use crate::model::event::Listener;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;

use super::harvest::{Gap, Harvest};
use super::source::Source;
use super::worker::{self, Refusal, Report, Workshop};
use super::writer::{Desk, WriterGone};

/// A partition to collect, and where from.
#[derive(Clone, Debug)]
pub struct Task {
    pub source: Arc<Source>,
    pub partition: Partition,
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
            };
            dispatchers.spawn(dispatch(workshop, tasks, Places::new(concurrency * 2), self.stop.clone()));
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
async fn dispatch(workshop: Workshop, tasks: Vec<Task>, places: Places, stop: CancellationToken) -> Result<Harvest, WriterGone> {
    let mut harvest = Harvest::default();
    harvest.partitions.planned = tasks.len() as u64;
    let mut open = JoinSet::new();
    for Task { source, partition } in tasks {
        let taken = if stop.is_cancelled() || workshop.caller.is_stopping() {
            None
        } else {
            stop.run_until_cancelled(places.take()).await
        };
        let Some(place) = taken else {
            harvest.skip(&source, partition);
            continue;
        };
        if let Some(why) = workshop.caller.stopped_api(&source.provider.id, &source.dataset.id) {
            harvest.put_off(&source, partition, why);
            continue;
        }
        let work = worker::collect(workshop.clone(), Arc::clone(&source), partition, place);
        open.spawn(async move { (source, work.await) });
        while let Some(done) = open.try_join_next() {
            harvest.bring_in(done)?;
        }
        if open.len() >= MOST_OPEN
            && let Some(done) = open.join_next().await
        {
            harvest.bring_in(done)?;
        }
    }
    while let Some(done) = open.join_next().await {
        harvest.bring_in(done)?;
    }
    Ok(harvest)
}

type Done = Result<(Arc<Source>, Result<Report, WriterGone>), tokio::task::JoinError>;

impl Harvest {
    fn bring_in(&mut self, done: Done) -> Result<(), WriterGone> {
        let (source, report) = done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        let report = report?;
        let ending = &report.ending;
        self.add(ending.verdict);
        self.rows.promised += ending.promised_last.unwrap_or(0);
        self.rows.received += ending.received;
        self.rows.published += report.published;
        self.refused += match report.refusal {
            Refusal::Refused => 1,
            Refusal::Otherwise => 0,
        };
        if !ending.verdict.is_published() {
            self.add_gap(Gap {
                dataset: source.dataset.id.clone(),
                partition: report.partition,
                verdict: ending.verdict.as_str(),
                page: report.page.map(|page| page.0),
                promised: ending.promised_last,
                received: ending.received,
                why: report.why.unwrap_or_default(),
                hint: report.hint,
            });
        }
        Ok(())
    }

    /// Its API is left alone: the partition was not even begun.
    fn put_off(&mut self, source: &Source, partition: Partition, why: String) {
        self.add(Verdict::Deferred);
        self.add_gap(not_begun(source, partition, Verdict::Deferred.as_str(), why));
    }

    fn skip(&mut self, source: &Source, partition: Partition) {
        self.partitions.skipped += 1;
        self.add_gap(not_begun(source, partition, "skipped", "the run was stopped before it was begun".to_owned()));
    }
}

fn not_begun(source: &Source, partition: Partition, verdict: &'static str, why: String) -> Gap {
    Gap { dataset: source.dataset.id.clone(), partition, verdict, page: None, promised: None, received: 0, why, hint: None }
}
