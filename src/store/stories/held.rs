use super::stories;
use super::world::{World, apartments_page, end, page, partition_of};
use crate::model::job::ReadNumber;
use crate::model::name::Name;
use crate::model::tree::NodeKind;
use crate::model::verdict::Verdict;
use crate::reconcile::guard::Suspicion;
use crate::store::error::StoreError;
use crate::store::job::{Decision, JobEnd, Settled, Superseded};

const SEOUL: &str = "11110,2024-01";
const VISIBLE: &str = "select apt from apt_trade order by apt";
const COVERAGE: &str = "select verdict, rows, held_rows, why from coverage";
const DECISIONS: &str = "select job, decided_at, who, why, held_why from decision";

stories![
    a_held_snapshot_is_published_by_a_person_and_leaves_a_trace,
    nothing_is_decided_where_nothing_is_held,
    a_newer_snapshot_settles_what_was_to_be_decided,
    a_failed_job_leaves_what_is_held_to_be_decided,
    the_same_rows_held_on_three_days_are_published_with_a_trace,
    other_rows_or_the_same_day_begin_no_new_day,
    zero_after_rows_always_needs_a_person,
    what_is_accepted_without_a_total_is_unverified,
    a_held_snapshot_with_a_row_missing_is_refused,
    what_is_suspicious_beside_the_published_snapshot_is_held_as_it_ends,
    a_column_is_missed_only_where_the_published_snapshot_had_values,
];

fn accept(world: &mut World) -> Decision<'static> {
    Decision::Accept { who: "kim", why: "the register was cleaned", superseded: Superseded::Removed, now: world.now() }
}

async fn decide(world: &mut World) -> Option<Settled> {
    let decision = accept(world);
    world.store.decide(&world.declared, &partition_of(SEOUL), decision).await.unwrap()
}

async fn a_held_snapshot_is_published_by_a_person_and_leaves_a_trace(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    let (_, settled) = world.held(SEOUL, &["a"], "2026-11-29").await;
    assert_eq!(settled, Settled::Kept);
    world.assert_select(VISIBLE, &["a", "b"]).await;
    world.assert_select(COVERAGE, &["held|2|1|told by the story"]).await;

    assert_eq!(decide(&mut world).await, Some(Settled::Published { superseded_rows: 2 }));
    world.assert_select(VISIBLE, &["a"]).await;
    world.assert_select(COVERAGE, &["complete|1|NULL|accepted by kim: the register was cleaned"]).await;
    let trace = "2|2026-11-29T18:00:07.000Z|kim|the register was cleaned|told by the story";
    world.assert_select(DECISIONS, &[trace]).await;
    assert_eq!(decide(&mut world).await, None);
    world.assert_select(DECISIONS, &[trace]).await;
}

async fn nothing_is_decided_where_nothing_is_held(mut world: World) {
    assert_eq!(decide(&mut world).await, None);
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    world.collected(SEOUL, &["b"], Verdict::Short).await;
    assert_eq!(decide(&mut world).await, None);
    world.assert_select(VISIBLE, &["a"]).await;
    world.assert_select(DECISIONS, &[]).await;
}

async fn a_newer_snapshot_settles_what_was_to_be_decided(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    world.held(SEOUL, &["a"], "2026-11-29").await;
    world.held(SEOUL, &["b"], "2026-11-29").await;
    world.assert_select("select apt from apt_trade_rows order by _job, apt", &["a", "b", "b"]).await;
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    assert_eq!(decide(&mut world).await, None);
    world.assert_select("select apt from apt_trade_rows order by _job, apt", &["a", "b"]).await;
    world.assert_select("select count(*) from body", &["1"]).await;

    world.held(SEOUL, &["a"], "2026-11-29").await;
    world.held(SEOUL, &["b"], "2026-11-29").await;
    decide(&mut world).await.unwrap();
    world.assert_select(VISIBLE, &["b"]).await;
    // What each was held for stays in the ledger.
    world.assert_select("select count(*) from job where verdict = 'held'", &["3"]).await;
}

async fn a_failed_job_leaves_what_is_held_to_be_decided(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    world.held(SEOUL, &["a"], "2026-11-29").await;
    world.collected(SEOUL, &["c"], Verdict::Failed).await;
    world.assert_select(COVERAGE, &["failed|2|1|told by the story"]).await;
    decide(&mut world).await.unwrap();
    world.assert_select(VISIBLE, &["a"]).await;
}

async fn the_same_rows_held_on_three_days_are_published_with_a_trace(mut world: World) {
    world.collected(SEOUL, &["a", "b", "c"], Verdict::Complete).await;
    for day in ["2026-11-29", "2026-11-30"] {
        let (_, settled) = world.held(SEOUL, &["a", "a"], day).await;
        assert_eq!(settled, Settled::Kept, "{day}");
        world.assert_select(VISIBLE, &["a", "b", "c"]).await;
    }
    let (job, settled) = world.held(SEOUL, &["a", "a"], "2026-12-07").await;
    assert_eq!(settled, Settled::Accepted { verdict: Verdict::Complete, superseded_rows: 3 });
    world.assert_select(VISIBLE, &["a", "a"]).await;
    world.assert_select(COVERAGE, &["complete|2|NULL|accepted by gapless: the same rows were read on 3 days"]).await;
    let trace = format!("{}|gapless|the same rows were read on 3 days|told by the story", job.id());
    world.assert_select("select job, who, why, held_why from decision", &[&trace]).await;
}

