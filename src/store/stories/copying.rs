//! A store that is carried over to the other engine.

use jiff::SignedDuration;

use super::stories;
use super::world::{World, apartments_page, attempt, partition_of, regions, select};
use crate::model::breaker::BreakerState;
use crate::model::job::ReadNumber;
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::ledger::carry;
use crate::store::state::BreakerChange;
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

const SEOUL: &str = "11110,2024-01";

/// All that must be the same on both sides.
const SAME: [&str; 11] = [
    "select * from dataset order by id",
    "select * from declared_column order by dataset, position",
    "select * from region order by list, code",
    "select * from reform order by list, code",
    "select * from api_state order by dataset, key_id",
    "select * from run order by id",
    "select id, dataset, key, region, month, published_job, published_at, waiting_job, replaced_job, replaced_at, checked_at,
     changed_at from partition order by id",
    "select * from job order by id",
    "select * from attempt order by id",
    "select * from breaker_change order by id",
    "select region, month, apt, amount, area, dealt_on, detail, _unparsed, _extra, _row_hash, _job, _read, _page, _ordinal
     from apt_trade_rows order by _job, _read, _page, _ordinal",
];

stories![
    a_copy_is_the_same_on_the_other_engine,
    a_copy_that_was_broken_off_goes_on_and_is_not_collected_into,
    a_copy_begins_anew_where_the_store_was_written_to_since_it_was_broken_off,
    a_copy_takes_no_place_that_is_used_and_tells_what_differs,
];

/// A store with everything in it, whose run has ended.
async fn full(world: &mut World) {
    world.collected(SEOUL, &["a", "b", "b"], Verdict::Complete).await;
    world.held(SEOUL, &["a"], "2026-11-29").await;
    world.collected("11680,2024-01", &[], Verdict::Empty).await;
    world.collected("11680,2024-02", &["failed"], Verdict::Failed).await;
    world.collected("1,2024-01", &["old"], Verdict::Complete).await;
    let now = world.now();
    let reform = "1,A,B,,2026-07-01,retired,2 3\n2,A,C,2026-07-01,,leaf,\n3,A,D,2026-07-01,,leaf,\n";
    world.store.declare_regions(&regions(reform), now).await.unwrap();
    world.collected("2,2024-01", &["new"], Verdict::Complete).await;
    let open = world.start("11680,2024-03").await;
    world.store.open_read(&open, ReadNumber(2)).await.unwrap();
    world.page(&open, 2, 1, &apartments_page(&["half"])).await;
    world.store.record_attempts(&[attempt(&open, 2, 2, 1, Outcome::Retry)]).await.unwrap();
    let dataset = Name::literal("apt_trade");
    world.store.reserve_calls(&dataset, "key", "2026-11-29".parse().unwrap(), 7, 100).await.unwrap();
    world.store.block(&dataset, "key", now, "spent").await.unwrap();
    let (state, why) = (BreakerState::Open, "12 in a row".to_owned());
    let change =
        BreakerChange { dataset, key_id: "key".to_owned(), changed_at: now, state, open_until: Some(now), openings: 1, why };
    world.store.record_breaker(world.run, &change).await.unwrap();
    world.store.end_run(world.run, 3, now).await.unwrap();
}

async fn opened(url: &StoreUrl) -> Store {
    Store::open(url, OpenMode::Create).await.unwrap()
}

/// As a kill leaves a copy of `here`.
async fn mark_as_half_copied(here: &Store, url: &StoreUrl) {
    let fingerprint = here.engine.read(carry::fingerprint).await.unwrap();
    let hex: String = fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
    super::engines::tampered_at(url, &format!("insert into meta (name, value) values ('half_copied', x'{hex}')")).await;
}

async fn assert_same(here: &Store, there: &Store) {
    for sql in SAME {
        let lines = select(here, sql).await;
        assert!(!lines.is_empty(), "{sql}");
        assert_eq!(select(there, sql).await, lines, "{sql}");
    }
    assert_eq!(there.salt().await.unwrap(), here.salt().await.unwrap());
    assert_eq!(there.audit().await.unwrap(), []);
    let apartments = Name::literal("apt_trade");
    assert_eq!(there.states(&apartments).await.unwrap(), here.states(&apartments).await.unwrap());
}

async fn a_copy_is_the_same_on_the_other_engine(mut world: World) {
    let Some((_other, url)) = world.on_the_other_engine().await else { return };
    full(&mut world).await;
    let copy = opened(&url).await;
    let copied = world.store.copy_to(&copy).await.unwrap();
    assert_eq!((copied.compared, copied.there_before), (6, 0));
    assert_same(&world.store, &copy).await;
    // Bodies come with it, and the numbers of what is new go on.
    let mut kept = copy.kept_pages(&world.declared, &partition_of(SEOUL)).await.unwrap().unwrap();
    assert!(kept.next().await.unwrap().unwrap().body.is_some());
    let lock = copy.try_lock("a test").unwrap();
    let run = copy.begin_run(&lock, "collect", "0.1.0", world.now()).await.unwrap();
    assert_eq!(run.0, world.run.0 + 1);
}

