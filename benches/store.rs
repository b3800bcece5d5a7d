//! Rows a second into a store, beside what SQLite takes from a plain prepared loop into an untyped table.
//!
//! The two take turns in one run, so that a noisy machine is noisy for both. Rows have 20 fields of a trade, pages 1,000
//! rows; `ROWS=1012500 cargo bench --bench store` for the whole of the promise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gapless::definition::dataset::Dataset;
use gapless::model::attempt::{Attempt, CallLabel, Waits};
use gapless::model::body::KeptBody;
use gapless::model::job::{PageNumber, ReadNumber};
use gapless::model::outcome::{Outcome, Scope};
use gapless::model::page::Page;
use gapless::model::partition::Partition;
use gapless::model::record::{Records, RowHash};
use gapless::model::tree::{NameId, NodeKind, Span, TreeBuilder};
use gapless::model::verdict::Verdict;
use gapless::store::dataset::Declared;
use gapless::store::job::{Change, JobEnd, JobStart, Planned, StoredPage, Superseded};
use gapless::store::url::StoreUrl;
use gapless::store::{OpenMode, Store};
use jiff::{SignedDuration, Timestamp};

const PAGE_ROWS: u64 = 1_000;
const PAGES_OF_A_PARTITION: u64 = 3;
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

const FIELDS: [(&str, &str); 20] = [
    ("sgg_cd", "code"),
    ("umd_nm", "text"),
    ("apt_nm", "text"),
    ("jibun", "text"),
    ("exclu_use_ar", "decimal"),
    ("deal_year", "integer"),
    ("deal_month", "integer"),
    ("deal_day", "integer"),
    ("deal_amount", "integer"),
    ("floor", "integer"),
    ("build_year", "integer"),
    ("cdeal_type", "text"),
    ("cdeal_day", "date"),
    ("dealing_gbn", "text"),
    ("estate_agent", "text"),
    ("rgst_date", "date"),
    ("apt_dong", "text"),
    ("sler_gbn", "text"),
    ("buyer_gbn", "text"),
    ("land_leasehold", "boolean"),
];

#[tokio::main]
async fn main() {
    let rows: u64 = std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(200_000);
    let pages = rows.div_ceil(PAGE_ROWS);
    let bodies: Vec<String> = (0..PAGES_OF_A_PARTITION).map(body).collect();
    let page_values: Vec<Page> = (0..PAGES_OF_A_PARTITION).map(page).collect();
    let (mut plain, mut path, mut whole) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        plain = plain.min(plain_loop(&page_values, pages));
        path = path.min(store(&page_values, None, pages, 1).await);
        whole = whole.min(store(&page_values, Some(&bodies), pages, 8).await);
    }
    let rate = |took: Duration| (pages * PAGE_ROWS) as f64 / took.as_secs_f64();
    println!("{} rows of {} fields, best of 3", pages * PAGE_ROWS, FIELDS.len());
    println!("plain prepared loop, untyped      {:>9.0} rows/s", rate(plain));
    println!("store, a page a transaction       {:>9.0} rows/s  {:.2} of plain", rate(path), rate(path) / rate(plain));
    println!("store with bodies, groups of 8    {:>9.0} rows/s  {:.2} of plain", rate(whole), rate(whole) / rate(plain));
}

fn plain_loop(pages: &[Page], count: u64) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let mut db = rusqlite::Connection::open(folder.path().join("plain.db")).unwrap();
    db.execute_batch("pragma journal_mode = wal; pragma synchronous = full").unwrap();
    let columns: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    db.execute_batch(&format!("create table t ({})", columns.join(", "))).unwrap();
    let sql = format!("insert into t values ({})", ["?"; FIELDS.len()].join(", "));
    let begun = Instant::now();
    for number in 0..count {
        let page = &pages[(number % PAGES_OF_A_PARTITION) as usize];
        let transaction = db.transaction().unwrap();
        {
            let mut insert = transaction.prepare_cached(&sql).unwrap();
            for record in page.records.iter() {
                for (position, field) in record.fields().enumerate() {
                    insert.raw_bind_parameter(position + 1, field.text()).unwrap();
                }
                insert.raw_execute().unwrap();
            }
        }
        transaction.commit().unwrap();
    }
    begun.elapsed()
}

