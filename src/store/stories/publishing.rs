use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::stories;
use super::world::{World, apartments_page, end, partition_of, select};
use crate::model::job::ReadNumber;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::job::{JobEnd, Settled, Superseded};

const SEOUL: &str = "11110,2024-01";
const VISIBLE: &str = "select apt from apt_trade order by apt";
const BODIES: &str = "select count(*) from body";

stories![
    a_reader_sees_the_old_snapshot_or_the_new_one,
    no_reader_ever_sees_a_mix_while_snapshots_follow_each_other,
    a_job_that_is_not_whole_never_touches_what_is_published,
    unchanged_content_only_moves_the_time_of_the_check,
    the_same_content_under_another_definition_is_published_anew,
    publishing_takes_the_superseded_rows_and_bodies_away,
    superseded_snapshots_are_kept_where_that_is_asked_for,
    what_failed_jobs_left_goes_with_the_next_end,
    a_held_snapshot_stays_until_something_is_published,
    a_snapshot_with_a_row_missing_is_not_published,
    only_the_read_that_counts_is_published,
    an_empty_partition_is_published_as_empty,
    published_hashes_are_the_sorted_multiset,
];

async fn a_reader_sees_the_old_snapshot_or_the_new_one(mut world: World) {
    world.collected(SEOUL, &["old 1", "old 2"], Verdict::Complete).await;
    let reader = world.reader().await;
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["new 1"])).await;
    assert_eq!(select(&reader, VISIBLE).await, ["old 1", "old 2"]);
    world.page(&job, 1, 2, &apartments_page(&["new 2", "new 3"])).await;
    assert_eq!(select(&reader, VISIBLE).await, ["old 1", "old 2"]);
    assert_eq!(world.end(&job, Verdict::Complete, 3).await, Settled::Published { superseded_rows: 2 });
    assert_eq!(select(&reader, VISIBLE).await, ["new 1", "new 2", "new 3"]);
}

async fn no_reader_ever_sees_a_mix_while_snapshots_follow_each_other(mut world: World) {
    const SNAPSHOTS: [[&str; 3]; 2] = [["even 1", "even 2", "even 3"], ["odd 1", "odd 2", "odd 3"]];
    world.collected(SEOUL, &SNAPSHOTS[1], Verdict::Complete).await;
    let reader = world.reader().await;
    let told = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
    let reading = tokio::spawn({
        let told = Arc::clone(&told);
        async move {
            let (has_seen_both, is_over) = &*told;
            let mut seen = [false, false];
            while !is_over.load(Relaxed) {
                let rows = select(&reader, VISIBLE).await;
                let snapshot = SNAPSHOTS.iter().position(|snapshot| rows == *snapshot);
                seen[snapshot.unwrap_or_else(|| panic!("a mix: {rows:?}"))] = true;
                has_seen_both.store(seen == [true, true], Relaxed);
            }
        }
    });
    let (has_seen_both, is_over) = &*told;
    let mut round = 0;
    while round < 40 || !(has_seen_both.load(Relaxed) || reading.is_finished()) {
        world.collected(SEOUL, &SNAPSHOTS[round % 2], Verdict::Complete).await;
        round += 1;
    }
    is_over.store(true, Relaxed);
    reading.await.unwrap();
}

async fn a_job_that_is_not_whole_never_touches_what_is_published(mut world: World) {
    world.collected(SEOUL, &["good"], Verdict::Complete).await;
    let before = world.select("select * from partition").await;
    for verdict in Verdict::ALL.into_iter().filter(|verdict| !verdict.is_published()) {
        let (_, settled) = world.collected(SEOUL, &["bad"], verdict).await;
        assert_eq!(settled, Settled::Kept, "{verdict}");
        world.assert_select(VISIBLE, &["good"]).await;
        assert_eq!(world.select("select * from partition").await, before, "{verdict}");
        world.assert_select("select verdict, rows, why from coverage", &[&format!("{verdict}|1|told by the story")]).await;
    }
}

async fn unchanged_content_only_moves_the_time_of_the_check(mut world: World) {
    let (first, _) = world.collected(SEOUL, &["a", "b", "b"], Verdict::Complete).await;
    let (second, settled) = world.collected(SEOUL, &["b", "a", "b"], Verdict::Complete).await;
    assert_eq!(settled, Settled::Unchanged);
    world.assert_select("select distinct _job from apt_trade_rows", &[&first.id().to_string()]).await;
    world.assert_select("select distinct job from body", &[&first.id().to_string()]).await;
    let state = world.store.states(first.declared().id()).await.unwrap().remove(0);
    assert_eq!(state.published.as_ref().map(|snapshot| (snapshot.job, snapshot.rows, snapshot.pages)), Some((first.id(), 3, 1)));
    assert_eq!(state.last.as_ref().map(|last| (last.job, last.verdict)), Some((second.id(), Verdict::Complete)));
    assert!(state.checked_at > state.changed_at);
    // The same rows in other numbers are other content.
    let (_, settled) = world.collected(SEOUL, &["b", "a", "a"], Verdict::Complete).await;
    assert_eq!(settled, Settled::Published { superseded_rows: 3 });
}

async fn the_same_content_under_another_definition_is_published_anew(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let mut dataset = super::world::dataset(super::world::DATASET);
    dataset.columns[0].aliases.push("apt_name".to_owned());
    world.declared = world.store.declare(&dataset, jiff::Timestamp::UNIX_EPOCH).await.unwrap();
    let (_, settled) = world.collected(SEOUL, &["a"], Verdict::Complete).await;
    assert_eq!(settled, Settled::Published { superseded_rows: 1 });
}

