//! Several hosts on one store.

use std::time::Duration;

use crate::model::job::ReadNumber;
use crate::model::verdict::Verdict;
use crate::store::error::{StoreError, StoreErrorKind};
use crate::store::job::{Claim, Elsewhere, Planned};
use crate::store::stories::world::{World, apartments_page, end};

const SEOUL: &str = "11110,2024-01";
const BUSAN: &str = "26110,2024-01";
const LONG: Duration = Duration::from_secs(60);

async fn elsewhere(world: &mut World, partition: &str, planned: Planned) -> Elsewhere {
    match world.claim(partition, planned).await.unwrap() {
        Claim::Elsewhere(elsewhere) => elsewhere,
        Claim::Started(started) => panic!("job {} is ours", started.job.id()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_host_is_at_is_left_alone_by_the_others() {
    let Some(mut here) = World::on_postgres().await else { return };
    let mut there = here.second_host(LONG).await;
    let job = here.start(SEOUL).await;
    assert_eq!(elsewhere(&mut there, SEOUL, Planned::After(None)).await, Elsewhere::InWork { run: here.run });
    there.start(BUSAN).await;
    assert_eq!(elsewhere(&mut here, BUSAN, Planned::Anyhow).await, Elsewhere::InWork { run: there.run });
    here.page(&job, 1, 1, &apartments_page(&["a"])).await;
    here.end(&job, Verdict::Complete, 1).await;
    // The plan of the other host was made before it ended, so what is done is not done again.
    let done = Elsewhere::Done { verdict: Verdict::Complete, why: None, promised: Some(1), received: 1 };
    assert_eq!(elsewhere(&mut there, SEOUL, Planned::After(None)).await, done);
    // A plan that knows of it wants it read again.
    let started = there.claim(SEOUL, Planned::After(Some(job.id()))).await.unwrap().started().unwrap();
    assert_ne!(started.job.id(), job.id());

    // What a host had no time for is not done.
    let job = here.start("27110,2024-01").await;
    here.end(&job, Verdict::Deferred, 0).await;
    there.claim("27110,2024-01", Planned::After(None)).await.unwrap().started().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_whose_lease_is_over_can_change_nothing_and_another_goes_on() {
    let Some(mut late) = World::on_postgres().await else { return };
    let job = late.start(SEOUL).await;
    late.page(&job, 1, 1, &apartments_page(&["a"])).await;
    let mut other = late.second_host(LONG).await;
    late.tampered("update lease set lease_until = clock_timestamp() where run = 1").await;
    let before = other.select("select * from job").await;
    let is_over = |result: Result<(), StoreError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::LeaseOver { .. }), "{error}");
        assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        assert!(error.hint().unwrap().contains("store.lease"));
    };
    // Even before anybody else took it.
    is_over(late.try_page(&job, 1, 2, &apartments_page(&["late"])).await);
    let started = other.claim(SEOUL, Planned::Anyhow).await.unwrap().started().unwrap();
    assert_eq!((started.job.id(), started.stored.len()), (job.id(), 1));
    is_over(late.try_page(&job, 1, 2, &apartments_page(&["late"])).await);
    is_over(late.store.open_read(&job, ReadNumber(2)).await);
    let now = late.now();
    is_over(late.store.end_job(end(&job, Verdict::Complete, 1, now)).await.map(drop));
    is_over(late.store.end_run(late.run, 0, now).await);
    is_over(late.claim(BUSAN, Planned::Anyhow).await.map(drop));
    assert_ne!(other.select("select * from job").await, before, "the other host has claimed it");
    other.page(&started.job, 1, 2, &apartments_page(&["b"])).await;
    other.end(&started.job, Verdict::Complete, 2).await;
    other.assert_select("select apt from apt_trade order by apt", &["a", "b"]).await;
    assert_eq!(other.store.audit().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_its_host_lives_and_never_once_it_is_over() {
    let Some(first) = World::on_postgres().await else { return };
    let lease = Duration::from_millis(900);
    let mut host = first.second_host(lease).await;
    tokio::time::sleep(lease * 2).await;
    host.start(SEOUL).await;
    let left = "select lease_until > clock_timestamp() from lease where run = 2";
    first.assert_select(left, &["1"]).await;
    first.tampered("update lease set lease_until = clock_timestamp() where run = 2").await;
    tokio::time::sleep(lease).await;
    first.assert_select(left, &["0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_ended_holds_nothing() {
    let Some(mut here) = World::on_postgres().await else { return };
    let mut there = here.second_host(LONG).await;
    let job = here.start(SEOUL).await;
    let now = here.now();
    here.store.end_run(here.run, 0, now).await.unwrap();
    assert_eq!(there.select("select run from lease").await, ["2"]);
    let started = there.claim(SEOUL, Planned::Anyhow).await.unwrap().started().unwrap();
    assert_eq!(started.job.id(), job.id());
}
