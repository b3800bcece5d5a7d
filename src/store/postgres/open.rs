//! From a URL to a store that can be trusted, or the reason why not.

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, Semaphore};

use super::link::{Link, Order};
use super::patience::Patience;
use super::script::{self, Access, quoted};
use super::session::grant_reading;
use super::sharing::LimitsLink;
use super::transaction::{self, Writer};
use super::{PATIENCE, PostgresStore, READERS, Server, failure};
use crate::model::name::Name;
use crate::store::blocking::blocking;
use crate::store::error::{StoreError, StorePlace};
use crate::store::param::params;
use crate::store::tx::{Session, Tx};
use crate::store::url::ServerUrl;
use crate::store::{OpenMode, StoreOptions};

/// Steps of the schema. One that has landed is never edited.
const STEPS: [(i64, &str, &str); 5] = [
    (1, "ledger", include_str!("../../../migrations/postgres/0001_ledger.sql")),
    (2, "breaker", include_str!("../../../migrations/postgres/0002_breaker.sql")),
    (3, "time", include_str!("../../../migrations/postgres/0003_time.sql")),
    (4, "shared_limits", include_str!("../../../migrations/postgres/0004_shared_limits.sql")),
    (5, "shared_health", include_str!("../../../migrations/postgres/0005_shared_health.sql")),
];

/// What is known of a step that was done.
const STEPS_TABLE: &str = "create table schema_step (
    version  bigint primary key,
    name     text not null,
    checksum bytea not null,
    done_at  timestamptz not null
)";
const NEW_STEP: &str = "insert into schema_step (version, name, checksum, done_at) values (?1, ?2, ?3, clock_timestamp())";
const STEPS_DONE: &str = "select version, checksum from schema_step order by version";
const STANDING: &str = "select
    exists (select 1 from pg_catalog.pg_namespace where nspname = ?1),
    exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ?1 and c.relname = 'schema_step'),
    exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ?1)";

/// What stands where a store is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    /// A schema without anything in it, made for us by somebody who may make schemas.
    EmptySchema,
    /// Tables of another program.
    Foreign,
    Store,
}

impl PostgresStore {
    pub async fn open(url: &ServerUrl, mode: OpenMode, options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_with(url, mode, options, PATIENCE).await
    }

