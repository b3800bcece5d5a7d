//! Limits that runs keep together: lines that each of them changes by one statement, by the clock of the database.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::sync::Mutex;

use super::patience::Patience;
use super::script::{literal, quoted};
use super::values::ToldLine;
use super::{PostgresStore, failure};
use crate::model::breaker::Health;
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::error::{DatabaseFailure, StoreError};
use crate::store::sharing::{
    Canary, Clock, ClockReading, Dark, HealthOfRun, Other, Share, SlotGrant, SlotOrder, Standing, Stop, Terms,
};
use crate::store::tx::{Line, Misread};

/// The connection of the limits: what writes pages may have to wait for others.
pub type LimitsLink = Arc<Mutex<Option<PgConnection>>>;

/// How long a connection or an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Microseconds of the clock of the database.
const NOW: &str = "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)";

/// A canary without an outcome for so long is given up.
const CANARY_US: i64 = 30_000_000;

/// A clock that is this far behind what it said before was set back.
const SET_BACK_US: i64 = 1_000_000;

/// Lines of an answer, with when it was asked for and heard.
struct Told {
    lines: Vec<ToldLine>,
    asked: u64,
    heard: u64,
}

impl PostgresStore {
    pub async fn join_limits(&self, share: &Share, terms: Terms) -> Result<(), StoreError> {
        let (schema, key) = (quoted(&self.server.schema), key(share));
        let Terms { interval, concurrency } = terms;
        let sql = format!(
            "insert into {schema}.pace (provider, key_id, next_us, seen_us) values ({key}, {NOW}, {NOW})
                on conflict (provider, key_id) do nothing;
             delete from {schema}.pace_share s where not exists
                (select 1 from {schema}.lease l where l.run = s.run and l.lease_until > clock_timestamp());
             delete from {schema}.pace_health h where not exists
                (select 1 from {schema}.lease l where l.run = h.run and l.lease_until > clock_timestamp());
             insert into {schema}.pace_share (provider, key_id, run, interval_us, concurrency, held)
                values ({key}, {run}, {interval}, {concurrency}, 0) on conflict (provider, key_id, run) do nothing",
            run = share.run.0,
            interval = micros(interval),
        );
        self.ask(sql, &no_clock()).await.map(drop)
    }

    pub async fn standing(&self, share: &Share) -> Result<Standing, StoreError> {
        let sql = format!(
            "select run, interval_us, concurrency, held from {alive} union all
             select run, interval_us, concurrency, held from {schema}.pace_share where {own} order by run;
             select greatest(dark_until_us - {NOW}, 0), dark_why from {schema}.pace where {of} and dark_until_us is not null",
            alive = self.others(share),
            schema = quoted(&self.server.schema),
            own = own(share),
            of = of(share),
        );
        let mut told = self.ask(sql, &no_clock()).await?;
        let dark = told.split_off(|line| line.0.len() == 2);
        let dark = self.read_lines(&dark, |line| Ok(Dark { left: Duration::from_micros(line.get(0)?), why: line.get(1)? }))?;
        let all = self.read_lines(&told, |line| {
            let terms = Terms { interval: Duration::from_micros(line.get(1)?), concurrency: line.get(2)? };
            Ok(Other { run: RunId(line.get(0)?), terms, held: line.get(3)? })
        })?;
        let (own, others): (Vec<Other>, Vec<Other>) = all.into_iter().partition(|other| other.run == share.run);
        Ok(Standing { others, held: own.first().map_or(0, |own| own.held), dark: dark.into_iter().next() })
    }

    pub async fn compare_health(&self, share: &Share, own: &[(Name, Health)]) -> Result<Vec<HealthOfRun>, StoreError> {
        let schema = quoted(&self.server.schema);
        let line = |(dataset, health): &(Name, Health)| {
            let Health { answered, failed, failed_in_a_row } = health;
            let (key, run, dataset) = (key(share), share.run.0, literal(dataset.as_str()));
            format!("({key}, {run}, {dataset}, {answered}, {failed}, {failed_in_a_row})")
        };
        let lines = own.iter().map(line).collect::<Vec<_>>().join(", ");
        let tell = format!(
            "insert into {schema}.pace_health (provider, key_id, run, dataset, answered, failed, failed_in_a_row) values {lines}
                on conflict (provider, key_id, run, dataset) do update set
                answered = excluded.answered, failed = excluded.failed, failed_in_a_row = excluded.failed_in_a_row;",
        );
        let sql = format!(
            "{tell} select s.run, s.dataset, s.answered, s.failed, s.failed_in_a_row from {schema}.pace_health s
                join {schema}.lease l on l.run = s.run
                where {of} and s.run <> {run} and l.lease_until > clock_timestamp() order by s.run, s.dataset",
            tell = if own.is_empty() { String::new() } else { tell },
            of = of(share),
            run = share.run.0,
        );
        let told = self.ask(sql, &no_clock()).await?;
        self.read_lines(&told, |line| {
            let health = Health { answered: line.get(2)?, failed: line.get(3)?, failed_in_a_row: line.get(4)? };
            Ok(HealthOfRun { run: RunId(line.get(0)?), dataset: line.spelled(1)?, health })
        })
    }

