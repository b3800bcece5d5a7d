use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use super::postgres;
pub use super::sent::{SentRow, apartments_page, page};
use crate::definition::dataset::Dataset;
use crate::definition::region::RegionList;
use crate::model::attempt::{Attempt, CallLabel, Waits};
use crate::model::body::KeptBody;
use crate::model::job::{PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::outcome::{Outcome, Scope};
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::verdict::Verdict;
use crate::store::cell::Cell;
use crate::store::dataset::Declared;
use crate::store::error::StoreError;
use crate::store::job::{Claim, Job, JobEnd, JobStart, Planned, Settled, Started, StoredPage, Superseded};
use crate::store::lock::CollectLock;
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

/// A store with the dataset `apt_trade`, in a run.
pub struct World {
    pub(super) place: Place,
    pub store: Store,
    pub declared: Declared,
    pub run: RunId,
    pub(super) lock: CollectLock,
    /// Moves on with every question, so that no two instants are equal.
    pub(super) now: Timestamp,
}

/// Where a backend keeps its store from one opening to the next.
pub struct Place {
    /// Of a store that is a file, and of what a story puts beside it.
    pub(super) folder: TempDir,
    pub(super) url: StoreUrl,
}

const BEGIN: &str = "2026-11-29T18:00:00Z";

/// How old what a dead run left may be to be gone on with.
pub const MAX_AGE: SignedDuration = SignedDuration::from_hours(6);

pub const DATASET: &str = r#"
    id = "apt_trade"
    provider = "practice"
    path = "trades"
    paging = { kind = "page", page_param = "pageNo", size_param = "numOfRows", page_size = 1000 }
    axes = [{ id = "region", kind = "region", list = "lawd_cd" }, { id = "month", kind = "month" }]
    null_marks = ["N/A"]

    [[column]]
    id = "apt"
    field = "aptNm"
    type = "text"
    label = "Apartment complex"

    [[column]]
    id = "amount"
    field = "dealAmount"
    aliases = ["amount"]
    type = "integer"
    unit = "10000 KRW"

    [[column]]
    id = "area"
    field = "excluUseAr"
    type = "decimal"

    [[column]]
    id = "dealt_on"
    field = "dealDate"
    type = "date"
    format = "yyyymmdd"

    [[column]]
    id = "detail"
    field = "detail"
    type = "json"
"#;

impl Place {
    /// What a killed run holds on a server is free when its lease is over.
    async fn forget_the_living(&self) {
        if let Some(server) = self.url.server() {
            postgres::tampered(server, "update lease set lease_until = clock_timestamp()").await;
        }
    }
}

impl World {
    pub async fn on_sqlite() -> Self {
        Self::on_sqlite_in(tempfile::tempdir().unwrap()).await
    }

    pub async fn on_sqlite_in(folder: TempDir) -> Self {
        let url = StoreUrl::of_file(folder.path().join("gapless.db"));
        Self::at(Place { folder, url }, BEGIN.parse().unwrap()).await
    }

    /// `None` on a machine without PostgreSQL.
    pub async fn on_postgres() -> Option<Self> {
        let place = Place { folder: tempfile::tempdir().unwrap(), url: postgres::place()? };
        Some(Self::at(place, BEGIN.parse().unwrap()).await)
    }

    async fn at(place: Place, now: Timestamp) -> Self {
        let store = Store::open(&place.url, OpenMode::Create).await.unwrap();
        let lock = store.try_lock("a test").unwrap();
        let declared = store.declare(&dataset(DATASET), now).await.unwrap();
        let run = store.begin_run(&lock, "collect apt_trade", "0.1.0", now).await.unwrap();
        Self { place, store, declared, run, lock, now }
    }

    /// Kills the run and begins another on what it left.
    pub async fn killed_and_begun_again(self) -> Self {
        let Self { place, store, lock, now, .. } = self;
        drop((store, lock));
        place.forget_the_living().await;
        Self::at(place, now).await
    }

    pub fn now(&mut self) -> Timestamp {
        self.after(SignedDuration::from_secs(1))
    }

    /// Lets time pass.
    pub fn after(&mut self, time: SignedDuration) -> Timestamp {
        self.now += time;
        self.now
    }

    /// The same store, opened by another process that writes.
    pub async fn neighbour(&self) -> Store {
        Store::open(&self.place.url, OpenMode::OpenExisting).await.unwrap()
    }

    /// The same store, opened by somebody who reads.
    pub async fn reader(&self) -> Store {
        Store::open(&self.place.url, OpenMode::ReadOnly).await.unwrap()
    }

    pub async fn start(&mut self, partition: &str) -> Job {
        self.try_start(partition).await.unwrap().job
    }

    pub async fn try_start(&mut self, partition: &str) -> Result<Started, StoreError> {
        match self.claim(partition, Planned::Anyhow).await? {
            Claim::Started(started) => Ok(started),
            Claim::Elsewhere(elsewhere) => panic!("`{partition}` is at another run: {elsewhere:?}"),
        }
    }

    pub async fn claim(&mut self, partition: &str, planned: Planned) -> Result<Claim, StoreError> {
        let (now, partition) = (self.now(), partition_of(partition));
        self.store
            .start_job(JobStart {
                run: self.run,
                declared: &self.declared,
                partition: &partition,
                planned,
                max_age: MAX_AGE,
                now,
            })
            .await
    }

    pub async fn page(&mut self, job: &Job, read: u32, number: u32, page: &Page) {
        self.try_page(job, read, number, page).await.unwrap();
    }

    pub async fn try_page(&mut self, job: &Job, read: u32, number: u32, page: &Page) -> Result<(), StoreError> {
        let body = KeptBody::of(format!("body of page {number}").as_bytes());
        let attempts = [attempt(job, read, number, 1, Outcome::Page)];
        let stored = StoredPage {
            job,
            read: ReadNumber(read),
            number: PageNumber(number),
            page,
            body: Some(&body),
            attempts: &attempts,
            now: self.now(),
        };
        self.store.commit_page(stored).await
    }

    pub async fn end(&mut self, job: &Job, verdict: Verdict, received: u64) -> Settled {
        self.store.end_job(end(job, verdict, received, self.now)).await.unwrap().settled
    }

    /// One whole job of one page that holds these apartments.
    pub async fn collected(&mut self, partition: &str, apartments: &[&str], verdict: Verdict) -> (Job, Settled) {
        let job = self.start(partition).await;
        self.page(&job, 1, 1, &apartments_page(apartments)).await;
        self.now();
        let settled = self.end(&job, verdict, apartments.len() as u64).await;
        (job, settled)
    }

    /// A whole job that was held, ended on a day of the provider.
    pub async fn held(&mut self, partition: &str, apartments: &[&str], day: &str) -> (Job, Settled) {
        self.ended_on(partition, apartments, Verdict::Held, day).await
    }

    /// A job of one page, ended on a day of the provider.
    pub async fn ended_on(&mut self, partition: &str, apartments: &[&str], verdict: Verdict, day: &str) -> (Job, Settled) {
        let job = self.start(partition).await;
        self.page(&job, 1, 1, &apartments_page(apartments)).await;
        let now = self.now();
        let end = JobEnd { day: day.parse().unwrap(), ..end(&job, verdict, apartments.len() as u64, now) };
        let settled = self.store.end_job(end).await.unwrap().settled;
        (job, settled)
    }

    /// A file beside the store.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.place.folder.path().join(name)
    }

    /// The rows of a query, cells joined by `|`.
    pub async fn select(&self, sql: &str) -> Vec<String> {
        select(&self.store, sql).await
    }

    pub async fn assert_select(&self, sql: &str, expected: &[&str]) {
        assert_eq!(self.select(sql).await, expected, "{sql}");
    }
}