    /// [`PostgresStore::open`], trying again for another time what passes by itself.
    pub async fn open_with(
        url: &ServerUrl,
        mode: OpenMode,
        options: StoreOptions,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let StoreOptions { reader_role, lease, network_files: _ } = options;
        let place = StorePlace::Server(url.to_string());
        let options = PgConnectOptions::from_url(&url.with_password()).map_err(|source| failure::of_sqlx(&place, source))?;
        // Poolers refuse a setting at the login that they do not know; each transaction makes it for itself.
        let options = options.extra_float_digits(None);
        let options = options.application_name("gapless").statement_cache_capacity(0).disable_statement_logging();
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("gapless-postgres").enable_all().build();
        let runtime = runtime.map_err(|source| failure::of_sqlx(&place, source.into()))?;
        let (schema, handle) = (url.schema().clone(), runtime.handle().clone());
        let server = Server { options, schema, place, reader_role, patience, lease, handle };
        let (mut waiting, mut was_there) = (Patience::of(patience), false);
        let opened = loop {
            match blocking(|| open(&server, mode)) {
                Err(error) => {
                    // A host that is not there is no reason to wait; one that went away will come back.
                    was_there |= !failure::is_absence(&error);
                    if !was_there || !waiting.outlasts(&error).await {
                        break Err(error);
                    }
                }
                opened => break opened,
            }
        };
        let writer = match opened {
            Ok(writer) => writer.map(Mutex::new),
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let (readers, idle) = (Semaphore::new(READERS), std::sync::Mutex::default());
        let heartbeat = std::sync::Mutex::default();
        let limits = LimitsLink::default();
        Ok(Self { server, writer, readers, idle, heartbeat, limits, runtime: Some(runtime) })
    }
}

/// Brings the schema to where it must be; the writer, unless the store is only read.
fn open(server: &Server, mode: OpenMode) -> Result<Option<Writer>, StoreError> {
    let link = server.connect(Duration::from_secs(60))?;
    let (encoding, standing) = transaction::read(&link, server, |tx| Ok((encoding(tx)?, standing(tx, &server.schema)?)))?;
    if encoding != "UTF8" {
        return Err(StoreError::OtherEncoding { place: server.place.clone(), found: encoding });
    }
    let missing = || StoreError::Missing { place: server.place.clone() };
    match (standing, mode) {
        (Standing::Foreign, _) => return Err(StoreError::Foreign { place: server.place.clone() }),
        (Standing::Nothing | Standing::EmptySchema, OpenMode::OpenExisting | OpenMode::ReadOnly) => return Err(missing()),
        (Standing::Nothing | Standing::EmptySchema, OpenMode::Create) => migrate(&link, server)?,
        (Standing::Store, OpenMode::Create | OpenMode::OpenExisting | OpenMode::ReadOnly) => (),
    }
    let found = transaction::read(&link, server, |tx| newest_step_done(tx, server))?;
    match (found < newest_step(), mode) {
        (false, _) => (),
        (true, OpenMode::ReadOnly) => {
            return Err(StoreError::Older { place: server.place.clone(), found, known: newest_step() });
        }
        (true, OpenMode::Create | OpenMode::OpenExisting) => migrate(&link, server)?,
    }
    match mode {
        OpenMode::ReadOnly => Ok(None),
        // Now, before anything was asked of a provider, is the time to learn that we may not write.
        OpenMode::Create | OpenMode::OpenExisting => Writer::begin(link, server).map(Some),
    }
}

/// How the database keeps text.
fn encoding(tx: &Tx<'_>) -> Result<String, StoreError> {
    let encoding = tx.first("select current_setting('server_encoding')", &[], |line| line.get(0))?;
    Ok(encoding.expect("a constant query brings one line"))
}

fn standing(tx: &Tx<'_>, schema: &Name) -> Result<Standing, StoreError> {
    let found = tx.first(STANDING, params![schema.as_str()], |line| {
        Ok(match (line.get(0)?, line.get(1)?, line.get(2)?) {
            (_, true, _) => Standing::Store,
            (_, false, true) => Standing::Foreign,
            (true, false, false) => Standing::EmptySchema,
            (false, false, false) => Standing::Nothing,
        })
    })?;
    Ok(found.expect("a query of truths brings one line"))
}

/// Does the steps that are missing, all in one transaction: tables are made or none is.
fn migrate(link: &Link, server: &Server) -> Result<(), StoreError> {
    let failed = |source| failure::of_sqlx(&server.place, source);
    let schema = quoted(&server.schema);
    link.ask(Order::Script(script::begin(&server.schema, Access::Rules))).map_err(failed)?;
    let handle = server.handle(link);
    let tx = Tx::new(&handle);
    // Behind the lock: another may have made it between the look and now.
    let done = match standing(&tx, &server.schema)? {
        Standing::Foreign => return Err(StoreError::Foreign { place: server.place.clone() }),
        Standing::Store => newest_step_done(&tx, server)?,
        standing @ (Standing::Nothing | Standing::EmptySchema) => {
            if standing == Standing::Nothing {
                handle.script(format!("create schema {schema}"))?;
            }
            handle.script(STEPS_TABLE.to_owned())?;
            0
        }
    };
    for (version, name, sql) in STEPS.into_iter().filter(|(version, ..)| *version > done) {
        handle.script(sql.to_owned())?;
        handle.execute(NEW_STEP, params![version, name, &checksum(sql)[..]])?;
    }
    if let Some(role) = &server.reader_role {
        handle.script(grant_reading(&server.schema, role).join("; "))?;
    }
    link.ask(Order::Script("commit".to_owned())).map(drop).map_err(failed)
}

fn newest_step() -> i64 {
    STEPS[STEPS.len() - 1].0
}

/// The newest step that was done on this store.
///
/// Errors: a step that this program does not know, or knows otherwise.
fn newest_step_done(tx: &Tx<'_>, server: &Server) -> Result<i64, StoreError> {
    let done = tx.all(STEPS_DONE, &[], |line| Ok((line.get::<i64>(0)?, line.get::<Vec<u8>>(1)?)))?;
    for (version, found) in &done {
        let place = server.place.clone();
        match STEPS.iter().find(|(known, ..)| known == version) {
            None => return Err(StoreError::Newer { place, found: *version, known: newest_step() }),
            Some((_, _, sql)) if checksum(sql) != **found => return Err(StoreError::StrangeSchema { place, step: *version }),
            Some(_) => (),
        }
    }
    Ok(done.last().map_or(0, |(version, _)| *version))
}

fn checksum(sql: &str) -> [u8; 32] {
    *blake3::hash(sql.as_bytes()).as_bytes()
}
