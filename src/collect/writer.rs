use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::event::{Event, Listener};
use crate::model::job::{PageNumber, ReadNumber, RunId};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::record::RowHash;
use crate::reconcile::ending::Ending;
use crate::store::Store;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Change, Changed, Claim, Decision, Ended, Job, JobEnd, JobStart, Planned, StoredPage, Superseded};

/// The one writer of a run: a thread that does what workers send it, in order.
///
/// Workers hand over pages without waiting for the disk; there is room for few of them, so that a slow disk slows the calls
/// instead of filling the memory. What waits together is stored in one transaction, and nobody is told before it is on the
/// disk.
pub struct Writer {
    thread: JoinHandle<Result<(), StoreError>>,
    desk: Desk,
}

/// Where workers hand in what is to be stored. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    orders: mpsc::Sender<Order>,
    /// For pages that are not on the disk yet. All else is small and takes none of it.
    room: Arc<Semaphore>,
    /// What was waited at this desk and its clones, in nanoseconds.
    waited: Arc<AtomicU64>,
}

/// The writer has stopped: the store failed, and [`Writer::finish`] says how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer has stopped")]
pub struct WriterGone;

/// What of the store a run is free to choose.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    pub superseded: Superseded,
    /// Whether answers as received are kept.
    pub bodies: bool,
}

/// A page to be stored.
pub struct PageOrder {
    pub job: Job,
    pub read: ReadNumber,
    pub number: PageNumber,
    pub page: Page,
    pub body: KeptBody,
    pub attempts: Vec<Attempt>,
}

/// A job that is to be ended.
pub struct EndOrder {
    pub job: Job,
    pub read: ReadNumber,
    pub ending: Ending,
    pub why: Option<String>,
    /// What the worker waited for the store.
    pub store_wait: Duration,
    /// The provider's day.
    pub day: Date,
}

enum Order {
    Write(Write),
    Errand(Errand),
}

/// What is stored together with what waits beside it.
enum Write {
    Start { declared: Declared, partition: Partition, planned: Planned, reply: oneshot::Sender<Claim> },
    Page(Box<PageOrder>, OwnedSemaphorePermit),
    Attempts(Vec<Attempt>),
    OpenRead { job: Job, read: ReadNumber },
    End { end: Box<EndOrder>, reply: oneshot::Sender<Ended> },
}