pub async fn select(store: &Store, sql: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let spell = |cell: &Cell<'_>| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(value) => value.to_string(),
        Cell::Real(value) => format!("{value:?}"),
        Cell::Text(text) => (*text).to_owned(),
        Cell::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    store.select(sql, |cells| lines.push(cells.iter().map(spell).collect::<Vec<_>>().join("|"))).await.unwrap();
    lines
}

/// The region list `lawd_cd`.
pub fn regions(lines: &str) -> RegionList {
    let text = format!("code,sido,sigungu,valid_from,valid_to,kind,successors\n{lines}");
    RegionList::from_csv(Name::literal("lawd_cd"), &text, Path::new("lawd_cd.csv")).unwrap()
}

pub fn dataset(toml: &str) -> Dataset {
    toml::from_str(toml).unwrap()
}

pub fn partition_of(text: &str) -> Partition {
    Partition::parse(text, &dataset(DATASET).axis_names()).unwrap()
}

pub fn end(job: &Job, verdict: Verdict, received: u64, now: Timestamp) -> JobEnd<'_> {
    JobEnd {
        job,
        verdict,
        why: (!verdict.is_published()).then_some("told by the story"),
        promised_first: Some(received),
        promised_last: Some(received),
        received,
        distinct: received,
        read: ReadNumber(1),
        superseded: Superseded::Removed,
        store_wait: ms(7),
        day: now.to_zoned_datetime(TimeZone::UTC).date(),
        now,
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub fn attempt(job: &Job, read: u32, page: u32, number: u32, outcome: Outcome) -> Attempt {
    let (dataset, partition) = (job.declared().id().clone(), job.partition().clone());
    let label = CallLabel { dataset, partition, job: job.id(), read: ReadNumber(read), page: PageNumber(page) };
    Attempt {
        label,
        number,
        sent: true,
        sent_at: "2026-11-29T18:00:00.5Z".parse().unwrap(),
        took: ms(112),
        outcome,
        scope: Scope::Attempt,
        http_status: Some(200),
        code: Some("000".to_owned()),
        why: None,
        body_bytes: 2048,
        waits: Waits { retry: ms(2000), pause: ms(4), permit: ms(1), slot: ms(20) },
    }
}
