use std::sync::Arc;
use std::thread::JoinHandle;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot};

use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::event::{Event, Listener};
use crate::model::job::{PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::record::RowHash;
use crate::reconcile::ending::Ending;
use crate::store::Store;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Decision, Ended, Job, JobEnd, Started, StoredPage, Superseded};

/// The one writer of a run: a thread that does what workers send it, in order.
///
/// Workers hand over pages without waiting for the disk; the queue is short, so that a slow disk slows the calls instead
/// of filling the memory. Several waiting pages are stored in one transaction.
pub struct Writer {
    thread: JoinHandle<Result<(), StoreError>>,
    desk: Desk,
}

/// Where workers hand in what is to be stored. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    orders: mpsc::Sender<Order>,
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
    /// The provider's day.
    pub day: Date,
}

enum Order {
    Start { declared: Declared, partition: Partition, reply: oneshot::Sender<Started> },
    Page(Box<PageOrder>),
    Attempts(Vec<Attempt>),
    OpenRead { job: Job, read: ReadNumber },
    Published { job: Job, reply: oneshot::Sender<Vec<RowHash>> },
    End { end: Box<EndOrder>, reply: oneshot::Sender<Ended> },
    Accept { declared: Declared, partition: Partition, why: &'static str, reply: oneshot::Sender<()> },
    Block { dataset: Name, key_id: String, until: Timestamp, why: String },
}

/// A job whose oldest page is older is not gone on with: pages of different days don't make one snapshot.
const OLDEST: SignedDuration = SignedDuration::from_hours(6);

impl Writer {
    /// Starts the writer of a run. `queue` is the number of pages that may wait for it.
    pub fn start(
        store: Arc<Store>,
        run: RunId,
        keeping: Keeping,
        queue: usize,
        now: fn() -> Timestamp,
        listener: Arc<dyn Listener>,
    ) -> std::io::Result<Self> {
        let (orders, inbox) = mpsc::channel(queue.max(1));
        let scribe = Scribe { store, run, keeping, now, listener };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || runtime.block_on(scribe.work(inbox)))?;
        Ok(Self { thread, desk: Desk { orders } })
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
    /// Begins a job, or goes on with the one a dead run left.
    pub async fn start(&self, declared: Declared, partition: Partition) -> Result<Started, WriterGone> {
        self.ask(|reply| Order::Start { declared, partition, reply }).await
    }

    pub async fn page(&self, page: PageOrder) -> Result<(), WriterGone> {
        self.send(Order::Page(Box::new(page))).await
    }

    pub async fn attempts(&self, attempts: Vec<Attempt>) -> Result<(), WriterGone> {
        if attempts.is_empty() { Ok(()) } else { self.send(Order::Attempts(attempts)).await }
    }

    pub async fn open_read(&self, job: Job, read: ReadNumber) -> Result<(), WriterGone> {
        self.send(Order::OpenRead { job, read }).await
    }

    /// Hashes of the rows that are published of the job's partition.
    pub async fn published(&self, job: Job) -> Result<Vec<RowHash>, WriterGone> {
        self.ask(|reply| Order::Published { job, reply }).await
    }

    /// Ends a job; the guards may hold what it brought.
    pub async fn end(&self, end: EndOrder) -> Result<Ended, WriterGone> {
        self.ask(|reply| Order::End { end: Box::new(end), reply }).await
    }

    /// Publishes what is held of a partition, since the reason to hold it is gone.
    pub async fn accept(&self, declared: Declared, partition: Partition, why: &'static str) -> Result<(), WriterGone> {
        self.ask(|reply| Order::Accept { declared, partition, why, reply }).await
    }

    /// Remembers that an API is not to be asked before then.
    pub async fn block(&self, dataset: Name, key_id: String, until: Timestamp, why: String) -> Result<(), WriterGone> {
        self.send(Order::Block { dataset, key_id, until, why }).await
    }

    async fn send(&self, order: Order) -> Result<(), WriterGone> {
        self.orders.send(order).await.map_err(|_| WriterGone)
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, WriterGone> {
        let (reply, answer) = oneshot::channel();
        self.send(order(reply)).await?;
        answer.await.map_err(|_| WriterGone)
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
        let mut waiting = None;
        while let Some(order) = next(&mut waiting, &mut inbox).await {
            match order {
                Order::Page(page) => {
                    let mut pages = vec![page];
                    while let Ok(order) = inbox.try_recv() {
                        match order {
                            Order::Page(page) => pages.push(page),
                            other => {
                                waiting = Some(other);
                                break;
                            }
                        }
                    }
                    self.store_pages(&pages).await?;
                }
                // Whoever asked may be gone by now; what it asked for is done all the same.
                Order::Start { declared, partition, reply } => {
                    let started = self.store.start_job(self.run, &declared, &partition, OLDEST, (self.now)()).await?;
                    let _ = reply.send(started);
                }
                Order::Attempts(attempts) => self.store.record_attempts(&attempts).await?,
                Order::OpenRead { job, read } => self.store.open_read(&job, read).await?,
                Order::Published { job, reply } => {
                    let _ = reply.send(self.store.published_hashes(job.declared(), job.partition()).await?);
                }
                Order::End { end, reply } => drop(reply.send(self.end(*end).await?)),
                Order::Accept { declared, partition, why, reply } => {
                    let (superseded, now) = (self.keeping.superseded, (self.now)());
                    let decision = Decision::Accept { who: "gapless", why, superseded, now };
                    self.store.decide(&declared, &partition, decision).await?;
                    let _ = reply.send(());
                }
                Order::Block { dataset, key_id, until, why } => self.store.block(&dataset, &key_id, until, &why).await?,
            }
        }
        Ok(())
    }

    async fn store_pages(&self, orders: &[Box<PageOrder>]) -> Result<(), StoreError> {
        let now = (self.now)();
        let pages: Vec<StoredPage<'_>> = orders
            .iter()
            .map(|order| StoredPage {
                job: &order.job,
                read: order.read,
                number: order.number,
                page: &order.page,
                body: self.keeping.bodies.then_some(&order.body),
                attempts: &order.attempts,
                now,
            })
            .collect();
        self.store.commit_pages(&pages).await?;
        for order in orders {
            self.listener.hear(&Event::PageStored { job: order.job.id(), rows: order.page.rows() });
        }
        Ok(())
    }

    async fn end(&self, order: EndOrder) -> Result<Ended, StoreError> {
        let EndOrder { job, read, ending, why, day } = order;
        let end = JobEnd {
            job: &job,
            verdict: ending.verdict,
            why: why.as_deref(),
            promised_first: ending.promised_first,
            promised_last: ending.promised_last,
            received: ending.received,
            distinct: ending.distinct,
            read,
            superseded: self.keeping.superseded,
            day,
            now: (self.now)(),
        };
        self.store.end_job(end).await
    }
}

async fn next(waiting: &mut Option<Order>, inbox: &mut mpsc::Receiver<Order>) -> Option<Order> {
    match waiting.take() {
        Some(order) => Some(order),
        None => inbox.recv().await,
    }
}