async fn publishing_takes_the_superseded_rows_and_bodies_away(mut world: World) {
    world.collected(SEOUL, &["old"], Verdict::Complete).await;
    world.collected("11680,2024-01", &["elsewhere"], Verdict::Complete).await;
    world.collected(SEOUL, &["new"], Verdict::Unverified).await;
    world.assert_select("select apt from apt_trade_rows order by apt", &["elsewhere", "new"]).await;
    world.assert_select(BODIES, &["2"]).await;
    world.assert_select("select count(*) from page", &["3"]).await;
    world.assert_select("select verdict from job order by id", &["complete", "complete", "unverified"]).await;
}

async fn superseded_snapshots_are_kept_where_that_is_asked_for(mut world: World) {
    world.collected(SEOUL, &["old"], Verdict::Complete).await;
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["new"])).await;
    let end = JobEnd { superseded: Superseded::Kept, ..end(&job, Verdict::Complete, 1, world.now()) };
    assert_eq!(world.store.end_job(end).await.unwrap().settled, Settled::Published { superseded_rows: 0 });
    world.assert_select(VISIBLE, &["new"]).await;
    world.assert_select("select count(*) from apt_trade_rows", &["2"]).await;
}

async fn what_failed_jobs_left_goes_with_the_next_end(mut world: World) {
    world.collected(SEOUL, &["good"], Verdict::Complete).await;
    world.collected(SEOUL, &["bad"], Verdict::Short).await;
    world.assert_select("select apt from apt_trade_rows order by _job", &["good", "bad"]).await;
    world.collected(SEOUL, &["worse"], Verdict::Failed).await;
    world.assert_select("select apt from apt_trade_rows order by _job", &["good", "worse"]).await;
    world.assert_select(BODIES, &["2"]).await;
    world.collected(SEOUL, &["good"], Verdict::Complete).await;
    world.assert_select("select apt from apt_trade_rows order by _job", &["good"]).await;
    world.assert_select(BODIES, &["1"]).await;
}

async fn a_held_snapshot_stays_until_something_is_published(mut world: World) {
    world.collected(SEOUL, &["good"], Verdict::Complete).await;
    world.collected(SEOUL, &["fewer"], Verdict::Held).await;
    world.collected(SEOUL, &["bad"], Verdict::Failed).await;
    world.assert_select("select apt from apt_trade_rows order by _job", &["good", "fewer", "bad"]).await;
    world.collected(SEOUL, &["better"], Verdict::Complete).await;
    world.assert_select("select apt from apt_trade_rows order by _job", &["better"]).await;
}

async fn a_snapshot_with_a_row_missing_is_not_published(mut world: World) {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["a", "b"])).await;
    let end = end(&job, Verdict::Complete, 3, world.now());
    let error = world.store.end_job(end).await.unwrap_err();
    assert!(matches!(error, StoreError::Miscounted { received: 3, stored: 2, .. }), "{error}");
    world.assert_select(VISIBLE, &[]).await;
    world.assert_select("select state from job", &["running"]).await;
}

async fn only_the_read_that_counts_is_published(mut world: World) {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["first read"])).await;
    let error = world.try_page(&job, 2, 1, &apartments_page(&["not opened yet"])).await.unwrap_err();
    assert!(matches!(error, StoreError::OtherRead { read: ReadNumber(2), open: ReadNumber(1), .. }), "{error}");
    world.store.open_read(&job, ReadNumber(2)).await.unwrap();
    world.page(&job, 2, 1, &apartments_page(&["second read"])).await;
    let end = JobEnd { read: ReadNumber(2), ..end(&job, Verdict::Complete, 1, world.now()) };
    world.store.end_job(end).await.unwrap();
    world.assert_select(VISIBLE, &["second read"]).await;
    world.assert_select("select read from page", &["2"]).await;
    world.assert_select(BODIES, &["1"]).await;
}

async fn an_empty_partition_is_published_as_empty(mut world: World) {
    let (_, settled) = world.collected(SEOUL, &[], Verdict::Empty).await;
    assert_eq!(settled, Settled::Published { superseded_rows: 0 });
    let (_, settled) = world.collected(SEOUL, &[], Verdict::Empty).await;
    assert_eq!(settled, Settled::Unchanged);
    world
        .assert_select(
            "select dataset, partition, region, month, verdict, rows, promised, distinct_rows, why from coverage",
            &["apt_trade|region=11110,month=2024-01|11110|2024-01|empty|0|0|0|NULL"],
        )
        .await;
}

async fn published_hashes_are_the_sorted_multiset(mut world: World) {
    let partition = partition_of(SEOUL);
    assert_eq!(world.store.published_hashes(&world.declared, &partition).await.unwrap(), []);
    let apartments = ["c", "a", "a", "b"];
    world.collected(SEOUL, &apartments, Verdict::Complete).await;
    world.collected("11680,2024-01", &["elsewhere"], Verdict::Complete).await;
    world.collected(SEOUL, &["not published"], Verdict::Failed).await;
    let mut expected = apartments_page(&apartments).row_hashes.to_vec();
    expected.sort();
    assert_eq!(world.store.published_hashes(&world.declared, &partition).await.unwrap(), expected);
}
