use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::caller::{Answer, Caller, End, Failure, Place};
use crate::model::event::{Event, Listener};
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::name::Name;
use crate::model::outcome::{Trouble, TroubleKind};
use crate::model::page::{Page, PageDigest};
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::reconcile::ending::Ending;
use crate::reconcile::guard::Suspicion;
use crate::reconcile::step::{Ask, Purpose, Step};
use crate::reconcile::verification::RowSet;
use crate::reconcile::walk::Walk;
use crate::reconcile::walk::ahead::Unfit;
use crate::store::job::{Claim, Elsewhere, Ended, Job, Settled, Started, StoredPageFacts};

use super::ahead::Ahead;
use super::calls::Calls;
use super::left::Left;
use super::panic::{Panicked, caught};
use super::source::Source;
use super::writer::{Desk, EndOrder, PageOrder, WriterGone};

/// What the workers of a run share.
#[derive(Clone)]
pub(super) struct Workshop {
    pub(super) caller: Caller,
    pub(super) desk: Desk,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) max_pages: u32,
    /// Pages of one walk that may be asked for beside the one that is next.
    pub(super) pages_ahead: u32,
    /// How many of them over all walks.
    pub(super) ahead_slots: Arc<Semaphore>,
    pub(super) now: fn() -> Timestamp,
}

/// What became of a partition.
#[derive(Clone, Debug)]
pub(super) enum Brought {
    Report(Report),
    /// Another run has it: nothing was asked.
    Elsewhere(Partition, Elsewhere),
}

/// What a worker brings home.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) job: JobId,
    pub(super) partition: Partition,
    pub(super) ending: Ending,
    /// The page that could not be had.
    pub(super) page: Option<PageNumber>,
    pub(super) why: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) blame: Blame,
    pub(super) published: u64,
    pub(super) doubt: Doubt,
}

/// Why a job is held, if it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    None,
    Suspicious(Suspicion),
    /// It is empty, and no partition of its dataset ever had a row.
    FirstEver,
}

/// What of a job's end the run must tell in its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// Key or permission was refused.
    Refused,
    /// The program broke.
    Bug,
    Otherwise,
}

/// Collects one partition: one job from its start to its verdict.
pub(super) async fn collect(
    workshop: Workshop,
    source: Arc<Source>,
    partition: Partition,
    place: Place,
) -> Result<Brought, WriterGone> {
    let workshop = Workshop { desk: workshop.desk.for_a_worker(), ..workshop };
    let planned = source.planned(&partition);
    let Started { job, read, stored } = match workshop.desk.start(source.declared.clone(), partition.clone(), planned).await? {
        Claim::Started(started) => started,
        Claim::Elsewhere(elsewhere) => return Ok(Brought::Elsewhere(partition, elsewhere)),
    };
    let dataset = source.dataset.id.clone();
    workshop.listener.hear(&Event::JobStarted { job: job.id(), dataset: dataset.clone(), partition: partition.clone() });
    let ahead = Ahead::new(workshop.caller.clone(), Arc::clone(&workshop.ahead_slots));
    let mut worker = Worker { workshop, source, partition, place, job, read, ahead };
    let walked = caught(worker.walk(stored)).await;
    let left = match (walked, caught(worker.abandon()).await) {
        (Ok(left), Ok(abandoned)) => {
            abandoned?;
            left?
        }
        // Whatever broke, it broke at this partition: the others go on.
        (Err(Panicked), _) | (_, Err(Panicked)) => Left::broken_by_a_bug(),
    };
    // The place is kept until the end is known: it may say that the source is to be asked no more.
    let Worker { workshop, source, partition, place: _place, job, read, .. } = worker;
    let left = left.disbelieved(&source);
    let day = source.day((workshop.now)());
    let store_wait = workshop.desk.waited();
    let end = EndOrder { job: job.clone(), read, ending: left.ending.clone(), why: left.why, store_wait, day };
    let Ended { verdict, why, settled, suspicion } = workshop.desk.end(end).await?;
    let published = match settled {
        Settled::Published { .. } | Settled::Unchanged | Settled::Accepted { .. } => left.ending.received,
        Settled::Waiting | Settled::Kept => 0,
    };
    let (hint, doubt) = match (verdict, suspicion) {
        (Verdict::Held, suspicion) => {
            let hint =
                format!("look at it with `gapless why {dataset} {partition}`, then `gapless accept {dataset} {partition}`");
            (Some(hint), suspicion.map_or(Doubt::FirstEver, Doubt::Suspicious))
        }
        (_, _) => (left.hint, Doubt::None),
    };
    let (job, ending) = (job.id(), Ending { verdict, ..left.ending });
    let report = Report { job, partition, ending, page: left.page, why, hint, blame: left.blame, published, doubt };
    match report.doubt {
        Doubt::None | Doubt::Suspicious(_) => workshop.listener.hear(&report.event(dataset)),
        // It is told once it is decided, at the end of the run.
        Doubt::FirstEver => {}
    }
    Ok(Brought::Report(report))
}