    pub async fn hold_permits(&self, share: &Share, count: u32, most: u32) -> Result<bool, StoreError> {
        let schema = quoted(&self.server.schema);
        // One at a time, so that no two take what is free once.
        let sql = format!(
            "begin isolation level read committed; select 1 from {schema}.pace where {of} for update;
             update {schema}.pace_share set held = {count} where {own} and (held >= {count}
                or {count} + (select coalesce(sum(held), 0) from {others}) <= {most}) returning held; commit",
            of = of(share),
            own = own(share),
            others = self.others(share),
        );
        let told = self.ask(sql, &no_clock()).await?;
        // One line of the lock, and one of the change.
        Ok(told.lines.len() == 2)
    }

    pub async fn reserve_slots(&self, share: &Share, order: SlotOrder, clock: &Clock) -> Result<Option<SlotGrant>, StoreError> {
        let SlotOrder { count, interval, margin, canary } = order;
        let sql = format!(
            "with mine as (update {schema}.pace_share set interval_us = {interval} where {own} and interval_us <> {interval}),
                slowest as (select greatest({interval}, coalesce(max(interval_us), 0)) as interval_us from {others})
             update {schema}.pace p set
                given_us = {count} * slowest.interval_us + {margin},
                next_us = {count} * slowest.interval_us + {margin} + greatest({NOW},
                    case when p.seen_us > {NOW} + {SET_BACK_US} then {NOW} + p.next_us - p.seen_us else p.next_us end),
                seen_us = {NOW}
             from slowest where {of} and (p.dark_until_us is null or p.canary_until_us = {canary}) returning p.next_us - p.given_us, p.next_us, slowest.interval_us, {NOW}",
            schema = quoted(&self.server.schema),
            own = own(share),
            of = of(share),
            others = self.others(share),
            interval = micros(interval),
            margin = micros(margin),
            canary = token(canary),
        );
        let told = self.ask(sql, clock).await?;
        let (asked, heard) = (told.asked, told.heard);
        let nanos = |micros: u64| micros.saturating_mul(1_000);
        let grants = self.read_lines(&told, |line| {
            let reading = ClockReading { asked, told: nanos(line.get(3)?), heard };
            let (start, end) = (nanos(line.get(0)?), nanos(line.get(1)?));
            Ok(SlotGrant { start, end, interval: Duration::from_micros(line.get(2)?), reading })
        })?;
        Ok(grants.first().copied())
    }

    pub async fn darken(&self, share: &Share, pause: Duration, why: &str) -> Result<(), StoreError> {
        let set = format!(
            "dark_since_us = coalesce(dark_since_us, {NOW}), dark_why = {why}, canary_until_us = null,
                dark_until_us = greatest(coalesce(dark_until_us, 0), {NOW} + {pause})",
            why = literal(why),
            pause = micros(pause),
        );
        self.set_pace(share, &set).await
    }

    pub async fn lighten(&self, share: &Share) -> Result<(), StoreError> {
        self.set_pace(share, "dark_since_us = null, dark_until_us = null, dark_why = null, canary_until_us = null").await
    }

    pub async fn take_canary(&self, share: &Share, mine: Option<Canary>) -> Result<Option<Canary>, StoreError> {
        let sql = format!(
            "update {schema}.pace set canary_until_us = {NOW} + {CANARY_US} where {of} and dark_until_us <= {NOW}
                and (canary_until_us is null or canary_until_us <= {NOW} or canary_until_us = {mine})
                returning canary_until_us",
            schema = quoted(&self.server.schema),
            of = of(share),
            mine = token(mine),
        );
        let told = self.ask(sql, &no_clock()).await?;
        Ok(self.read_lines(&told, |line| Ok(Canary(line.get(0)?)))?.first().copied())
    }

    pub async fn stop_all(&self, share: &Share, dataset: Option<&Name>, why: &str) -> Result<(), StoreError> {
        let sql = format!(
            "insert into {schema}.stopped_api (provider, key_id, run, dataset, why) values ({key}, {run}, {dataset}, {why})",
            schema = quoted(&self.server.schema),
            key = key(share),
            run = share.run.0,
            dataset = dataset.map_or("null".to_owned(), |dataset| literal(dataset.as_str())),
            why = literal(why),
        );
        self.ask(sql, &no_clock()).await.map(drop)
    }

