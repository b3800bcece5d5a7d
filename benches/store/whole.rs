//! The store itself: pages with their ledger lines, published a partition at a time.

use std::time::{Duration, Instant};

use gapless::model::attempt::Attempt;
use gapless::model::body::KeptBody;
use gapless::model::job::{PageNumber, ReadNumber};
use gapless::model::page::Page;
use gapless::model::verdict::Verdict;
use gapless::store::job::{Change, JobEnd, JobStart, Planned, StoredPage, Superseded};
use gapless::store::url::StoreUrl;
use gapless::store::{OpenMode, Store};
use jiff::SignedDuration;

use crate::rows::{NOW, PAGE_ROWS, PAGES_OF_A_PARTITION, attempt, dataset, partition};

/// `group` pages share a transaction.
pub async fn store(url: &StoreUrl, pages: &[Page], bodies: Option<&[String]>, count: u64, group: usize) -> Duration {
    let store = Store::open(url, OpenMode::Create).await.unwrap();
    let lock = store.try_lock("the bench").unwrap();
    let declared = store.declare(&dataset(), NOW).await.unwrap();
    let run = store.begin_run(&lock, "bench", "0", NOW).await.unwrap();
    let begun = Instant::now();
    let mut left = count;
    let mut partitions = 0;
    while left > 0 {
        let here = left.min(PAGES_OF_A_PARTITION);
        left -= here;
        partitions += 1;
        let partition = partition(&declared, partitions);
        let start = JobStart {
            run,
            declared: &declared,
            partition: &partition,
            planned: Planned::Anyhow,
            max_age: SignedDuration::ZERO,
            now: NOW,
        };
        let job = store.start_job(start).await.unwrap().started().unwrap().job;
        let kept: Vec<Option<KeptBody>> =
            (0..here).map(|number| bodies.map(|bodies| KeptBody::of(bodies[number as usize].as_bytes()))).collect();
        let attempts: Vec<[Attempt; 1]> = (0..here).map(|number| [attempt(&declared, &partition, job.id(), number)]).collect();
        let stored: Vec<StoredPage<'_>> = (0..here as usize)
            .map(|number| StoredPage {
                job: &job,
                read: ReadNumber::FIRST,
                number: PageNumber(number as u32 + 1),
                page: &pages[number],
                body: kept[number].as_ref(),
                attempts: &attempts[number],
                now: NOW,
            })
            .collect();
        for group in stored.chunks(group) {
            let pages: Vec<Change<'_>> = group.iter().cloned().map(Change::Page).collect();
            let mut stored = 0;
            while stored < pages.len() {
                stored += store.write_batch(&pages[stored..]).await.unwrap().len();
            }
        }
        let received = here * PAGE_ROWS;
        let end = JobEnd {
            job: &job,
            verdict: Verdict::Complete,
            why: None,
            promised_first: Some(received),
            promised_last: Some(received),
            received,
            distinct: received,
            read: ReadNumber::FIRST,
            store_wait: Duration::ZERO,
            superseded: Superseded::Removed,
            day: jiff::civil::date(2026, 11, 29),
            now: NOW,
        };
        store.end_job(end).await.unwrap();
    }
    begun.elapsed()
}