impl Report {
    /// That the job has ended, for whoever listens.
    pub(super) fn event(&self, dataset: Name) -> Event {
        let (partition, why) = (self.partition.clone(), self.why.clone());
        let Ending { verdict, received: rows, .. } = self.ending;
        Event::JobEnded { job: self.job, dataset, partition, verdict, rows, why }
    }
}

struct Worker {
    workshop: Workshop,
    source: Arc<Source>,
    partition: Partition,
    place: Place,
    job: Job,
    /// The read whose pages are the snapshot.
    read: ReadNumber,
    ahead: Ahead,
}

impl Worker {
    async fn walk(&mut self, stored: Vec<StoredPageFacts>) -> Result<Left, WriterGone> {
        let mut walk = Walk::new(self.source.page_rules(self.workshop.max_pages));
        let mut last_stored = self.take_up(&mut walk, stored).await?;
        loop {
            let ask = walk.ask();
            let further = walk.asks_ahead(self.workshop.pages_ahead);
            let calls = Calls { source: &self.source, partition: &self.partition, job: &self.job, place: &self.place };
            let fetched = match self.ahead.fetch(ask, &further, |ask| calls.call(ask)).await {
                Ok(fetched) => fetched,
                Err(failure) => match self.give_up(&mut walk, &ask, failure).await? {
                    Some(left) => return Ok(left),
                    None => continue,
                },
            };
            let page = match fetched.answer {
                Answer::Page(page) => page,
                Answer::Empty(page) => proof_of_zero(page, &ask),
            };
            let was_stored = last_stored.take();
            let step = match was_stored {
                Some(digest) if digest != page.digest() => walk.restart("the last stored page has changed since".to_owned()),
                Some(_) | None => walk.take(&page),
            };
            let belongs = match &step {
                Step::Keep | Step::KeepAndVerify(_) | Step::KeepAndEnd(_) => ask.purpose == Purpose::Snapshot,
                Step::Compared | Step::NewRead { .. } | Step::End(_) => false,
            };
            if belongs && was_stored.is_none() {
                let (job, number) = (self.job.clone(), ask.page);
                let order = PageOrder { job, read: ask.read, number, page, body: fetched.body, attempts: fetched.attempts };
                self.workshop.desk.page(order).await?;
            } else {
                self.workshop.desk.attempts(fetched.attempts).await?;
            }
            match step {
                Step::Keep | Step::Compared => {}
                Step::NewRead { why } => self.open_read(walk.ask().read, why).await?,
                Step::KeepAndVerify(set) => {
                    let published = RowSet::new(self.workshop.desk.published(self.job.clone()).await?);
                    if published == set {
                        return Ok(Left::at(walk.published_agrees()));
                    }
                    if let Some(ending) = walk.verify() {
                        return Ok(Left::at(ending));
                    }
                }
                Step::KeepAndEnd(ending) => return Ok(Left::at(ending)),
                Step::End(ending) => {
                    let page = (ending.verdict == Verdict::Short).then_some(ask.page);
                    return Ok(Left { page, ..Left::at(ending) });
                }
            }
        }
    }

