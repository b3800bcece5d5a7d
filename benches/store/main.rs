//! Rows a second into a store, beside what its database takes from plain loops into one untyped table.
//!
//! All take turns in one run, so that a noisy machine is noisy for all. Rows have 20 fields of a trade, pages 1,000 rows;
//! `ROWS=1012500 cargo bench --bench store` for the whole of the promise. PostgreSQL is a throw-away server that syncs
//! each commit to the disk, as SQLite does here.

mod plain;
mod rows;
#[allow(dead_code, reason = "the stories of the store use the rest")]
#[path = "../../src/store/stories/server.rs"]
mod server;
mod whole;

use std::time::Duration;

use gapless::model::page::Page;
use gapless::store::url::StoreUrl;

use rows::{FIELDS, PAGE_ROWS, PAGES_OF_A_PARTITION};
use server::Server;

const ROUNDS: usize = 3;

#[tokio::main]
async fn main() {
    let rows: u64 = std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(200_000);
    let count = rows.div_ceil(PAGE_ROWS);
    let bodies: Vec<String> = (0..PAGES_OF_A_PARTITION).map(rows::body).collect();
    let pages: Vec<Page> = (0..PAGES_OF_A_PARTITION).map(rows::page).collect();
    let server = Server::durable().expect("`make test` brings PostgreSQL");

    let mut best = [Duration::MAX; 8];
    for round in 0..ROUNDS {
        let places: Vec<Place> = (0..4).map(|place| Place::new(&server, round * 4 + place)).collect();
        let took = [
            plain::prepared_into_sqlite(&pages, count),
            plain::multi_row_into_sqlite(&pages, count),
            whole::store(&places[0].in_a_file(), &pages, None, count, 1).await,
            whole::store(&places[1].in_a_file(), &pages, Some(&bodies), count, 8).await,
            plain::multi_row_into_postgres(&server.url, &pages, count).await,
            plain::copied_into_postgres(&server.url, &pages, count).await,
            whole::store(&places[2].on_the_server(), &pages, None, count, 1).await,
            whole::store(&places[3].on_the_server(), &pages, Some(&bodies), count, 8).await,
        ];
        best = std::array::from_fn(|index| best[index].min(took[index]));
    }
    let names = [
        "SQLite, a prepared insert a row",
        "SQLite, inserts of 500 rows",
        "SQLite store, a page a commit",
        "SQLite store, bodies, groups of 8",
        "PostgreSQL, inserts of 500 rows",
        "PostgreSQL, COPY",
        "PostgreSQL store, a page a commit",
        "PostgreSQL store, bodies, groups of 8",
    ];
    println!(
        "{} rows of {} fields, best of {ROUNDS}; beside the two plain loops of the same database",
        count * PAGE_ROWS,
        FIELDS.len()
    );
    for (index, name) in names.into_iter().enumerate() {
        let rate = |index: usize| (count * PAGE_ROWS) as f64 / best[index].as_secs_f64();
        let plain = index / 4 * 4;
        let [first, second] = [plain, plain + 1].map(|plain| rate(index) / rate(plain));
        println!("{name:<38} {:>9.0} rows/s  {first:>5.2}  {second:>5.2}", rate(index));
    }
}

/// Where one store is.
struct Place {
    folder: tempfile::TempDir,
    server: String,
}

impl Place {
    fn new(server: &Server, number: usize) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: format!("{}&schema=bench_{number}", server.url) }
    }

    fn in_a_file(&self) -> StoreUrl {
        StoreUrl::of_file(self.folder.path().join("gapless.db"))
    }

    fn on_the_server(&self) -> StoreUrl {
        self.server.parse().unwrap()
    }
}
