//! The ledger and the rows: what was asked, what came, what is published.
//!
//! One struct and one set of rules, `ledger/`, for every engine; what only one engine does is in `sqlite/` or `postgres/`.

mod apis;
pub mod audit;
mod blocking;
mod bulk;
pub mod cell;
pub mod dataset;
mod dialect;
mod engine;
pub mod error;
pub mod file;
pub mod history;
pub mod job;
pub mod kept;
mod layout;
mod ledger;
pub mod lock;
mod mode;
mod param;
mod postgres;
mod row;
pub mod sharing;
mod sqlite;
pub mod state;
#[cfg(test)]
pub mod stories;
mod tx;
pub mod url;
mod value;
mod whole;

use std::sync::Arc;

use jiff::Timestamp;

use self::audit::Finding;
use self::cell::Cell;
use self::dataset::Declared;
use self::engine::Engine;
use self::error::StoreError;
use self::history::History;
use self::job::{Change, Changed, Claim, Decision, Ended, Job, JobEnd, JobStart, Settled, StoredPage};
use self::kept::KeptPages;
use self::ledger::{batch, content, held, jobs, pages, reforms, regions, retention, settle, states, tables, takeover};
use self::lock::{CollectLock, LockError};
pub use self::mode::{NetworkFiles, OpenMode, StoreOptions};
use self::state::{PartitionState, ReformProgress, RegionYield};
use self::url::StoreUrl;
use crate::definition::dataset::Dataset;
use crate::definition::region::RegionList;
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::job::{JobId, PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::record::RowHash;

/// Days on which the same rows must be read for a held snapshot to be published without a person.
pub const HELD_DAYS: u32 = 3;

/// A store that is open.
///
/// Every write is one transaction that has happened, to the disk, when the call returns; a call that is dropped or fails
/// has changed nothing. Writes go one after another, reads beside them.
#[derive(Debug)]
pub struct Store {
    engine: Engine,
}

impl Store {
    /// Opens the store at `url`, bringing its schema up to date unless it is only read.
    ///
    /// Errors: whatever is at `url` and is no whole store of ours, newer than this program, or on a network file system;
    /// nothing of it is changed.
    pub async fn open(url: &StoreUrl, mode: OpenMode) -> Result<Self, StoreError> {
        Self::open_as(url, mode, StoreOptions::default()).await
    }

    /// [`Store::open`], as the settings say.
    pub async fn open_as(url: &StoreUrl, mode: OpenMode, options: StoreOptions) -> Result<Self, StoreError> {
        Ok(Self { engine: Engine::open(url, mode, options).await? })
    }

    /// Whether there is a store at `url`. Errors: what is there and can not be looked at.
    pub async fn exists(url: &StoreUrl) -> Result<bool, StoreError> {
        Engine::exists(url).await
    }

    /// Whether several runs collect into it at once.
    pub fn is_shared(&self) -> bool {
        !self.engine.is_of_one_run()
    }

    /// Closes a store that tasks had a part of. Where one still has, whoever opens it next folds in what it left.
    pub async fn close_shared(store: Arc<Self>) {
        if let Some(store) = Arc::into_inner(store) {
            store.close().await;
        }
    }

    /// Ends all reads and writes and waits until the files are closed.
    pub async fn close(self) {
        self.engine.close().await;
    }

    /// The run that collects into the file at `url`, if one does: for when the file cannot be opened.
    pub fn collector(url: &StoreUrl) -> Option<LockError> {
        Engine::collector(url)
    }

    /// The right to collect into this store, at once or not at all. `holder` is what another run is told of us.
    pub fn try_lock(&self, holder: &str) -> Result<CollectLock, LockError> {
        self.engine.try_lock(holder)
    }

    /// Reads every page of the store and checks that it fits together. Takes as long as reading the whole file.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.engine.check().await
    }

    /// Compares the ledger, the rows and the kept bodies of one moment with each other and says what does not fit; changes
    /// nothing. Takes as long as reading every row and unpacking every body.
    pub async fn audit(&self) -> Result<Vec<Finding>, StoreError> {
        self.engine.read(ledger::audit::audit).await
    }

    /// Makes the tables and the view of a dataset, or adds what its definition has grown by.
    ///
    /// A new column is put at the end and is NULL in the rows that are there. Names, units and labels follow the
    /// definition. Errors: a column or axis that is gone or has another type, and then nothing is changed.
    pub async fn declare(&self, dataset: &Dataset, now: Timestamp) -> Result<Declared, StoreError> {
        self.engine.write(|tx| tables::declare(tx, dataset, now)).await?;
        Ok(Declared::new(dataset))
    }

    /// Puts the regions of a list in place of those that were there of it.
    ///
    /// A reform that is new in it takes effect on what is stored: where all successors were read since its day, the
    /// partitions of retired codes leave the view; else new districts leave it until then, so that no row counts twice.
    pub async fn declare_regions(&self, list: &RegionList, now: Timestamp) -> Result<(), StoreError> {
        self.engine.write(|tx| regions::declare(tx, list, now)).await
    }

    /// How far each district reform has got, in every dataset that has snapshots of its retired codes.
    pub async fn reform_progress(&self) -> Result<Vec<ReformProgress>, StoreError> {
        self.engine.read(reforms::progress).await
    }

    /// Begins a run. It must hold the lock until it ends: whatever job of an earlier run is still running is dead then.
    ///
    /// After a run that did not end by itself the whole store is checked first. Errors: what the check found.
    pub async fn begin_run(
        &self,
        _lock: &CollectLock,
        command: &str,
        version: &str,
        now: Timestamp,
    ) -> Result<RunId, StoreError> {
        // Here and not when opening: only who holds the lock knows that a run without an end is dead.
        if self.engine.is_of_one_run() && self.engine.read(jobs::has_unended_run).await? {
            self.check().await?;
        }
        let run = self.engine.write(|tx| jobs::begin_run(tx, command, version, now)).await?;
        self.engine.hold(run).await;
        Ok(run)
    }

    pub async fn end_run(&self, run: RunId, exit_code: u8, now: Timestamp) -> Result<(), StoreError> {
        self.engine.write(|tx| jobs::end_run(tx, run, exit_code, now)).await?;
        self.engine.release().await;
        Ok(())
    }

    /// Every partition of a dataset that was ever asked for, by key.
    pub async fn states(&self, dataset: &Name) -> Result<Vec<PartitionState>, StoreError> {
        self.engine.read(|tx| states::states(tx, dataset)).await
    }

    /// Whether any partition of a dataset has a whole snapshot with rows.
    pub async fn has_rows(&self, dataset: &Name) -> Result<bool, StoreError> {
        self.engine.read(|tx| states::has_rows(tx, dataset)).await
    }

    /// Makes several changes in their order and in one transaction, for one wait on the disk.
    ///
    /// Returns what came of each. Those that there was no time for are not made, and wait for the next batch: others wait for
    /// the end of this one. Errors: those of the functions for a single change, below.
    pub async fn write_batch(&self, changes: &[Change<'_>]) -> Result<Vec<Changed>, StoreError> {
        if batch::is_of_pages(changes) {
            return self.engine.write_pages(|tx| batch::make_some(tx, changes)).await;
        }
        self.engine.write(|tx| batch::make_some(tx, changes)).await
    }

    /// Claims the job of a partition: the one a dead run left, or a new one.
    ///
    /// What was left is gone on with under a new token, and whoever held the old one can write nothing more of it.
    /// It is lost instead, and its rows go, when the oldest page of its read is older than it may be or its definition
    /// has changed since. Errors: a job of this very run that has not ended.
    pub async fn start_job(&self, start: JobStart<'_>) -> Result<Claim, StoreError> {
        self.engine.write(|tx| takeover::start(tx, &start)).await
    }

    /// Opens a read of the job: what older reads of it have stored goes.
    ///
    /// Errors, here and in all that is stored of a job: [`StoreError::Replaced`] when another run claimed it, and
    /// [`StoreError::JobOver`] when it has ended; nothing is changed then.
    pub async fn open_read(&self, job: &Job, read: ReadNumber) -> Result<(), StoreError> {
        self.engine.write_pages(|tx| jobs::open_read(tx, job, read)).await
    }

    /// Stores one page of the read that is open: its rows, its ledger line, its attempts and its body, all or nothing.
    pub async fn commit_page(&self, page: StoredPage<'_>) -> Result<(), StoreError> {
        self.engine.write_pages(|tx| pages::store(tx, &page)).await
    }

    /// Stores the attempts of calls that brought no page.
    pub async fn record_attempts(&self, attempts: &[Attempt]) -> Result<(), StoreError> {
        self.engine.write_pages(|tx| pages::record(tx, attempts)).await
    }

    /// Ends a job and publishes its snapshot, if its verdict says so, in one transaction.
    ///
    /// One that is suspicious beside what it would take the place of is held instead.
    ///
    /// Where a district reform has put its region in the place of others that are still visible, it waits until all
    /// successors of the reform are read for its month; then they become visible and the others leave, at once.
    ///
    /// One that is held is published too when the same rows were held on [`HELD_DAYS`] different days, this one among
    /// them, unless there are none: that nothing is left is for a person to say.
    ///
    /// Errors: rows that are counted as received and are not stored, and then nothing is published.
    pub async fn end_job(&self, end: JobEnd<'_>) -> Result<Ended, StoreError> {
        self.engine.write(|tx| settle::settle(tx, &end)).await
    }

    /// Decides on the snapshot that is held of a partition, and leaves a line in `decision`; `None` when none is held.
    pub async fn decide(
        &self,
        declared: &Declared,
        partition: &Partition,
        decision: Decision<'_>,
    ) -> Result<Option<Settled>, StoreError> {
        self.engine.write(|tx| held::decide(tx, declared, partition, decision)).await
    }

    /// Hashes of the rows that are published of a partition, sorted, equal ones as often as there are rows.
    pub async fn published_hashes(&self, declared: &Declared, partition: &Partition) -> Result<Vec<RowHash>, StoreError> {
        self.engine.read(|tx| content::published_hashes(tx, declared, partition)).await
    }

    /// What the ledger tells of one partition; `None` when it was never asked for.
    pub async fn history(&self, dataset: &Name, partition: &Partition) -> Result<Option<History>, StoreError> {
        self.engine.read(|tx| ledger::history::history(tx, dataset, partition)).await
    }

    /// The answers that the whole snapshot of a partition was read from, in the order of its pages; `None` without one.
    pub async fn kept_pages(&self, declared: &Declared, partition: &Partition) -> Result<Option<KeptPages<'_>>, StoreError> {
        let pages = self.engine.read(|tx| content::kept_pages(tx, declared, partition)).await?;
        Ok(pages.map(|(job, read, pages)| KeptPages::new(self, job, read, pages)))
    }

    /// Deletes the lines of attempts that were sent before an instant; returns how many.
    pub async fn prune_attempts(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let gone = self.engine.write(|tx| retention::prune_attempts(tx, before)).await?;
            pruned += gone;
            if gone < retention::AT_ONCE {
                return Ok(pruned);
            }
        }
    }

    /// The body of a page that is still kept.
    pub async fn body(&self, job: JobId, read: ReadNumber, page: PageNumber) -> Result<Option<KeptBody>, StoreError> {
        self.engine.read(|tx| pages::body(tx, job, read, page)).await
    }

    /// 32 random bytes of this store, to make key ids with.
    pub async fn salt(&self) -> Result<[u8; 32], StoreError> {
        self.engine.read(states::salt).await
    }

    /// What each region of every dataset has, by dataset and region.
    pub async fn yields(&self) -> Result<Vec<RegionYield>, StoreError> {
        self.engine.read(states::yields).await
    }

    /// When any partition was read as a whole last.
    pub async fn last_checked(&self) -> Result<Option<Timestamp>, StoreError> {
        self.engine.read(states::last_checked).await
    }

    /// Runs one query that only reads and hands over its rows one by one; returns the names of its columns.
    ///
    /// All rows are of one moment: what is published meanwhile is not seen.
    pub async fn select(&self, sql: &str, each: impl FnMut(&[Cell<'_>]) + Send) -> Result<Vec<String>, StoreError> {
        self.engine.select(sql, each).await
    }
}
