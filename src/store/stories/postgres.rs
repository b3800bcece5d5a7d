use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::server;
use crate::store::url::{ServerUrl, StoreUrl};

/// A place for a store of its own on the throw-away server.
pub fn place() -> Option<StoreUrl> {
    server::place().map(|url| url.parse().unwrap())
}

/// Runs statements as somebody who is no program of ours, and whom no constraint stops.
pub async fn tampered(server: &ServerUrl, sql: &str) {
    let mut connection = PgConnection::connect(server.with_password().as_str()).await.unwrap();
    let schema = server.schema();
    // Bytes as the other engine spells them.
    let zeros = |count: usize| format!("'\\x{}'", "00".repeat(count));
    let sql = sql.replace("zeroblob(16)", &zeros(16)).replace("zeroblob(32)", &zeros(32)).replace("x'", "'\\x");
    let sql = format!("set search_path to \"{schema}\"; set session_replication_role to replica; {sql}");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}
