//! What a store does when its server, or the way to it, fails.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::link::Order;
use super::values::{Told, ToldLine};
use super::{PATIENCE, PostgresStore};
use crate::model::job::{PageNumber, ReadNumber, RunId};
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;
use crate::store::engine::Engine;
use crate::store::error::{DatabaseFailure, StoreError, StoreErrorKind};
use crate::store::job::{Change, StoredPage};
use crate::store::sharing::{Clock, Share, SlotOrder};
use crate::store::stories::server;
use crate::store::stories::world::{DATASET, World, apartments_page, attempt, dataset};
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store, StoreOptions};

const SEOUL: &str = "11110,2024-01";
/// Short, so that what never heals is told soon.
const SOON: Duration = Duration::from_millis(1500);

async fn open(url: &StoreUrl, mode: OpenMode) -> Result<Store, StoreError> {
    let store = PostgresStore::open_with(url.server().unwrap(), mode, StoreOptions::default(), SOON).await?;
    Ok(Store { engine: Engine::Postgres(Box::new(store)) })
}

/// The same place, asked for by another role or on another way: `to` stands between `//` and the options.
fn by(url: &StoreUrl, to: &str) -> StoreUrl {
    let text = url.to_string();
    let options = text.split_once('?').unwrap().1;
    format!("postgres://{to}/postgres?{options}").parse().unwrap()
}

/// What the way to the server does to the first messages that hold a text.
#[derive(Clone, Copy)]
enum Cut {
    /// They never arrive.
    Before,
    /// They arrive, and nothing ever comes back.
    After,
    /// They never arrive, and the way stays open.
    Silent,
    /// They are counted alone.
    Nowhere,
}

/// A way to the server that is cut at the next so many messages with a text in them; returns its address and how many are
/// still to be cut.
fn cut_way(url: &StoreUrl, text: &'static [u8], cut: Cut) -> (String, Arc<AtomicU32>) {
    let shown = url.to_string();
    let folder = shown.split_once("host=").unwrap().1.split('&').next().unwrap().to_owned();
    let socket = format!("{folder}/.s.PGSQL.5432");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let left = Arc::new(AtomicU32::new(0));
    let to_cut = Arc::clone(&left);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, left) = (UnixStream::connect(&socket).unwrap(), Arc::clone(&to_cut));
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                std::io::copy(&mut answers, &mut back).ok();
            });
            thread::spawn(move || pass_on(client, server, text, cut, &left));
        }
    });
    (format!("gapless@{address}"), left)
}

fn pass_on(mut client: TcpStream, mut server: UnixStream, text: &[u8], cut: Cut, left: &AtomicU32) {
    let mut message = vec![0; 1 << 20];
    while let Ok(length @ 1..) = client.read(&mut message) {
        let holds = message[..length].windows(text.len()).any(|window| window == text);
        if holds && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            match cut {
                Cut::Before => {
                    client.shutdown(std::net::Shutdown::Both).unwrap();
                    return server.shutdown(std::net::Shutdown::Both).unwrap();
                }
                // The server finds out that nobody listens once it has done what it was asked.
                Cut::After => {
                    client.shutdown(std::net::Shutdown::Both).unwrap();
                    return server.write_all(&message[..length]).unwrap();
                }
                Cut::Silent => continue,
                Cut::Nowhere => (),
            }
        }
        if server.write_all(&message[..length]).is_err() {
            return;
        }
    }
}

