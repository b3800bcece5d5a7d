//! What is true of a store at every moment, whoever was killed when.

use std::collections::BTreeMap;
use std::fs;

use gapless::store::Store;
use gapless::store::cell::Cell;

use crate::world::{World, lines};

/// Rows of each month, by their hashes in sorted order.
pub type Hashes = BTreeMap<String, Vec<String>>;

const INVARIANTS: &str = include_str!("../invariants.sql");

/// So many queries are in the file; fewer would be a file that is not read to its end.
const LEAST_INVARIANTS: usize = 15;

impl World {
    /// SQLite finds its file whole, every invariant holds, and rows, bodies and ledger agree.
    ///
    /// A kill may come before there is a store, or a table for the dataset; what is there is checked then.
    #[track_caller]
    pub fn assert_store_is_sound(&self, when: &str) {
        if !self.has_store() {
            return;
        }
        let queries = invariants();
        assert!(queries.len() >= LEAST_INVARIANTS, "{} invariants", queries.len());
        let has_tables = self.has_its_tables();
        self.with_store(async |store| {
            if !self.is_on_a_server() {
                assert_eq!(lines(store, "pragma integrity_check").await, [["ok"]], "{when}");
            }
            for query in queries.into_iter().filter(|_| has_tables) {
                let broken = lines(store, query).await;
                assert!(broken.is_empty(), "{when}: {query}\n{broken:?}");
            }
            let findings = store.audit().await.unwrap();
            assert!(findings.is_empty(), "{when}: {findings:?}");
        });
    }

    /// Whether there is a store that knows the dataset: a kill may come before.
    pub fn has_its_tables(&self) -> bool {
        self.has_store() && self.count("select count(*) from dataset where id = 'apt_trade'") > 0
    }

    /// The rows that the view shows at one moment.
    pub fn visible(&self) -> Hashes {
        self.with_store(async |store| visible(store).await)
    }

    /// The store of another world, which nobody uses now, takes the place of this one's.
    pub fn with_the_store_of(self, other: &Self) -> Self {
        for ending in ["", "-wal"] {
            let name = format!("gapless.db{ending}");
            let (from, to) = (other.folder().join(&name), self.folder().join(&name));
            if from.exists() {
                fs::copy(&from, &to).unwrap();
            }
        }
        self
    }
}

/// [`World::visible`] of a store that is open.
pub async fn visible(store: &Store) -> Hashes {
    let mut months = Hashes::new();
    let sql = "select month, _row_hash from apt_trade";
    let each = |cells: &[Cell<'_>]| {
        let [Cell::Text(month), Cell::Text(hash)] = cells else { panic!("a month and a hash: {cells:?}") };
        months.entry((*month).to_owned()).or_default().push((*hash).to_owned());
    };
    store.select(sql, each).await.unwrap();
    months.values_mut().for_each(|hashes| hashes.sort_unstable());
    months
}

/// The queries of the file, without the comments before them.
fn invariants() -> Vec<&'static str> {
    let is_query = |text: &&str| text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"));
    INVARIANTS.split(';').filter(is_query).map(str::trim).collect()
}
