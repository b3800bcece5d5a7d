//! What a story does differently on each engine.

use std::time::Duration;

use super::postgres;
use super::world::{DATASET, Place, World, dataset};
use crate::store::url::{self, StoreUrl};
use crate::store::{OpenMode, Store, StoreOptions};

impl World {
    pub fn url(&self) -> &StoreUrl {
        &self.place.url
    }

    /// The same store, in a run of another host that lets it go after so long a silence.
    pub async fn second_host(&self, lease: Duration) -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap(), url: self.place.url.clone() };
        let options = StoreOptions { lease, ..StoreOptions::default() };
        let store = Store::open_as(&place.url, OpenMode::OpenExisting, options).await.unwrap();
        let (lock, now) = (store.try_lock("another host").unwrap(), self.now);
        let declared = store.declare(&dataset(DATASET), now).await.unwrap();
        let run = store.begin_run(&lock, "collect apt_trade", "0.1.0", now).await.unwrap();
        Self { place, store, declared, run, lock, now }
    }

    /// An empty store on the other engine, if it is to be had here.
    pub async fn on_the_other_engine(&self) -> Option<(Self, StoreUrl)> {
        let other = match self.place.url.place() {
            url::Place::File(_) => Self::on_postgres().await?,
            url::Place::Server(_) => Self::on_sqlite().await,
        };
        let url = match other.url().place() {
            url::Place::File(path) => StoreUrl::of_file(path.with_file_name("copy.db")),
            url::Place::Server(_) => postgres::place()?,
        };
        Some((other, url))
    }

    /// A new store on the same engine.
    pub async fn another(&self) -> Self {
        match self.place.url.place() {
            url::Place::File(_) => Self::on_sqlite().await,
            url::Place::Server(_) => Self::on_postgres().await.expect("there is one"),
        }
    }

    /// The tables and views of the store.
    pub async fn relations(&self) -> Vec<String> {
        let sql = match self.place.url.place() {
            url::Place::File(_) => "select name from sqlite_schema where type in ('table', 'view')",
            url::Place::Server(_) => {
                "select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v')"
            }
        };
        self.select(sql).await
    }

    /// Everything that is made of tables, views and columns.
    pub async fn schema(&self) -> Vec<String> {
        let sql = match self.place.url.place() {
            url::Place::File(_) => "select sql from sqlite_schema",
            url::Place::Server(_) => {
                "select a.attrelid::regclass, a.attname, a.atttypid::regtype, col_description(a.attrelid, a.attnum)
                 from pg_attribute a join pg_class c on c.oid = a.attrelid
                 where c.relnamespace = current_schema()::regnamespace order by c.relname, a.attnum"
            }
        };
        self.select(sql).await
    }

    /// Changes the store by hand, as no program should.
    pub async fn tampered(&self, sql: &str) {
        tampered_at(self.url(), sql).await;
    }
}

/// Changes a store by hand, and no constraint stops it.
pub async fn tampered_at(url: &StoreUrl, sql: &str) {
    match url.place() {
        url::Place::File(path) => {
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch(&format!("pragma foreign_keys = off; pragma ignore_check_constraints = on; {sql}")).unwrap();
        }
        url::Place::Server(server) => postgres::tampered(server, sql).await,
    }
}