    /// Goes on from what a dead run stored. Returns the digest of the last stored page, which is asked for again.
    async fn take_up(&mut self, walk: &mut Walk, stored: Vec<StoredPageFacts>) -> Result<Option<PageDigest>, WriterGone> {
        if stored.is_empty() && self.read == ReadNumber::FIRST {
            return Ok(None);
        }
        let is_whole = stored.iter().zip(1..).all(|(page, number)| page.number == PageNumber(number));
        let pages: Vec<Page> = stored.into_iter().map(|facts| Page::stored(facts.row_hashes, facts.total)).collect();
        match walk.resume(self.read, if is_whole { &pages } else { &[] }) {
            Ok(digest) => Ok(Some(digest)),
            Err(Unfit) => {
                self.open_read(walk.ask().read, "what was stored before does not fit together".to_owned()).await?;
                Ok(None)
            }
        }
    }

    /// Pages that were asked for ahead and are not wanted any more: their attempts are recorded all the same.
    async fn abandon(&mut self) -> Result<(), WriterGone> {
        let attempts = self.ahead.abandon().await;
        self.workshop.desk.attempts(attempts).await
    }

    /// A call brought no page: the job ends here, unless the source only wants the walk to begin again.
    async fn give_up(&mut self, walk: &mut Walk, ask: &Ask, failure: Failure) -> Result<Option<Left>, WriterGone> {
        self.workshop.desk.attempts(failure.attempts.clone()).await?;
        let tries = failure.attempts.len();
        let trouble = match failure.end {
            // The walk itself is at this call, so nobody can have abandoned it.
            End::Interrupted | End::Abandoned => {
                return Ok(Some(Left::broken_off(walk, Verdict::Deferred, ask, "interrupted".to_owned())));
            }
            end @ End::Deferred { .. } => {
                return Ok(Some(Left::broken_off(walk, Verdict::Deferred, ask, end.to_string())));
            }
            End::Trouble(trouble) => *trouble,
        };
        let why = told(&trouble, tries);
        let verdict = match trouble.kind {
            TroubleKind::Restart => {
                return match walk.restart(trouble.why) {
                    Step::NewRead { why } => {
                        self.open_read(walk.ask().read, why).await?;
                        Ok(None)
                    }
                    Step::End(ending) => Ok(Some(Left::at(ending))),
                    Step::Keep | Step::Compared | Step::KeepAndVerify(_) | Step::KeepAndEnd(_) => {
                        unreachable!("a restart begins a new read or ends the walk")
                    }
                };
            }
            TroubleKind::Misfit => Verdict::Short,
            TroubleKind::Uneven => match walk.read_unevenly(&trouble.why) {
                Some(Step::NewRead { why }) => {
                    self.open_read(walk.ask().read, why).await?;
                    return Ok(None);
                }
                Some(_) | None => Verdict::Short,
            },
            TroubleKind::Retry | TroubleKind::Garbled | TroubleKind::TooBig | TroubleKind::Invalid => Verdict::Failed,
            TroubleKind::Spent | TroubleKind::SlowDown | TroubleKind::Later | TroubleKind::Refused => Verdict::Deferred,
        };
        let blame = match trouble.kind {
            TroubleKind::Refused => Blame::Refused,
            TroubleKind::Retry
            | TroubleKind::Misfit
            | TroubleKind::Uneven
            | TroubleKind::SlowDown
            | TroubleKind::Spent
            | TroubleKind::Invalid
            | TroubleKind::TooBig
            | TroubleKind::Restart
            | TroubleKind::Later
            | TroubleKind::Garbled => Blame::Otherwise,
        };
        Ok(Some(Left { hint: trouble.hint, blame, ..Left::broken_off(walk, verdict, ask, why) }))
    }

    async fn open_read(&mut self, read: ReadNumber, why: String) -> Result<(), WriterGone> {
        self.abandon().await?;
        self.read = read;
        self.workshop.listener.hear(&Event::ReadRestarted { job: self.job.id(), read, why });
        self.workshop.desk.open_read(self.job.clone(), read).await
    }
}

/// A code for "no data" is as good as a total of 0 on the first page.
fn proof_of_zero(mut page: Page, ask: &Ask) -> Page {
    if ask.page == PageNumber::FIRST {
        page.total.get_or_insert(0);
    }
    page
}

fn told(trouble: &Trouble, tries: usize) -> String {
    match tries {
        0 | 1 => trouble.why.clone(),
        tries => format!("{} (after {tries} tries)", trouble.why),
    }
}