    pub async fn stops_after(&self, share: &Share, id: i64) -> Result<Vec<Stop>, StoreError> {
        let sql = format!(
            "select id, run, dataset, why from {schema}.stopped_api where id > {id} and {of} order by id",
            schema = quoted(&self.server.schema),
            of = of(share),
        );
        let told = self.ask(sql, &no_clock()).await?;
        self.read_lines(&told, |line| {
            Ok(Stop { id: line.get(0)?, run: RunId(line.get(1)?), dataset: line.spelled_or_null(2)?, why: line.get(3)? })
        })
    }

    async fn set_pace(&self, share: &Share, set: &str) -> Result<(), StoreError> {
        let (schema, of) = (quoted(&self.server.schema), of(share));
        self.ask(format!("update {schema}.pace set {set} where {of}"), &no_clock()).await.map(drop)
    }

    /// The shares of other runs that are alive.
    fn others(&self, share: &Share) -> String {
        let schema = quoted(&self.server.schema);
        format!(
            "(select s.run, s.interval_us, s.concurrency, s.held from {schema}.pace_share s
                join {schema}.lease l on l.run = s.run
                where {of} and s.run <> {run} and l.lease_until > clock_timestamp()) as other",
            of = of(share),
            run = share.run.0,
        )
    }

    /// Asks, again while what fails is what passes.
    async fn ask(&self, sql: String, clock: &Clock) -> Result<Told, StoreError> {
        let mut patience = Patience::of(self.server.patience);
        loop {
            let (options, link) = (self.server.options.clone(), Arc::clone(&self.limits));
            let asked = self.server.handle.spawn(ask_once(options, link, sql.clone(), Arc::clone(clock)));
            let told = asked.await.unwrap_or(Err(sqlx::Error::WorkerCrashed));
            match told.map_err(|source| failure::of_sqlx(&self.server.place, source)) {
                Err(error) if patience.outlasts(&error).await => tracing::debug!(%error, "the shared limits are asked again"),
                told => return told,
            }
        }
    }

    fn read_lines<T>(&self, told: &Told, read: impl Fn(&Line<'_>) -> Result<T, Misread>) -> Result<Vec<T>, StoreError> {
        told.lines.iter().map(|line| read(&Line::new(line)).map_err(|source| self.unforeseen(source.into()))).collect()
    }

    fn unforeseen(&self, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Database { place: self.server.place.clone(), failure: DatabaseFailure::Unforeseen, source }
    }
}

impl Told {
    /// Takes away the lines of another statement of the script.
    fn split_off(&mut self, is_other: impl Fn(&ToldLine) -> bool) -> Self {
        let (others, lines) = std::mem::take(&mut self.lines).into_iter().partition(is_other);
        self.lines = lines;
        Self { lines: others, ..*self }
    }
}

/// In a task of its own, which is not dropped with whoever waits for it. A connection without an answer in time is given
/// up.
async fn ask_once(options: PgConnectOptions, link: LimitsLink, sql: String, clock: Clock) -> Result<Told, sqlx::Error> {
    let timed_out = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    let mut link = link.lock().await;
    let mut connection = match link.take() {
        Some(connection) => connection,
        None => tokio::time::timeout(TIMEOUT, PgConnection::connect_with(&options)).await.map_err(timed_out)??,
    };
    let asked = clock();
    let answer = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql)));
    let rows = tokio::time::timeout(TIMEOUT, answer).await.map_err(timed_out)??;
    let heard = clock();
    *link = Some(connection);
    let lines = rows.iter().map(ToldLine::of).collect::<Option<Vec<_>>>();
    Ok(Told { lines: lines.ok_or_else(|| sqlx::Error::Protocol("a value it never sends".to_owned()))?, asked, heard })
}

/// For what has no use for the clock.
fn no_clock() -> Clock {
    Arc::new(|| 0)
}

fn key(share: &Share) -> String {
    format!("{}, {}", literal(share.provider.as_str()), literal(&share.key_id))
}

fn of(share: &Share) -> String {
    format!("provider = {} and key_id = {}", literal(share.provider.as_str()), literal(&share.key_id))
}

fn own(share: &Share) -> String {
    format!("{} and run = {}", of(share), share.run.0)
}

/// What is no token of a canary is none that was ever given.
fn token(canary: Option<Canary>) -> u64 {
    canary.map_or(0, |Canary(token)| token)
}

/// Rounded up: no interval gets shorter.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX)
}