async fn other_rows_or_the_same_day_begin_no_new_day(mut world: World) {
    world.collected(SEOUL, &["a", "b", "c"], Verdict::Complete).await;
    let mut check = async |apartments: &[&str], day: &str, days: &str| {
        let (job, settled) = world.held(SEOUL, apartments, day).await;
        assert_eq!(settled, Settled::Kept, "{day}");
        world.assert_select(&format!("select held_days from job where id = {}", job.id()), &[days]).await;
    };
    check(&["a"], "2026-11-29", "1").await;
    check(&["a"], "2026-11-29", "1").await;
    check(&["a"], "2026-11-30", "2").await;
    check(&["a"], "2026-11-30", "2").await;
    // A clock set back.
    check(&["a"], "2026-11-29", "2").await;
    check(&["a"], "2026-11-30", "2").await;
    check(&["b"], "2026-12-01", "1").await;
    check(&["b"], "2026-12-02", "2").await;
    // Rows in other numbers are other rows.
    check(&["b", "b"], "2026-12-03", "1").await;
}

async fn zero_after_rows_always_needs_a_person(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    for day in 1..=5 {
        let (_, settled) = world.held(SEOUL, &[], &format!("2026-11-0{day}")).await;
        assert_eq!(settled, Settled::Kept);
    }
    world.assert_select(VISIBLE, &["a"]).await;
    assert_eq!(decide(&mut world).await, Some(Settled::Published { superseded_rows: 1 }));
    world.assert_select(VISIBLE, &[]).await;
    world.assert_select("select verdict, rows from coverage", &["empty|0"]).await;
}

async fn what_is_accepted_without_a_total_is_unverified(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Unverified).await;
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    let end = JobEnd { promised_last: None, ..end(&job, Verdict::Held, 1, world.now()) };
    world.store.end_job(end).await.unwrap();
    decide(&mut world).await.unwrap();
    world.assert_select("select verdict, rows from coverage", &["unverified|1"]).await;
}

async fn a_held_snapshot_with_a_row_missing_is_refused(mut world: World) {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    let end = end(&job, Verdict::Held, 2, world.now());
    let error = world.store.end_job(end).await.unwrap_err();
    assert!(matches!(error, StoreError::Miscounted { received: 2, stored: 1, .. }), "{error}");
}

async fn what_is_suspicious_beside_the_published_snapshot_is_held_as_it_ends(mut world: World) {
    const FEWER: Option<&str> = Some("1 of 5 rows came: more than 3 are missing");
    let mut months = 0;
    let mut check = async |before: &[&str], now: &[&str], why: Option<&str>| {
        months += 1;
        let partition = format!("11110,2020-{months:02}");
        world.collected(&partition, before, Verdict::Complete).await;
        let job = world.start(&partition).await;
        world.page(&job, 1, 1, &apartments_page(now)).await;
        let end = end(&job, Verdict::Complete, now.len() as u64, world.now());
        let ended = world.store.end_job(end).await.unwrap();
        let verdict = if why.is_some() { Verdict::Held } else { Verdict::Complete };
        assert_eq!((ended.verdict, ended.why.as_deref(), ended.suspicion.is_some()), (verdict, why, why.is_some()));
        assert_eq!(ended.settled == Settled::Kept, why.is_some(), "{:?}", ended.settled);
        let line = format!("{verdict}|{}", why.unwrap_or("NULL"));
        world.assert_select("select verdict, why from job order by id desc limit 1", &[&line]).await;
    };
    check(&["a", "b", "c", "d", "e"], &["f"], FEWER).await;
    check(&["a", "b", "c", "d", "e"], &["f", "g"], None).await;
    // Twins do not make up for rows that are gone.
    check(&["a", "b", "c", "d", "e"], &["f", "f", "f", "f", "f"], FEWER).await;
    check(&["a"], &[], Some("no row came, after 1 the last time")).await;
    check(&[], &[], None).await;
}

async fn a_column_is_missed_only_where_the_published_snapshot_had_values(mut world: World) {
    world.collected("11680,2024-01", &["elsewhere"], Verdict::Complete).await;
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["an older read"])).await;
    world.store.open_read(&job, ReadNumber(2)).await.unwrap();
    let rows = page(&[
        vec![("aptNm", NodeKind::Text, " "), ("excluUseAr", NodeKind::Text, "84.9")],
        vec![("excluUseAr", NodeKind::Text, "no number")],
    ]);
    world.page(&job, 2, 1, &rows).await;
    let end = JobEnd { read: ReadNumber(2), ..end(&job, Verdict::Complete, 2, world.now()) };
    let ended = world.store.end_job(end).await.unwrap();
    assert_eq!(ended.suspicion, Some(Suspicion::ColumnsEmpty { columns: vec![Name::literal("apt")] }));
    world.assert_select(VISIBLE, &["a", "b", "elsewhere"]).await;
}
