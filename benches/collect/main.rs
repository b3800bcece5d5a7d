//! A whole `gapless collect` beside a bare floor: wall time, CPU time and peak memory.
//!
//! Rows of 20 fields, three pages a partition (1,000, 1,000 and 500 rows), no latency, four calls in flight, as JSON and as
//! XML, into a fresh file each time. gapless is the release binary with its ledger, typed columns and kept bodies. The floor
//! fetches with the same client, reads as little as can be, and inserts as fast as is known into one table without types,
//! ledger or a wait on the disk. Both are processes of their own beside the same server of pages; they take turns, so that a
//! noisy machine is noisy for both. Times are printed, never asserted.
//!
//! `GAPLESS_BENCH_PARTITIONS=40 cargo bench --bench collect` is one quick round.

mod floor;
mod ground;
mod measure;
mod server;

use std::env;
use std::error::Error;

use self::ground::{Ground, PAGES, Page};
use self::measure::Usage;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Partitions of the full bench, and how often it is run.
const FULL: usize = 405;
const ROUNDS: usize = 5;
const ROWS: usize = 2_500;
const PAGE_ROWS: usize = 1_000;
const PACED: &str = "200";
const UNPACED: &str = "none";

/// How the pages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Json,
    Xml,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Json, Self::Xml];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Xml => "xml",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// This executable plays every part but that of gapless.
fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", rows] => server::serve(rows.parse()?),
        ["floor", format, base_url, partitions, file] => {
            floor::collect(Format::named(format).ok_or("json or xml")?, base_url, partitions.parse()?, file)
        }
        ["measure", program, arguments @ ..] => measure::here(program, arguments),
        _ => compare(),
    }
}

fn compare() -> Outcome<()> {
    let asked = env::var("GAPLESS_BENCH_PARTITIONS").ok().map(|partitions| partitions.parse::<usize>()).transpose()?;
    let partitions = asked.unwrap_or(FULL);
    let rounds = if asked.is_some() { 1 } else { ROUNDS };
    speed(partitions, rounds)?;
    memory(partitions)
}

fn speed(partitions: usize, rounds: usize) -> Outcome<()> {
    let ground = Ground::new(ROWS)?;
    let mut taken: [[Vec<Usage>; 2]; 2] = Default::default();
    for _ in 0..rounds {
        for (format, [floor, gapless]) in Format::ALL.into_iter().zip(&mut taken) {
            floor.push(ground.floor(format, partitions)?);
            gapless.push(ground.collect(format, partitions, UNPACED)?);
        }
    }
    let rows = partitions * ROWS;
    println!("{partitions} partitions of {ROWS} rows = {rows} rows, 4 in flight, medians of {rounds}");
    println!("{:<5} {:<8} {:>8} {:>8} {:>9} {:>10}   of the floor", "", "", "wall s", "CPU s", "peak MB", "rows/s");
    for (format, [floor, gapless]) in Format::ALL.into_iter().zip(&taken) {
        let (floor, gapless) = (Usage::median(floor), Usage::median(gapless));
        for (name, usage) in [("floor", &floor), ("gapless", &gapless)] {
            print!(
                "{:<5} {name:<8} {:>8.2} {:>8.2} {:>9.1} {:>10.0}",
                format.as_str(),
                usage.wall,
                usage.cpu,
                usage.peak_mb,
                rows as f64 / usage.wall
            );
            println!("   wall {:.2}, CPU {:.2}", usage.wall / floor.wall, usage.cpu / floor.cpu);
        }
    }
    Ok(())
}

/// Peak memory must follow from what is in flight, not from how much there is to collect.
fn memory(partitions: usize) -> Outcome<()> {
    println!("\n{:<44} {:>9}", "peak memory of gapless, XML", "peak MB");
    let print = |what: String, usage: &Usage| println!("{what:<44} {:>9.1}", usage.peak_mb);
    let three_pages = Ground::new(ROWS)?;
    let paced = three_pages.collect(Format::Xml, partitions, PACED)?;
    print(format!("{partitions} partitions x {PAGES} pages, {PACED} calls a second"), &paced);
    let one_page = Ground::new(PAGE_ROWS)?;
    for partitions in [partitions, partitions * 10] {
        let usage = one_page.collect(Format::Xml, partitions, UNPACED)?;
        print(format!("{partitions} partitions x 1 page, no limit"), &usage);
    }
    Ok(())
}

/// The pages of a walk, in order.
pub fn pages_of(rows: usize) -> impl Iterator<Item = Page> {
    (1..=rows.div_ceil(PAGE_ROWS)).map(|number| Page { number })
}
