//! What databases take from plain loops into one untyped table: no ledger, no checks, a page a transaction.

use std::fmt::Write;
use std::time::{Duration, Instant};

use gapless::model::page::Page;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::rows::{FIELDS, PAGE_ROWS, PAGES_OF_A_PARTITION};

/// Rows of one `insert`, as most programs write it.
const ROWS_AT_ONCE: usize = 500;

fn columns() -> Vec<&'static str> {
    FIELDS.iter().map(|(name, _)| *name).collect()
}

fn page_number(pages: &[Page], number: u64) -> &Page {
    &pages[(number % PAGES_OF_A_PARTITION) as usize]
}

fn multi_row(rows: usize, parameter: impl Fn(usize) -> String) -> String {
    let row = |row: usize| {
        let parameters: Vec<String> = (0..FIELDS.len()).map(|field| parameter(row * FIELDS.len() + field + 1)).collect();
        format!("({})", parameters.join(", "))
    };
    format!("insert into t values {}", (0..rows).map(row).collect::<Vec<_>>().join(", "))
}

fn sqlite() -> (tempfile::TempDir, rusqlite::Connection) {
    let folder = tempfile::tempdir().unwrap();
    let db = rusqlite::Connection::open(folder.path().join("plain.db")).unwrap();
    db.execute_batch("pragma journal_mode = wal; pragma synchronous = full").unwrap();
    db.execute_batch(&format!("create table t ({})", columns().join(", "))).unwrap();
    (folder, db)
}

/// One prepared statement for each row.
pub fn prepared_into_sqlite(pages: &[Page], count: u64) -> Duration {
    let (_folder, mut db) = sqlite();
    let sql = format!("insert into t values ({})", ["?"; FIELDS.len()].join(", "));
    let begun = Instant::now();
    for number in 0..count {
        let transaction = db.transaction().unwrap();
        {
            let mut insert = transaction.prepare_cached(&sql).unwrap();
            for record in page_number(pages, number).records.iter() {
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

/// One prepared statement for each 500 rows.
pub fn multi_row_into_sqlite(pages: &[Page], count: u64) -> Duration {
    let (_folder, mut db) = sqlite();
    let sql = multi_row(ROWS_AT_ONCE, |_| "?".to_owned());
    let begun = Instant::now();
    for number in 0..count {
        let transaction = db.transaction().unwrap();
        {
            let mut insert = transaction.prepare_cached(&sql).unwrap();
            let fields = page_number(pages, number).records.iter().flat_map(|record| record.fields());
            let mut position = 0;
            for field in fields {
                position += 1;
                insert.raw_bind_parameter(position, field.text()).unwrap();
                if position == ROWS_AT_ONCE * FIELDS.len() {
                    insert.raw_execute().unwrap();
                    position = 0;
                }
            }
            assert_eq!((position, PAGE_ROWS as usize % ROWS_AT_ONCE), (0, 0), "no row is left");
        }
        transaction.commit().unwrap();
    }
    begun.elapsed()
}

async fn postgres(server: &str) -> PgConnection {
    let mut db = PgConnection::connect(server).await.unwrap();
    let columns: Vec<String> = columns().iter().map(|column| format!("{column} text")).collect();
    let table = format!("drop table if exists public.t; create table public.t ({})", columns.join(", "));
    db.execute(AssertSqlSafe(format!("{table}; set search_path to public"))).await.unwrap();
    db
}

/// One prepared statement for each 500 rows.
pub async fn multi_row_into_postgres(server: &str, pages: &[Page], count: u64) -> Duration {
    let mut db = postgres(server).await;
    let sql = multi_row(ROWS_AT_ONCE, |parameter| format!("${parameter}"));
    let begun = Instant::now();
    for number in 0..count {
        let mut transaction = db.begin().await.unwrap();
        let records: Vec<_> = page_number(pages, number).records.iter().collect();
        for rows in records.chunks(ROWS_AT_ONCE) {
            let mut insert = sqlx::query(AssertSqlSafe(sql.as_str()));
            for field in rows.iter().flat_map(|record| record.fields()) {
                insert = insert.bind(field.text());
            }
            insert.execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    begun.elapsed()
}

/// `COPY` in its format of texts.
pub async fn copied_into_postgres(server: &str, pages: &[Page], count: u64) -> Duration {
    let mut db = postgres(server).await;
    let begun = Instant::now();
    for number in 0..count {
        let mut copy = db.copy_in_raw("copy t from stdin").await.unwrap();
        let mut text = String::new();
        for record in page_number(pages, number).records.iter() {
            for (position, field) in record.fields().enumerate() {
                let value = field.text().replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
                write!(text, "{}{value}", if position == 0 { "" } else { "\t" }).unwrap();
            }
            text.push('\n');
        }
        copy.send(text.into_bytes()).await.unwrap();
        copy.finish().await.unwrap();
    }
    begun.elapsed()
}
