//! A connection whose work runs on a runtime of its own.
//!
//! Whoever asks waits for the answer as for a function: no call to the database stands in a future that may be dropped.

use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::runtime::Handle;

/// How long a new connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Link {
    runtime: Handle,
    /// Not there after an answer that never came.
    connection: RefCell<Option<PgConnection>>,
    /// How long an answer is waited for.
    answer_time: Duration,
}

/// What is asked of the server.
pub enum Order {
    /// Statements without parameters; values come as texts.
    Script(String),
    /// A statement without parameters, of which it is told how many lines it changed.
    Count(String),
    /// The same with parameters.
    Change(String, PgArguments),
    /// A statement that brings lines.
    Query(String, PgArguments),
}

pub struct Answer {
    pub rows: Vec<PgRow>,
    /// Lines that were changed.
    pub changed: u64,
}

impl Link {
    pub fn connect(runtime: &Handle, options: &PgConnectOptions, answer_time: Duration) -> Result<Self, sqlx::Error> {
        let (tell, told) = mpsc::sync_channel(1);
        let options = options.clone();
        runtime.spawn(async move {
            let connected = tokio::time::timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&options)).await;
            tell.send(connected.unwrap_or_else(|_| Err(timed_out()))).ok();
        });
        let connection = told.recv().map_err(|_| sqlx::Error::WorkerCrashed)??;
        Ok(Self { runtime: runtime.clone(), connection: RefCell::new(Some(connection)), answer_time })
    }

    /// Waits for the answer; without one in time the connection is given up.
    pub fn ask(&self, order: Order) -> Result<Answer, sqlx::Error> {
        let mut connection = self.connection.borrow_mut().take().ok_or(sqlx::Error::WorkerCrashed)?;
        let (tell, told) = mpsc::sync_channel(1);
        let task = self.runtime.spawn(async move {
            let answer = carry_out(&mut connection, order).await;
            tell.send((connection, answer)).ok();
        });
        let (connection, answer) = told.recv_timeout(self.answer_time).map_err(|error| {
            task.abort();
            match error {
                RecvTimeoutError::Timeout => timed_out(),
                RecvTimeoutError::Disconnected => sqlx::Error::WorkerCrashed,
            }
        })?;
        *self.connection.borrow_mut() = Some(connection);
        answer
    }

    /// Says good-bye to the server.
    pub fn close(self) {
        if let Some(connection) = self.connection.into_inner() {
            let (tell, told) = mpsc::sync_channel(1);
            self.runtime.spawn(async move {
                tell.send(connection.close().await).ok();
            });
            // Nothing hangs on it: the server takes back what was open.
            told.recv_timeout(CONNECT_TIMEOUT).ok();
        }
    }
}

fn timed_out() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
}

/// Nothing is left of a statement on the connection: it may be another transaction's in a moment, behind a pooler.
async fn carry_out(connection: &mut PgConnection, order: Order) -> Result<Answer, sqlx::Error> {
    let statement = |sql, arguments| sqlx::query_with(AssertSqlSafe::<String>(sql), arguments).persistent(false);
    Ok(match order {
        Order::Script(sql) => Answer { rows: connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await?, changed: 0 },
        Order::Count(sql) => {
            Answer { rows: Vec::new(), changed: connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?.rows_affected() }
        }
        Order::Query(sql, arguments) => Answer { rows: connection.fetch_all(statement(sql, arguments)).await?, changed: 0 },
        Order::Change(sql, arguments) => {
            Answer { rows: Vec::new(), changed: connection.execute(statement(sql, arguments)).await?.rows_affected() }
        }
    })
}
