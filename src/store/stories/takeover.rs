use jiff::SignedDuration;

use super::stories;
use super::world::{World, apartments_page, dataset, end};
use crate::model::job::{PageNumber, ReadNumber};
use crate::model::page::Page;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::job::StoredPageFacts;

const SEOUL: &str = "11110,2024-01";

stories![
    what_a_killed_run_left_is_gone_on_with_as_the_same_job,
    a_killed_run_is_told_only_of_the_read_that_was_open,
    pages_that_came_side_by_side_are_told_with_their_holes,
    what_was_left_is_lost_when_its_oldest_page_is_too_old,
    what_was_left_under_another_definition_is_lost,
    a_worker_that_was_replaced_can_change_nothing,
    a_worker_whose_job_was_lost_can_change_nothing,
];

fn facts(number: u32, page: &Page) -> StoredPageFacts {
    StoredPageFacts {
        number: PageNumber(number),
        rows: page.rows(),
        total: page.total,
        digest: page.digest(),
        row_hashes: page.row_hashes.to_vec(),
    }
}

async fn what_a_killed_run_left_is_gone_on_with_as_the_same_job(mut world: World) {
    world.collected(SEOUL, &["good"], Verdict::Complete).await;
    let dead = world.start(SEOUL).await;
    let (first, second) = (apartments_page(&["b", "a"]), apartments_page(&["d", "c", "c"]));
    world.page(&dead, 1, 1, &first).await;
    world.page(&dead, 1, 2, &second).await;
    let mut world = world.killed_and_begun_again().await;
    world.store.check().await.unwrap();
    world.assert_select("select apt from apt_trade", &["good"]).await;

    let started = world.try_start(SEOUL).await.unwrap();
    assert_eq!((started.job.id(), started.read), (dead.id(), ReadNumber::FIRST));
    assert_eq!(started.stored, [facts(1, &first), facts(2, &second)]);
    world.assert_select("select id, run, state, claims from job", &["1|1|ended|1", "2|2|running|2"]).await;

    world.page(&started.job, 1, 3, &apartments_page(&["e"])).await;
    world.end(&started.job, Verdict::Complete, 6).await;
    world.assert_select("select apt from apt_trade order by apt", &["a", "b", "c", "c", "d", "e"]).await;
}

async fn a_killed_run_is_told_only_of_the_read_that_was_open(mut world: World) {
    let dead = world.start(SEOUL).await;
    world.page(&dead, 1, 1, &apartments_page(&["old"])).await;
    world.store.open_read(&dead, ReadNumber(2)).await.unwrap();
    let mut world = world.killed_and_begun_again().await;
    let started = world.try_start(SEOUL).await.unwrap();
    assert_eq!((started.job.id(), started.read, started.stored), (dead.id(), ReadNumber(2), Vec::new()));

    let new = apartments_page(&["new"]);
    world.page(&started.job, 2, 1, &new).await;
    let mut world = world.killed_and_begun_again().await;
    let started = world.try_start(SEOUL).await.unwrap();
    assert_eq!((started.read, started.stored), (ReadNumber(2), vec![facts(1, &new)]));
    world.assert_select("select claims from job", &["3"]).await;
}

async fn pages_that_came_side_by_side_are_told_with_their_holes(mut world: World) {
    let dead = world.start(SEOUL).await;
    for number in [4, 1, 2] {
        world.page(&dead, 1, number, &apartments_page(&["a"])).await;
    }
    let mut world = world.killed_and_begun_again().await;
    let stored = world.try_start(SEOUL).await.unwrap().stored;
    assert_eq!(stored.iter().map(|page| page.number.0).collect::<Vec<_>>(), [1, 2, 4]);
}