async fn store(pages: &[Page], bodies: Option<&[String]>, count: u64, group: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&StoreUrl::of_file(folder.path().join("gapless.db")), OpenMode::Create).await.unwrap();
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
            store.write_batch(&pages).await.unwrap();
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

fn dataset() -> Dataset {
    let columns: String =
        FIELDS.iter().map(|(name, kind)| format!("[[column]]\nid = '{name}'\nfield = '{name}'\ntype = '{kind}'\n")).collect();
    let toml = format!(
        "id = 'apt_trade'\nprovider = 'practice'\npath = 'trades'\n\
         paging = {{ kind = 'page', page_param = 'page', size_param = 'size', page_size = 1000 }}\n\
         axes = [{{ id = 'region', kind = 'region' }}, {{ id = 'month', kind = 'month' }}]\n{columns}"
    );
    toml::from_str(&toml).unwrap()
}

fn partition(declared: &Declared, number: u64) -> Partition {
    assert_eq!(declared.id().as_str(), "apt_trade");
    let month = format!("{}-{:02}", 2006 + number / 12 % 20, number % 12 + 1);
    Partition::new([("region".parse().unwrap(), (11_110 + number / 240).to_string()), ("month".parse().unwrap(), month)])
}

fn values(row: u64) -> [String; FIELDS.len()] {
    [
        "11110".to_owned(),
        "사직동".to_owned(),
        format!("광화문풍림스페이스본({}~{}동)", row % 90 + 1, row % 90 + 6),
        format!("{}-{}", row % 900, row % 7),
        format!("{}.{:02}", 30 + row % 120, row % 100),
        "2024".to_owned(),
        "3".to_owned(),
        (row % 31 + 1).to_string(),
        format!("{},{:03}", 10 + row % 200, row % 1000),
        (row % 40).to_string(),
        (1980 + row % 44).to_string(),
        " ".to_owned(),
        String::new(),
        "중개거래".to_owned(),
        "서울 종로구".to_owned(),
        "2024-04-11".to_owned(),
        format!("{}", 101 + row % 20),
        "개인".to_owned(),
        "개인".to_owned(),
        "N".to_owned(),
    ]
}

fn body(number: u64) -> String {
    let rows = (number * PAGE_ROWS..(number + 1) * PAGE_ROWS).map(|row| {
        let fields = FIELDS.iter().zip(values(row)).map(|((name, _), value)| format!("<{name}>{value}</{name}>"));
        format!("<item>{}</item>", fields.collect::<String>())
    });
    rows.collect()
}

fn page(number: u64) -> Page {
    let mut tree = TreeBuilder::new();
    let root = tree.open(NameId::NONE, NodeKind::Array, Span::Owned(""));
    let mut hashes = Vec::new();
    for row in number * PAGE_ROWS..(number + 1) * PAGE_ROWS {
        let record = tree.open(NameId::NONE, NodeKind::Object, Span::Owned(""));
        for ((name, _), value) in FIELDS.iter().zip(values(row)) {
            let name = tree.name(name);
            tree.leaf(name, NodeKind::Text, Span::Owned(&value));
        }
        tree.close(record);
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(&row.to_le_bytes()).as_bytes()[..16]);
        hashes.push(RowHash(hash));
    }
    tree.close(root);
    let tree = Arc::new(tree.finish(String::new()));
    let items = tree.root().children().map(|record| record.index()).collect();
    Page {
        records: Records::new(tree, items),
        row_hashes: hashes.into(),
        total: Some(PAGES_OF_A_PARTITION * PAGE_ROWS),
        page_echo: None,
        code: None,
        has_more: None,
    }
}

fn attempt(declared: &Declared, partition: &Partition, job: gapless::model::job::JobId, number: u64) -> Attempt {
    let label = CallLabel {
        dataset: declared.id().clone(),
        partition: partition.clone(),
        job,
        read: ReadNumber::FIRST,
        page: PageNumber(number as u32 + 1),
    };
    Attempt {
        label,
        number: 1,
        sent: true,
        sent_at: NOW,
        took: Duration::from_millis(112),
        outcome: Outcome::Page,
        scope: Scope::Attempt,
        http_status: Some(200),
        code: Some("000".to_owned()),
        why: None,
        body_bytes: 600_000,
        waits: Waits::default(),
    }
}
