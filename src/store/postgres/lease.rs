//! A run is alive while its lease is not over, by the clock of the database; whoever is silent for longer has lost its jobs.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::task::JoinHandle;

use super::Server;
use super::script::quoted;
use crate::model::job::RunId;
use crate::model::name::Name;

pub const HOLD: &str = "insert into lease (run, lease_until)
    values (?1, clock_timestamp() + cast(?2 as double precision) * interval '1 millisecond')";
/// With its part in the limits that runs share.
pub const RELEASE: [&str; 3] =
    ["delete from pace_health where run = ?1", "delete from pace_share where run = ?1", "delete from lease where run = ?1"];
pub const ALIVE: &str = "select exists (select 1 from lease where run = ?1 and lease_until > clock_timestamp())";

/// Renews the lease of a run until it is dropped, or finds it over: one that is over is never renewed.
///
/// On a connection of its own: the one that writes may have to wait for others.
#[derive(Debug)]
pub struct Heartbeat {
    task: JoinHandle<()>,
}

impl Heartbeat {
    pub fn start(server: &Server, run: RunId) -> Self {
        let (options, sql, lease) = (server.options.clone(), renewal(&server.schema, run, server.lease), server.lease);
        Self { task: server.handle.spawn(beat(options, sql, lease)) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks, in the transaction of a write, whether the run may still write.
pub fn question(run: RunId) -> String {
    format!("; select lease_until > clock_timestamp() as is_held from lease where run = {}", run.0)
}

pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn renewal(schema: &Name, run: RunId, lease: Duration) -> String {
    format!(
        "update {}.lease set lease_until = clock_timestamp() + {} * interval '1 millisecond' \
         where run = {} and lease_until > clock_timestamp() returning run",
        quoted(schema),
        millis(lease),
        run.0
    )
}

/// Renews at each third of the lease, so that one renewal may fail; sooner where one has.
async fn beat(options: PgConnectOptions, sql: String, lease: Duration) {
    let mut connection = None;
    let mut wait = lease / 3;
    loop {
        tokio::time::sleep(wait).await;
        match tokio::time::timeout(lease / 3, renew(&options, connection.take(), sql.clone())).await {
            Ok(Ok((kept, true))) => {
                connection = Some(kept);
                wait = lease / 3;
            }
            // It is over: the next write of the run finds that out as well, and stops it.
            Ok(Ok((_, false))) => return,
            Ok(Err(_)) | Err(_) => wait = lease / 12,
        }
    }
}

/// One statement that may be repeated: nothing is lost when its answer is not waited for.
async fn renew(
    options: &PgConnectOptions,
    connection: Option<PgConnection>,
    sql: String,
) -> Result<(PgConnection, bool), sqlx::Error> {
    let mut connection = match connection {
        Some(connection) => connection,
        None => PgConnection::connect_with(options).await?,
    };
    let renewed = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok((connection, !renewed.is_empty()))
}