/// Writes one line through a way that is cut at its commit, once or twice.
async fn written_through(cut: Cut, times: u32) {
    let Some(mut world) = World::on_postgres().await else { return };
    let job = world.start(SEOUL).await;
    let (way, left) = cut_way(world.url(), b"; commit", cut);
    // The socket of the server must not be asked instead.
    let place: StoreUrl = format!("postgres://{way}/postgres?schema={}", world.url().server().unwrap().schema()).parse().unwrap();
    let store = open(&place, OpenMode::OpenExisting).await.unwrap();
    left.store(times, Ordering::SeqCst);
    store.record_attempts(&[attempt(&job, 1, 1, 1, Outcome::Retry)]).await.unwrap();
    assert_eq!(left.load(Ordering::SeqCst), 0, "it was cut");
    world.assert_select("select count(*) from attempt", &["1"]).await;
    store.record_attempts(&[attempt(&job, 1, 1, 2, Outcome::Retry)]).await.unwrap();
    world.assert_select("select count(*) from attempt", &["2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_is_not_done_again() {
    written_through(Cut::After, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_done_again() {
    written_through(Cut::Before, 1).await;
    written_through(Cut::Before, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_cut_is_made_anew_in_mid_transaction_too() {
    let Some(mut world) = World::on_postgres().await else { return };
    let job = world.start(SEOUL).await;
    let (way, left) = cut_way(world.url(), b"select state = 'running'", Cut::After);
    let place: StoreUrl = format!("postgres://{way}/postgres?schema={}", world.url().server().unwrap().schema()).parse().unwrap();
    let store = open(&place, OpenMode::OpenExisting).await.unwrap();
    left.store(3, Ordering::SeqCst);
    store.open_read(&job, ReadNumber(2)).await.unwrap();
    assert_eq!(left.load(Ordering::SeqCst), 0, "it was cut");
    world.assert_select("select read from job", &["2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_over_a_way_that_fell_silent_comes_to_an_end() {
    let Some(mut world) = World::on_postgres().await else { return };
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let (way, left) = cut_way(world.url(), b"max(checked_at)", Cut::Silent);
    let place: StoreUrl = format!("postgres://{way}/postgres?schema={}", world.url().server().unwrap().schema()).parse().unwrap();
    let store = open(&place, OpenMode::OpenExisting).await.unwrap();
    assert!(store.last_checked().await.unwrap().is_some());
    left.store(1, Ordering::SeqCst);
    let begun = Instant::now();
    let error = tokio::time::timeout(SOON * 8, store.last_checked()).await.expect("it ends").unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(begun.elapsed() < SOON * 6, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_costs_few_ways_to_the_server_and_back() {
    let Some(mut world) = World::on_postgres().await else { return };
    let (way, left) = cut_way(world.url(), b"\0", Cut::Nowhere);
    let place: StoreUrl = format!("postgres://{way}/postgres?schema={}", world.url().server().unwrap().schema()).parse().unwrap();
    world.store = open(&place, OpenMode::OpenExisting).await.unwrap();
    left.store(1000, Ordering::SeqCst);
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    // Three transactions of a begin and an end each, the rows by arrays for two, and what must be asked.
    let ways = 1000 - left.load(Ordering::SeqCst);
    assert!((10..=24).contains(&ways), "{ways} messages");
    left.store(1000, Ordering::SeqCst);
    let now = world.now();
    world.store.declare(&dataset(DATASET), now).await.unwrap();
    let ways = 1000 - left.load(Ordering::SeqCst);
    assert!((3..=9).contains(&ways), "{ways} messages to find all columns as they are");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_takes_no_more_into_a_transaction_than_others_can_wait_for() {
    let Some(mut world) = World::on_postgres().await else { return };
    let job = world.start(SEOUL).await;
    world
        .tampered(
            "create function far_away() returns trigger language plpgsql as $$ begin perform pg_sleep(0.7); return new; end $$; \
             create trigger far_away before insert on apt_trade_rows for each statement execute function far_away(); \
             alter table apt_trade_rows enable always trigger far_away",
        )
        .await;
    let (page, now) = (apartments_page(&["a"]), world.now());
    let stored = |number| StoredPage {
        job: &job,
        read: ReadNumber::FIRST,
        number: PageNumber(number),
        page: &page,
        body: None,
        attempts: &[],
        now,
    };
    let pages: Vec<Change<'_>> = (1..=4).map(|number| Change::Page(stored(number))).collect();
    assert_eq!(world.store.write_batch(&pages).await.unwrap().len(), 2);
    world.assert_select("select number from page order by number", &["1", "2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_is_read_again_when_its_connection_was_ended() {
    let Some(world) = World::on_postgres().await else { return };
    let role = role(&world, "superuser").await;
    let store = open(&by(world.url(), &format!("{role}@localhost")), OpenMode::OpenExisting).await.unwrap();
    store.salt().await.unwrap();
    world.tampered(&format!("select pg_terminate_backend(pid) from pg_stat_activity where usename = '{role}'")).await;
    store.salt().await.unwrap();
    store.prune_attempts(jiff::Timestamp::UNIX_EPOCH).await.unwrap();
}

/// A role of its own for a test.
async fn role(world: &World, rights: &str) -> String {
    static ROLES: AtomicU32 = AtomicU32::new(0);
    let role = format!("role_p{}_{}", std::process::id(), ROLES.fetch_add(1, Ordering::Relaxed));
    world.tampered(&format!("create role {role} login {rights}")).await;
    role
}

async fn refused(world: &World, role: &str, mode: OpenMode, expected: DatabaseFailure, kind: StoreErrorKind) {
    let error = open(&by(world.url(), &format!("{role}@localhost")), mode).await.map(drop).unwrap_err();
    assert!(matches!(&error, StoreError::Database { failure, .. } if *failure == expected), "{error:?}");
    assert_eq!(error.kind(), kind);
    assert!(error.hint().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_not_write_is_refused_before_any_call() {
    let Some(world) = World::on_postgres().await else { return };
    let schema = world.url().server().unwrap().schema().clone();
    let reader = role(&world, "").await;
    world
        .tampered(&format!(
            "grant usage on schema {schema} to {reader}; grant select on all tables in schema {schema} to {reader}"
        ))
        .await;
    refused(&world, &reader, OpenMode::OpenExisting, DatabaseFailure::RightMissing, StoreErrorKind::NeedsDecision).await;
    let reading = open(&by(world.url(), &format!("{reader}@localhost")), OpenMode::ReadOnly).await.unwrap();
    assert_eq!(reading.last_checked().await.unwrap(), None);
    let read_only = role(&world, "superuser").await;
    world.tampered(&format!("alter role {read_only} set default_transaction_read_only to on")).await;
    refused(&world, &read_only, OpenMode::OpenExisting, DatabaseFailure::ServerReadOnly, StoreErrorKind::Unreachable).await;
    let nobody = "nobody_is_called_so";
    refused(&world, nobody, OpenMode::ReadOnly, DatabaseFailure::LoginRefused, StoreErrorKind::NeedsDecision).await;
}

/// A role that may write what is in the tables, and neither make nor alter any.
async fn collector(world: &World, rights: &str) -> String {
    let (role, schema) = (role(world, rights).await, world.url().server().unwrap().schema().clone());
    let grant = "grant select, insert, update, delete on all tables in schema";
    world.tampered(&format!("grant usage on schema {schema} to {role}; {grant} {schema} to {role}")).await;
    role
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_not_alter_tables_collects_into_those_that_are_there() {
    let Some(world) = World::on_postgres().await else { return };
    let role = collector(&world, "").await;
    let store = open(&by(world.url(), &format!("{role}@localhost")), OpenMode::OpenExisting).await.unwrap();
    let mut definition = dataset(DATASET);
    let now = jiff::Timestamp::UNIX_EPOCH;
    store.declare(&definition, now).await.unwrap();
    definition.columns[0].label = Some("another".to_owned());
    let error = store.declare(&definition, now).await.unwrap_err();
    assert!(matches!(&error, StoreError::Database { failure: DatabaseFailure::RightMissing, .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("store migrate"));
    // Nothing is left half done, and the writer goes on.
    store.declare(&dataset(DATASET), now).await.unwrap();
    store.prune_attempts(now).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_connections_are_waited_for_and_then_told() {
    let Some(world) = World::on_postgres().await else { return };
    let role = collector(&world, "connection limit 1").await;
    let place = by(world.url(), &format!("{role}@localhost"));
    let first = open(&place, OpenMode::OpenExisting).await.unwrap();
    refused(&world, &role, OpenMode::OpenExisting, DatabaseFailure::ServerBusy, StoreErrorKind::Unreachable).await;
    let (second, ()) = tokio::join!(open(&place, OpenMode::OpenExisting), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        first.close().await;
    });
    second.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_ended_for_its_time_is_done_again_and_then_told() {
    let Some(world) = World::on_postgres().await else { return };
    let role = role(&world, "superuser").await;
    world.tampered(&format!("alter role {role} set statement_timeout to '200ms'")).await;
    let hasty = open(&by(world.url(), &format!("{role}@localhost")), OpenMode::OpenExisting).await.unwrap();
    let schema = world.url().server().unwrap().schema().clone();
    let class = i32::from_be_bytes(*b"gapl");
    // Another holds the store for a while: waiting for it takes longer than a statement may.
    let hold =
        |seconds: f64| format!("begin; select pg_advisory_xact_lock({class}, hashtext('{schema}')), pg_sleep({seconds}); commit");
    let prune = async || {
        tokio::time::sleep(Duration::from_millis(100)).await;
        hasty.prune_attempts(jiff::Timestamp::UNIX_EPOCH).await
    };
    let (short, long) = (hold(0.6), hold(3.0));
    let ((), pruned) = tokio::join!(world.tampered(&short), prune());
    assert_eq!(pruned.unwrap(), 0);
    let ((), pruned) = tokio::join!(world.tampered(&long), prune());
    let error = pruned.unwrap_err();
    assert!(matches!(&error, StoreError::Database { failure: DatabaseFailure::ServerBusy, .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_is_told_in_the_time_it_has() {
    assert_eq!(PATIENCE, Duration::from_secs(60));
    let Some(own) = server::Server::start(None) else { return };
    let url: StoreUrl = own.url.parse().unwrap();
    let store = open(&url, OpenMode::Create).await.unwrap();
    own.stop();
    let began = Instant::now();
    let share = Share { provider: Name::literal("data_go_kr"), key_id: "key".to_owned(), run: RunId(1) };
    let order = SlotOrder { count: 1, interval: SOON, margin: Duration::ZERO, canary: None };
    let clock: Clock = Arc::new(|| 0);
    for failed in [
        store.prune_attempts(jiff::Timestamp::UNIX_EPOCH).await.map(drop),
        store.salt().await.map(drop),
        store.limits().unwrap().reserve(&share, order, &clock).await.map(drop),
    ] {
        let error = failed.unwrap_err();
        assert!(matches!(&error, StoreError::Database { failure: DatabaseFailure::ServerAway, .. }), "{error:?}");
        assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    }
    let took = began.elapsed();
    assert!(took >= SOON && took < SOON * 5, "{took:?}");
    let (lost, again) = tokio::join!(store.prune_attempts(jiff::Timestamp::UNIX_EPOCH), async {
        tokio::task::block_in_place(|| own.start_again());
    });
    assert_eq!((lost.unwrap(), again), (0, ()));
    // A server that is not there when it is first asked for is no reason to wait.
    own.stop();
    let began = Instant::now();
    open(&url, OpenMode::OpenExisting).await.map(drop).unwrap_err();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_transactions_of_the_rules_are_one_after_the_other() {
    let Some(world) = World::on_postgres().await else { return };
    let neighbours = [world.neighbour().await, world.neighbour().await];
    let reserving = neighbours.map(|store| {
        tokio::spawn(async move {
            let (dataset, mut granted) = (Name::literal("apt_trade"), 0);
            for _ in 0..200 {
                granted += store.reserve_calls(&dataset, "key", "2026-11-29".parse().unwrap(), 1, 300).await.unwrap();
            }
            granted
        })
    });
    let mut granted = 0;
    for reserved in reserving {
        granted += reserved.await.unwrap();
    }
    assert_eq!(granted, 300, "no day has more than its limit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_in_a_session_of_the_server() {
    let Some(mut world) = World::on_postgres().await else { return };
    world.collected(SEOUL, &["a"], crate::model::verdict::Verdict::Complete).await;
    let Engine::Postgres(store) = &world.store.engine else { unreachable!("it is on PostgreSQL") };
    let writer = store.writer.as_ref().unwrap().lock().await;
    let sql = "select (select count(*) from pg_prepared_statements), current_setting('search_path'),
        (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()), current_setting('lock_timeout')";
    let answer = writer.link.as_ref().unwrap().ask(Order::Script(sql.to_owned())).unwrap();
    let Some(ToldLine(left)) = ToldLine::of(&answer.rows[0]) else { panic!("four values are told") };
    let text = |text: &str| Told::Text(text.to_owned());
    assert_eq!(left, [Told::Integer(0), text("\"$user\", public"), Told::Integer(0), text("0")]);
}