async fn what_was_left_is_lost_when_its_oldest_page_is_too_old(mut world: World) {
    let dead = world.start(SEOUL).await;
    world.page(&dead, 1, 1, &apartments_page(&["old"])).await;
    world.after(SignedDuration::from_hours(5));
    world.page(&dead, 1, 2, &apartments_page(&["young"])).await;
    let mut world = world.killed_and_begun_again().await;
    world.after(SignedDuration::from_hours(1));
    let started = world.try_start(SEOUL).await.unwrap();
    assert!(started.job.id() > dead.id());
    assert_eq!(started.stored, []);
    let lost = "1|ended|lost|run 1 ended without ending it, and what it stored is older than 6h";
    world.assert_select("select run, state, verdict, why from job order by id", &[lost, "2|running|NULL|NULL"]).await;
    world.assert_select("select count(*) from apt_trade_rows", &["0"]).await;
    world.assert_select("select count(*) from body", &["0"]).await;
    // History stays.
    world.assert_select("select count(*) from page", &["2"]).await;
    world.assert_select("select count(*) from attempt", &["2"]).await;
}

async fn what_was_left_under_another_definition_is_lost(mut world: World) {
    let dead = world.start(SEOUL).await;
    world.page(&dead, 1, 1, &apartments_page(&["a"])).await;
    let mut world = world.killed_and_begun_again().await;
    let mut changed = dataset(super::world::DATASET);
    changed.columns[0].aliases.push("apt_name".to_owned());
    world.declared = world.store.declare(&changed, jiff::Timestamp::UNIX_EPOCH).await.unwrap();
    let started = world.try_start(SEOUL).await.unwrap();
    assert!(started.job.id() > dead.id());
    let lost = "run 1 ended without ending it, and its definition has changed since";
    world.assert_select("select why from job where verdict = 'lost'", &[lost]).await;
}

async fn a_worker_that_was_replaced_can_change_nothing(mut world: World) {
    let late = world.start(SEOUL).await;
    world.page(&late, 1, 1, &apartments_page(&["a"])).await;
    let mut world = world.killed_and_begun_again().await;
    let owner = world.start(SEOUL).await;
    assert_eq!(owner.id(), late.id());
    assert_replaced(&mut world, &late).await;
    world.assert_select("select state, read, claims from job", &["running|1|2"]).await;

    world.page(&owner, 1, 2, &apartments_page(&["b"])).await;
    world.end(&owner, Verdict::Complete, 2).await;
    assert_replaced(&mut world, &late).await;
    world.assert_select("select apt from apt_trade order by apt", &["a", "b"]).await;
}

async fn a_worker_whose_job_was_lost_can_change_nothing(mut world: World) {
    let late = world.start(SEOUL).await;
    let mut world = world.killed_and_begun_again().await;
    world.after(SignedDuration::from_hours(7));
    world.start(SEOUL).await;
    assert_replaced(&mut world, &late).await;
    world.assert_select("select state from job order by id", &["ended", "running"]).await;
}

/// Whatever `late` writes is refused and leaves no trace.
async fn assert_replaced(world: &mut World, late: &crate::store::job::Job) {
    const ALL: [&str; 5] = [
        "select * from job order by id",
        "select * from page order by job, read, number",
        "select _job, _page, apt from apt_trade_rows order by _job, _page, _ordinal",
        "select job, read, page from body order by job, read, page",
        "select * from attempt order by id",
    ];
    let mut before = Vec::new();
    for sql in ALL {
        before.push(world.select(sql).await);
    }
    let is_replaced = |result: Result<(), StoreError>| match result {
        Err(StoreError::Replaced { job }) => assert_eq!(job, late.id()),
        other => panic!("{other:?}"),
    };
    is_replaced(world.try_page(late, 1, 7, &apartments_page(&["late"])).await);
    is_replaced(world.store.open_read(late, ReadNumber(2)).await);
    for verdict in Verdict::ALL {
        let end = end(late, verdict, 1, world.now());
        is_replaced(world.store.end_job(end).await.map(drop));
    }
    for (sql, before) in ALL.into_iter().zip(before) {
        assert_eq!(world.select(sql).await, before, "{sql}");
    }
}
