use std::sync::Arc;

use jiff::Timestamp;

use crate::model::body::KeptBody;
use crate::model::job::{PageNumber, ReadNumber};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::reconcile::ending::Ending;
use crate::reconcile::step::Step;
use crate::reconcile::walk::Walk;
use crate::store::Store;
use crate::store::error::StoreError;
use crate::store::job::{Claim, Job, Planned, Settled, Started};

use super::recheck::page_of;
use super::source::Source;
use super::writer::{Desk, EndOrder, PageOrder, WriterGone};

/// What reading kept answers again came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    Published,
    /// Some answer of the snapshot is not kept: only calling again would help.
    NotKept,
    /// The guards hold it, or the answers read now are not whole.
    NotPublished,
    /// Another run is collecting it.
    InWork,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Writer(#[from] WriterGone),
}

/// Reads the kept answers of a partition again, as its definition says now, and publishes them by the usual guards.
pub async fn replay(
    source: &Arc<Source>,
    partition: &Partition,
    store: &Store,
    desk: &Desk,
    max_pages: u32,
    now: fn() -> Timestamp,
) -> Result<Replayed, ReplayError> {
    let Some(bodies) = kept_bodies(source, partition, store).await? else { return Ok(Replayed::NotKept) };
    let desk = &desk.for_a_worker();
    let claim = desk.start(source.declared.clone(), partition.clone(), Planned::Anyhow).await?;
    let Started { job, read: left, stored } = match claim {
        Claim::Started(started) => started,
        Claim::Elsewhere(_) => return Ok(Replayed::InWork),
    };
    // What a dead run left of the partition gives way to what is read now.
    let read_number = if stored.is_empty() { left } else { left.next() };
    if read_number != left {
        desk.open_read(job.clone(), read_number).await?;
    }
    let mut walk = Walk::new(source.page_rules(max_pages));
    let mut ending = None;
    for (number, body) in (1..).map(PageNumber).zip(bodies) {
        let read = body.raw().and_then(|raw| page_of(raw, &source.dataset, &source.dialect));
        let Some(page) = read else { break };
        let step = walk.take(&page);
        store_page(desk, &job, read_number, number, page, body).await?;
        match step {
            Step::Keep => {}
            // The rows were verified, or found to be twins, when they were collected.
            Step::KeepAndVerify(_) => ending = Some(walk.published_agrees()),
            Step::KeepAndEnd(end) => ending = Some(end),
            Step::Compared | Step::NewRead { .. } | Step::End(_) => break,
        }
    }
    let ending = ending.unwrap_or_else(|| walk.broken_off(Verdict::Short));
    settle(source, desk, job, read_number, ending, now).await
}

async fn kept_bodies(source: &Source, partition: &Partition, store: &Store) -> Result<Option<Vec<KeptBody>>, StoreError> {
    let Some(mut pages) = store.kept_pages(&source.declared, partition).await? else { return Ok(None) };
    let mut bodies = Vec::with_capacity(pages.left());
    while let Some(page) = pages.next().await? {
        let Some(body) = page.body else { return Ok(None) };
        bodies.push(body);
    }
    Ok(Some(bodies))
}

async fn store_page(
    desk: &Desk,
    job: &Job,
    read: ReadNumber,
    number: PageNumber,
    page: Page,
    body: KeptBody,
) -> Result<(), WriterGone> {
    let order = PageOrder { job: job.clone(), read, number, page, body, attempts: Vec::new() };
    desk.page(order).await
}

async fn settle(
    source: &Source,
    desk: &Desk,
    job: Job,
    read: ReadNumber,
    ending: Ending,
    now: fn() -> Timestamp,
) -> Result<Replayed, ReplayError> {
    let day = source.day(now());
    let why = Some("kept answers read again".to_owned());
    let ended = desk.end(EndOrder { job, read, ending, why, store_wait: desk.waited(), day }).await?;
    Ok(match ended.settled {
        Settled::Published { .. } | Settled::Unchanged | Settled::Accepted { .. } | Settled::Waiting => Replayed::Published,
        Settled::Kept => Replayed::NotPublished,
    })
}
