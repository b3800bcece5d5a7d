//! The rows of the bench: 20 fields of a trade.

use std::sync::Arc;
use std::time::Duration;

use gapless::definition::dataset::Dataset;
use gapless::model::attempt::{Attempt, CallLabel, Waits};
use gapless::model::job::{JobId, PageNumber, ReadNumber};
use gapless::model::outcome::{Outcome, Scope};
use gapless::model::page::Page;
use gapless::model::partition::Partition;
use gapless::model::record::{Records, RowHash};
use gapless::model::tree::{NameId, NodeKind, Span, TreeBuilder};
use gapless::store::dataset::Declared;
use jiff::Timestamp;

pub const PAGE_ROWS: u64 = 1_000;
pub const PAGES_OF_A_PARTITION: u64 = 3;
pub const NOW: Timestamp = Timestamp::UNIX_EPOCH;

pub const FIELDS: [(&str, &str); 20] = [
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

pub fn dataset() -> Dataset {
    let columns: String =
        FIELDS.iter().map(|(name, kind)| format!("[[column]]\nid = '{name}'\nfield = '{name}'\ntype = '{kind}'\n")).collect();
    let toml = format!(
        "id = 'apt_trade'\nprovider = 'practice'\npath = 'trades'\n\
         paging = {{ kind = 'page', page_param = 'page', size_param = 'size', page_size = 1000 }}\n\
         axes = [{{ id = 'region', kind = 'region' }}, {{ id = 'month', kind = 'month' }}]\n{columns}"
    );
    toml::from_str(&toml).unwrap()
}

pub fn partition(declared: &Declared, number: u64) -> Partition {
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

pub fn body(number: u64) -> String {
    let rows = (number * PAGE_ROWS..(number + 1) * PAGE_ROWS).map(|row| {
        let fields = FIELDS.iter().zip(values(row)).map(|((name, _), value)| format!("<{name}>{value}</{name}>"));
        format!("<item>{}</item>", fields.collect::<String>())
    });
    rows.collect()
}

pub fn page(number: u64) -> Page {
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

pub fn attempt(declared: &Declared, partition: &Partition, job: JobId, number: u64) -> Attempt {
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