/// What is done by itself, after all that was handed in before it.
enum Errand {
    Published { job: Job, reply: oneshot::Sender<Vec<RowHash>> },
    Accept { declared: Declared, partition: Partition, why: &'static str, reply: oneshot::Sender<()> },
}

/// Orders that are taken in at once: an end to what the first of them waits for.
const MOST_AT_ONCE: usize = 64;

/// A job whose oldest page is older is not gone on with: pages of different days don't make one snapshot.
const OLDEST: SignedDuration = SignedDuration::from_hours(6);

impl Writer {
    /// Starts the writer of a run. `room` is the number of pages that may wait to be on the disk.
    pub fn start(
        store: Arc<Store>,
        run: RunId,
        keeping: Keeping,
        room: usize,
        now: fn() -> Timestamp,
        listener: Arc<dyn Listener>,
    ) -> std::io::Result<Self> {
        let (orders, inbox) = mpsc::channel(MOST_AT_ONCE);
        let desk = Desk { orders, room: Arc::new(Semaphore::new(room.max(1))), waited: Arc::default() };
        let scribe = Scribe { store, run, keeping, now, listener };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || runtime.block_on(scribe.work(inbox)))?;
        Ok(Self { thread, desk })
    }

    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Waits until all that was handed in is stored. All other desks must be gone.
    pub async fn finish(self) -> Result<(), StoreError> {
        drop(self.desk);
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await.expect("joining does not panic");
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Desk {
    /// The same desk, for somebody whose waits are counted from now on.
    pub fn for_a_worker(&self) -> Self {
        Self { waited: Arc::default(), ..self.clone() }
    }

    /// What was waited for room and for answers.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Begins a job, or goes on with the one a dead run left, unless another run has it.
    pub async fn start(&self, declared: Declared, partition: Partition, planned: Planned) -> Result<Claim, WriterGone> {
        self.ask(|reply| Order::Write(Write::Start { declared, partition, planned, reply })).await
    }

    /// Hands in a page, once there is room for it.
    pub async fn page(&self, page: PageOrder) -> Result<(), WriterGone> {
        let room = self.counted(Arc::clone(&self.room).acquire_owned()).await.expect("it is never closed");
        self.send(Order::Write(Write::Page(Box::new(page), room))).await
    }

    pub async fn attempts(&self, attempts: Vec<Attempt>) -> Result<(), WriterGone> {
        if attempts.is_empty() { Ok(()) } else { self.send(Order::Write(Write::Attempts(attempts))).await }
    }

    pub async fn open_read(&self, job: Job, read: ReadNumber) -> Result<(), WriterGone> {
        self.send(Order::Write(Write::OpenRead { job, read })).await
    }

    /// Hashes of the rows that are published of the job's partition.
    pub async fn published(&self, job: Job) -> Result<Vec<RowHash>, WriterGone> {
        self.ask(|reply| Order::Errand(Errand::Published { job, reply })).await
    }

    /// Ends a job; the guards may hold what it brought.
    pub async fn end(&self, end: EndOrder) -> Result<Ended, WriterGone> {
        self.ask(|reply| Order::Write(Write::End { end: Box::new(end), reply })).await
    }

    /// Publishes what is held of a partition, since the reason to hold it is gone.
    pub async fn accept(&self, declared: Declared, partition: Partition, why: &'static str) -> Result<(), WriterGone> {
        self.ask(|reply| Order::Errand(Errand::Accept { declared, partition, why, reply })).await
    }

    async fn send(&self, order: Order) -> Result<(), WriterGone> {
        self.counted(self.orders.send(order)).await.map_err(|_| WriterGone)
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, WriterGone> {
        let (reply, answer) = oneshot::channel();
        self.send(order(reply)).await?;
        self.counted(answer).await.map_err(|_| WriterGone)
    }

    async fn counted<T>(&self, wait: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = wait.await;
        self.waited.fetch_add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        done
    }
}

struct Scribe {
    store: Arc<Store>,
    run: RunId,
    keeping: Keeping,
    now: fn() -> Timestamp,
    listener: Arc<dyn Listener>,
}

impl Scribe {
    async fn work(self, mut inbox: mpsc::Receiver<Order>) -> Result<(), StoreError> {
        let mut orders = Vec::new();
        let mut writes = Vec::new();
        while inbox.recv_many(&mut orders, MOST_AT_ONCE).await > 0 {
            for order in orders.drain(..) {
                match order {
                    Order::Write(write) => writes.push(write),
                    Order::Errand(errand) => {
                        self.store_all(&mut writes).await?;
                        self.see_to(errand).await?;
                    }
                }
            }
            self.store_all(&mut writes).await?;
        }
        Ok(())
    }

    async fn store_all(&self, writes: &mut Vec<Write>) -> Result<(), StoreError> {
        while !writes.is_empty() {
            self.store_some(writes).await?;
        }
        Ok(())
    }

    /// Stores the first of them, as many as one transaction has time for.
    async fn store_some(&self, writes: &mut Vec<Write>) -> Result<(), StoreError> {
        let now = (self.now)();
        let changes: Vec<Change<'_>> = writes.iter().map(|write| self.change(write, now)).collect();
        let changed = self.store.write_batch(&changes).await?;
        for (write, changed) in writes.drain(..changed.len()).zip(changed) {
            match (write, changed) {
                // Whoever asked may be gone by now; what it asked for is done all the same.
                (Write::Start { reply, .. }, Changed::Claimed(claim)) => drop(reply.send(claim)),
                (Write::End { reply, .. }, Changed::Ended(ended)) => drop(reply.send(ended)),
                (Write::Page(order, _room), Changed::Stored) => {
                    self.listener.hear(&Event::PageStored { job: order.job.id(), rows: order.page.rows() });
                }
                (Write::Attempts(_) | Write::OpenRead { .. }, Changed::Stored) => {}
                (_, changed) => unreachable!("the store tells what came of each change, in order: {changed:?}"),
            }
        }
        Ok(())
    }

    fn change<'a>(&'a self, write: &'a Write, now: Timestamp) -> Change<'a> {
        match write {
            Write::Start { declared, partition, planned, .. } => {
                let (run, planned) = (self.run, *planned);
                Change::Start(JobStart { run, declared, partition, planned, max_age: OLDEST, now })
            }
            Write::Page(order, _) => Change::Page(StoredPage {
                job: &order.job,
                read: order.read,
                number: order.number,
                page: &order.page,
                body: self.keeping.bodies.then_some(&order.body),
                attempts: &order.attempts,
                now,
            }),
            Write::Attempts(attempts) => Change::Attempts(attempts),
            Write::OpenRead { job, read } => Change::OpenRead { job, read: *read },
            Write::End { end, .. } => Change::End(JobEnd {
                job: &end.job,
                verdict: end.ending.verdict,
                why: end.why.as_deref(),
                promised_first: end.ending.promised_first,
                promised_last: end.ending.promised_last,
                received: end.ending.received,
                distinct: end.ending.distinct,
                read: end.read,
                superseded: self.keeping.superseded,
                store_wait: end.store_wait,
                day: end.day,
                now,
            }),
        }
    }

    async fn see_to(&self, errand: Errand) -> Result<(), StoreError> {
        match errand {
            Errand::Published { job, reply } => {
                let _ = reply.send(self.store.published_hashes(job.declared(), job.partition()).await?);
            }
            Errand::Accept { declared, partition, why, reply } => {
                let (superseded, now) = (self.keeping.superseded, (self.now)());
                let decision = Decision::Accept { who: "gapless", why, superseded, now };
                self.store.decide(&declared, &partition, decision).await?;
                let _ = reply.send(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
