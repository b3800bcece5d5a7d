use super::stories;
use super::world::{World, apartments_page, end};
use crate::model::job::ReadNumber;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;

const SEOUL: &str = "11110,2024-01";

stories![
    a_partition_never_has_two_live_jobs,
    a_new_read_drops_the_old_one,
    nothing_is_stored_for_a_job_that_has_ended,
    a_page_is_stored_as_a_whole_or_not_at_all,
];

async fn a_partition_never_has_two_live_jobs(mut world: World) {
    let job = world.start(SEOUL).await;
    let error = world.try_start(SEOUL).await.unwrap_err();
    assert!(matches!(&error, StoreError::JobRunning { job: running, .. } if *running == job.id()), "{error}");
    world.start("11680,2024-01").await;
    world.end(&job, Verdict::Failed, 0).await;
    world.start(SEOUL).await;
}

async fn a_new_read_drops_the_old_one(mut world: World) {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["old"])).await;
    world.store.open_read(&job, ReadNumber(2)).await.unwrap();
    world.assert_select("select count(*) from apt_trade_rows", &["0"]).await;
    world.assert_select("select count(*) from page", &["0"]).await;
    world.assert_select("select count(*) from body", &["0"]).await;
    world.assert_select("select read from job", &["2"]).await;
    world.assert_select("select count(*) from attempt", &["1"]).await;
    world.page(&job, 2, 1, &apartments_page(&["new"])).await;
    world.store.open_read(&job, ReadNumber(2)).await.unwrap();
    world.assert_select("select apt from apt_trade_rows", &["new"]).await;
}

async fn nothing_is_stored_for_a_job_that_has_ended(mut world: World) {
    let (job, _) = world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let is_over = |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::JobOver { .. })), "{result:?}");
    is_over(world.try_page(&job, 1, 2, &apartments_page(&["late"])).await);
    is_over(world.store.open_read(&job, ReadNumber(2)).await);
    let end = end(&job, Verdict::Failed, 0, world.now());
    is_over(world.store.end_job(end).await.map(drop));
    world.assert_select("select apt from apt_trade", &["a"]).await;
    world.assert_select("select verdict from job", &["complete"]).await;
}

async fn a_page_is_stored_as_a_whole_or_not_at_all(mut world: World) {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    // The same page again meets its own line in the ledger.
    world.try_page(&job, 1, 1, &apartments_page(&["a", "b"])).await.unwrap_err();
    world.assert_select("select count(*) from apt_trade_rows", &["1"]).await;
    world.assert_select("select count(*) from body", &["1"]).await;
    world.assert_select("select count(*) from attempt", &["1"]).await;
    // And a failed transaction leaves the writer able to write.
    world.page(&job, 1, 2, &apartments_page(&["b"])).await;
    world.end(&job, Verdict::Complete, 2).await;
    world.assert_select("select apt from apt_trade order by apt", &["a", "b"]).await;
}