async fn a_copy_that_was_broken_off_goes_on_and_is_not_collected_into(mut world: World) {
    let Some((_other, url)) = world.on_the_other_engine().await else { return };
    full(&mut world).await;
    let copy = opened(&url).await;
    world.store.copy_to(&copy).await.unwrap();
    // As a kill leaves it: the end is missing of everything that goes piece by piece.
    let missing = "update partition set published_job = null, waiting_job = null, replaced_job = null; \
        delete from apt_trade_rows where _job > 4; delete from page where job > 4; delete from body where job > 4; \
        delete from attempt where id > 3; delete from decision; delete from breaker_change";
    super::engines::tampered_at(&url, missing).await;
    mark_as_half_copied(&world.store, &url).await;
    let lock = copy.try_lock("a test").unwrap();
    let error = copy.begin_run(&lock, "collect", "0.1.0", world.now()).await.unwrap_err();
    assert!(matches!(error, StoreError::HalfCopied { .. }), "{error}");
    let copied = world.store.copy_to(&copy).await.unwrap();
    assert!(copied.there_before > 0 && copied.there_before < copied.compared, "{copied:?}");
    assert_same(&world.store, &copy).await;
    copy.begin_run(&lock, "collect", "0.1.0", world.now()).await.unwrap();
}

async fn a_copy_begins_anew_where_the_store_was_written_to_since_it_was_broken_off(mut world: World) {
    let Some((_other, url)) = world.on_the_other_engine().await else { return };
    full(&mut world).await;
    let copy = opened(&url).await;
    world.store.copy_to(&copy).await.unwrap();
    // As a kill leaves it before the end of the last piece.
    mark_as_half_copied(&world.store, &url).await;
    super::engines::tampered_at(&url, "delete from page where job = 1; delete from apt_trade_rows where _job = 1").await;
    // A night: rows that changed and so went, others that were read again, calls of today.
    let mut world = world.killed_and_begun_again().await;
    world.collected(SEOUL, &["a", "b", "c"], Verdict::Complete).await;
    world.collected("2,2024-01", &["new"], Verdict::Complete).await;
    world.store.reserve_calls(&Name::literal("apt_trade"), "key", "2026-11-29".parse().unwrap(), 9, 100).await.unwrap();
    let now = world.now();
    world.store.end_run(world.run, 0, now).await.unwrap();
    let copied = world.store.copy_to(&copy).await.unwrap();
    assert_eq!(copied.there_before, 0);
    assert_same(&world.store, &copy).await;
}

async fn a_copy_takes_no_place_that_is_used_and_tells_what_differs(mut world: World) {
    let Some((other, url)) = world.on_the_other_engine().await else { return };
    let error = other.store.copy_to(&opened(&url).await).await.map(drop);
    let is_at_work = matches!(error, Err(StoreError::RunAtWork { .. }));
    assert_eq!(is_at_work, other.url().server().is_some(), "a run of a file is dead without its lock: {error:?}");
    full(&mut world).await;
    world.after(SignedDuration::from_secs(1));
    let error = world.store.copy_to(&other.store).await.unwrap_err();
    assert!(matches!(error, StoreError::NotEmpty), "{error}");

    let Some((_third, url)) = world.on_the_other_engine().await else { return };
    let copy = opened(&url).await;
    world.store.copy_to(&copy).await.unwrap();
    let error = world.store.copy_to(&copy).await.unwrap_err();
    assert!(matches!(error, StoreError::NotEmpty), "a copy that is whole is used: {error}");
    super::engines::tampered_at(&url, "update apt_trade_rows set apt = 'other' where apt = 'new'").await;
    mark_as_half_copied(&world.store, &url).await;
    let error = world.store.copy_to(&copy).await.unwrap_err();
    assert!(matches!(error, StoreError::CopyDiffers { .. }), "{error}");
    super::engines::tampered_at(
        &url,
        "update apt_trade_rows set apt = 'new' where apt = 'other'; update api_state set calls = 1",
    )
    .await;
    let error = world.store.copy_to(&copy).await.unwrap_err();
    assert!(matches!(error, StoreError::LedgerDiffers), "{error}");
    let lock = copy.try_lock("a test").unwrap();
    copy.begin_run(&lock, "collect", "0.1.0", world.now()).await.unwrap_err();
}
