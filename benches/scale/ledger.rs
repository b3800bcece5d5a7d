//! A store with a past, written straight into its file.
//!
//! The first night brought every partition. Then three nights on which one in twenty failed: twice while others came,
//! which is a strike, and once when nothing of the dataset came while all of another dataset did.

use gapless::definition::catalog::Catalog;
use gapless::model::partition::Partition;
use gapless::plan::target::{Wish, target};
use gapless::store::{OpenMode, Store};
use jiff::Timestamp;
use rusqlite::{Connection, params};
use tokio::runtime::Runtime;

use super::Outcome;
use super::place::Place;

pub const NOW: &str = "2026-11-30T00:00:00Z";
/// Nights of the past, the first one long ago.
const NIGHTS: [&str; 4] =
    ["2026-01-01T00:00:00.000Z", "2026-11-27T00:00:00.000Z", "2026-11-28T00:00:00.000Z", "2026-11-29T00:00:00.000Z"];
/// One partition in so many fails on the last three.
const FAILS: usize = 20;

const RUN: &str = "insert into run (id, command, started_at, ended_at, exit_code, version) values (?1, 'bench', ?2, ?2, 0, '0')";
const PARTITION: &str =
    "insert into partition (id, dataset, key, region, month, published_job, published_at, checked_at, changed_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?7)";
const JOB: &str = "insert into job
    (id, run, partition, state, verdict, promised_first, promised_last, received, distinct_rows, definition_hash, started_at, ended_at)
    values (?1, ?2, ?3, 'ended', ?4, ?5, ?5, ?5, ?5, 'hash', ?6, ?6)";
const PAGE: &str = "insert into page (job, read, number, rows, total, rows_hash, stored_at) values (?1, 1, 1, ?2, ?2, x'00', ?3)";
const OTHER_DATASET: &str = "insert into dataset (id, title, axes, declared_at) values ('other', '', 'region,month', ?1)";
const ROW: &str = "insert into apt_trade_rows
    (region, month, sgg_cd, umd_nm, apt_nm, deal_amount, floor, _row_hash, _job, _read, _page, _ordinal)
    values (?1, ?2, ?1, '사직동', '광화문풍림스페이스본', ?3, ?4, ?5, ?6, 1, 1, ?4)";

pub struct Ledger {
    pub place: Place,
    pub partitions: Vec<Partition>,
}

impl Ledger {
    /// Every district in so many months, each with so many rows.
    pub fn new(months: usize, rows: usize, runtime: &Runtime) -> Outcome<Self> {
        let place = Place::new(months, "http://127.0.0.1:1")?;
        let (dataset, catalog) = (place.dataset()?, Catalog::builtin());
        let wish = Wish { months: Some(place.months.clone()), regions: Some("all".to_owned()), ..Wish::default() };
        let no_file = |_: &str| Err(std::io::Error::other("no file is named"));
        let partitions = target(&dataset, &wish, &catalog, "2026-11".parse()?, &no_file)?.partitions;
        runtime.block_on(async {
            let store = Store::open(&place.url(), OpenMode::Create).await?;
            store.declare(&dataset, NOW.parse::<Timestamp>()?).await?;
            store.close().await;
            Outcome::Ok(())
        })?;
        let mut db = Connection::open(place.file())?;
        db.execute_batch("pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = off")?;
        let writing = db.transaction()?;
        past(&writing, &partitions, rows)?;
        writing.commit()?;
        db.execute_batch("pragma journal_mode = wal")?;
        Ok(Self { place, partitions })
    }
}

fn past(db: &Connection, partitions: &[Partition], rows: usize) -> Outcome<()> {
    for (night, at) in (1_i64..).zip(NIGHTS) {
        db.execute(RUN, params![night, at])?;
    }
    db.execute(OTHER_DATASET, [NIGHTS[0]])?;
    let mut pen = Pen { db, last_job: 0 };
    let rows = i64::try_from(rows)?;
    for (id, partition) in (1..).zip(partitions) {
        let job = pen.whole_job(1, id, rows)?;
        pen.partition("apt_trade", id, partition, job, NIGHTS[0])?;
        for ordinal in 0..rows {
            pen.row(partition, job, ordinal)?;
        }
    }
    let count = i64::try_from(partitions.len())?;
    for night in 2..=4 {
        for id in (1..=count).step_by(FAILS) {
            pen.failed_job(night, id)?;
        }
        if night < 4 {
            pen.whole_job(night, 2, rows)?;
        }
    }
    for (id, partition) in (count + 1..).zip(partitions) {
        let job = pen.whole_job(4, id, 0)?;
        pen.partition("other", id, partition, job, NIGHTS[3])?;
    }
    Ok(())
}

/// When a night began and ended, the nights counted from 1.
fn at(night: i64) -> &'static str {
    NIGHTS[night as usize - 1]
}

struct Pen<'db> {
    db: &'db Connection,
    last_job: i64,
}

impl Pen<'_> {
    fn whole_job(&mut self, night: i64, partition: i64, rows: i64) -> Outcome<i64> {
        self.last_job += 1;
        let at = at(night);
        self.db.prepare_cached(JOB)?.execute(params![self.last_job, night, partition, "complete", rows, at])?;
        self.db.prepare_cached(PAGE)?.execute(params![self.last_job, rows, at])?;
        Ok(self.last_job)
    }

    fn failed_job(&mut self, night: i64, partition: i64) -> Outcome<()> {
        self.last_job += 1;
        self.db.prepare_cached(JOB)?.execute(params![self.last_job, night, partition, "failed", 0, at(night)])?;
        Ok(())
    }

    fn partition(&self, dataset: &str, id: i64, partition: &Partition, job: i64, at: &str) -> Outcome<()> {
        let (region, month) = (partition.value("region"), partition.value("month"));
        self.db.prepare_cached(PARTITION)?.execute(params![id, dataset, partition.key(), region, month, job, at])?;
        Ok(())
    }

    fn row(&self, partition: &Partition, job: i64, ordinal: i64) -> Outcome<()> {
        let (region, month) = (partition.value("region"), partition.value("month"));
        let hash = (i128::from(job) << 64 | i128::from(ordinal)).to_le_bytes();
        self.db.prepare_cached(ROW)?.execute(params![region, month, job % 90_000, ordinal, hash, job])?;
        Ok(())
    }
}
