//! The store on PostgreSQL: a schema of a database, shared by hosts.

mod bulk;
mod describe;
mod dialect;
mod failure;
#[cfg(test)]
mod fault_tests;
mod lease;
#[cfg(test)]
mod lease_tests;
mod link;
mod open;
mod patience;
mod rows;
mod script;
mod session;
mod sharing;
#[cfg(test)]
mod sharing_tests;
mod transaction;
mod values;

use std::sync::PoisonError;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};

use self::lease::Heartbeat;
use self::link::Link;
use self::patience::Patience;
pub use self::script::Access;
use self::sharing::LimitsLink;
use self::transaction::Writer;
use super::error::{StoreError, StorePlace};
use super::param::params;
use super::tx::Tx;
use crate::model::job::RunId;
use crate::model::name::Name;

/// Connections that read at once, beside the one that writes.
const READERS: usize = 2;
/// How long what passes by itself is tried again: a server that restarts, a connection that was cut, a lock.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct PostgresStore {
    server: Server,
    writer: Option<Mutex<Writer>>,
    readers: Semaphore,
    /// Connections that wait for the next to read.
    idle: std::sync::Mutex<Vec<Link>>,
    /// Of the run that writes.
    heartbeat: std::sync::Mutex<Option<Heartbeat>>,
    limits: LimitsLink,
    /// Taken when the store is dropped.
    runtime: Option<Runtime>,
}

/// Where a store is, and how it is spoken to.
#[derive(Debug)]
struct Server {
    options: PgConnectOptions,
    schema: Name,
    place: StorePlace,
    reader_role: Option<Name>,
    patience: Duration,
    lease: Duration,
    handle: tokio::runtime::Handle,
}

impl PostgresStore {
    pub async fn close(mut self) {
        let idle = self.idle.get_mut().map(std::mem::take).unwrap_or_default();
        let writer = self.writer.take().map(Mutex::into_inner);
        super::blocking::blocking(|| {
            idle.into_iter().for_each(Link::close);
            if let Some(writer) = writer {
                writer.close(&self.server);
            }
        });
    }

    /// From now on every write is one of this run: it shows that the lease is not over, and the lease is renewed.
    pub async fn hold(&self, run: RunId) {
        if let Some(writer) = &self.writer {
            writer.lock().await.run = Some(run);
            self.set_heartbeat(Some(Heartbeat::start(&self.server, run)));
        }
    }

    /// The run has ended.
    pub async fn release(&self) {
        if let Some(writer) = &self.writer {
            writer.lock().await.run = None;
            self.set_heartbeat(None);
        }
    }

    fn set_heartbeat(&self, heartbeat: Option<Heartbeat>) {
        *self.heartbeat.lock().unwrap_or_else(PoisonError::into_inner) = heartbeat;
    }

    /// Does `work` in one transaction that has happened, to the disk, when the call returns.
    pub async fn write<T>(
        &self,
        access: Access,
        work: impl Fn(&Tx<'_>) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        match &self.writer {
            Some(writer) => writer.lock().await.write(&self.server, access, work).await,
            None => Err(StoreError::OpenedReadOnly { place: self.server.place.clone() }),
        }
    }

    /// Reads what belongs together in one transaction, so that nothing can change under it. It may be read again from the
    /// start.
    pub async fn read<T>(&self, mut work: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        let mut patience = Patience::of(self.server.patience);
        loop {
            match self.try_read(&mut work).await {
                Err(error) if patience.outlasts(&error).await => (),
                done => return done,
            }
        }
    }

    /// [`PostgresStore::read`], once: what was handed over can not be taken back.
    pub async fn read_once<T>(&self, work: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        self.try_read(work).await
    }

    /// Lets the role that is to read do so, where one is named: tables and views that were there before it was as well.
    pub async fn admit_reader(&self) -> Result<(), StoreError> {
        let Some(role) = &self.server.reader_role else { return Ok(()) };
        let grants = session::grant_reading(&self.server.schema, role);
        self.write(Access::Rules, |tx| grants.iter().try_for_each(|sql| tx.change(sql, &[]))).await
    }

    /// Lets a role write what is in the tables, and neither make nor alter any.
    pub async fn admit(&self, role: &Name) -> Result<(), StoreError> {
        let (schema, role) = (script::quoted(&self.server.schema), script::quoted(role));
        let grants = [
            format!("grant usage on schema {schema} to {role}"),
            format!("grant select, insert, update, delete on all tables in schema {schema} to {role}"),
        ];
        self.write(Access::Rules, |tx| grants.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop))).await
    }

    /// Tables, indexes and what is stored beside them.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        const BYTES: &str = "select cast(coalesce(sum(pg_total_relation_size(c.oid)), 0) as bigint) from pg_catalog.pg_class c
            where c.relnamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = ?1) and c.relkind = 'r'";
        let schema = self.server.schema.as_str();
        let bytes = self.read(|tx| tx.first(BYTES, params![schema], |line| line.get(0))).await?;
        Ok(bytes.unwrap_or(0))
    }

    async fn try_read<T>(&self, work: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
        let _place = self.readers.acquire().await.expect("it is never closed");
        super::blocking::blocking(|| {
            let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
            let is_old = idle.is_some();
            let link = idle.map_or_else(|| transaction::connect_reader(&self.server), Ok)?;
            match transaction::read(&link, &self.server, work) {
                Ok(done) => {
                    if let Ok(mut idle) = self.idle.lock() {
                        idle.push(link);
                    }
                    Ok(done)
                }
                Err(error) => {
                    // The others that wait were cut off with it.
                    if is_old && let Ok(mut idle) = self.idle.lock() {
                        idle.clear();
                    }
                    Err(error)
                }
            }
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
