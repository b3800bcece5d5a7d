use jiff::SignedDuration;

use super::stories;
use super::world::{DATASET, MAX_AGE, World, dataset, end, partition_of};
use crate::model::verdict::Verdict;
use crate::store::job::{JobStart, Planned};

/// Fails.
const SEOUL: &str = "11110,2024-01";
/// Is read beside it.
const BUSAN: &str = "26110,2024-01";

stories![
    a_partition_has_a_strike_for_each_day_it_failed_on,
    two_failures_on_one_day_are_one_strike,
    the_day_of_a_failure_is_that_of_the_provider,
    a_failure_is_no_strike_when_nothing_of_its_dataset_came,
    a_failure_is_no_strike_when_only_another_dataset_came,
    a_failure_is_no_strike_when_only_another_run_of_the_day_brought_rows,
    what_was_not_asked_to_the_end_or_is_held_is_no_strike,
    a_whole_reading_takes_all_strikes_away,
];

/// A run on the next day.
async fn next_day(world: World) -> World {
    let mut world = world.killed_and_begun_again().await;
    world.after(SignedDuration::from_hours(24));
    world
}

/// A run in which Seoul comes to one verdict and Busan to another.
async fn run(world: World, seoul: Verdict, busan: Verdict) -> World {
    let mut world = next_day(world).await;
    world.collected(SEOUL, &["a"], seoul).await;
    world.collected(BUSAN, &["b"], busan).await;
    world
}

async fn strikes(world: &World) -> Vec<(String, u32)> {
    let states = world.store.states(world.declared.id()).await.unwrap();
    states.into_iter().map(|state| (state.key, state.strikes)).collect()
}

#[track_caller]
fn check(found: Vec<(String, u32)>, seoul: u32) {
    let expected = [("region=11110,month=2024-01".to_owned(), seoul), ("region=26110,month=2024-01".to_owned(), 0)];
    assert_eq!(found, expected);
}

async fn a_partition_has_a_strike_for_each_day_it_failed_on(mut world: World) {
    for (day, verdict) in [(1, Verdict::Failed), (2, Verdict::Short), (3, Verdict::Failed), (4, Verdict::Failed)] {
        world = run(world, verdict, Verdict::Complete).await;
        check(strikes(&world).await, day);
    }
}

async fn two_failures_on_one_day_are_one_strike(world: World) {
    let mut world = run(world, Verdict::Failed, Verdict::Complete).await;
    world.collected(SEOUL, &["a"], Verdict::Failed).await;
    check(strikes(&world).await, 1);
    let mut world = world.killed_and_begun_again().await;
    world.collected(SEOUL, &["a"], Verdict::Short).await;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    check(strikes(&world).await, 1);
}

async fn the_day_of_a_failure_is_that_of_the_provider(mut world: World) {
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    // The instants of the story are all of one day in UTC.
    world.ended_on(SEOUL, &["a"], Verdict::Failed, "2026-11-29").await;
    world.ended_on(SEOUL, &["a"], Verdict::Failed, "2026-11-30").await;
    check(strikes(&world).await, 2);
    world.after(SignedDuration::from_hours(24));
    world.ended_on(SEOUL, &["a"], Verdict::Failed, "2026-11-30").await;
    check(strikes(&world).await, 2);
}

async fn a_failure_is_no_strike_when_nothing_of_its_dataset_came(world: World) {
    let mut world = world;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    for verdict in [Verdict::Failed, Verdict::Short, Verdict::Held, Verdict::Deferred] {
        world = run(world, Verdict::Failed, verdict).await;
        assert_eq!(strikes(&world).await[0].1, 0, "{verdict:?}");
    }
    // Each of them a partition that was never read before: an empty one that had rows is held.
    for (verdict, beside) in
        [(Verdict::Complete, "26140,2024-01"), (Verdict::Empty, "26170,2024-01"), (Verdict::Unverified, "26200,2024-01")]
    {
        let mut other = next_day(world).await;
        other.collected(SEOUL, &["a"], Verdict::Failed).await;
        let before = strikes(&other).await[0].1;
        let apartments: &[&str] = if verdict == Verdict::Empty { &[] } else { &["b"] };
        other.collected(beside, apartments, verdict).await;
        assert_eq!(strikes(&other).await[0].1, before + 1, "{verdict:?}");
        world = other;
    }
}

async fn a_failure_is_no_strike_when_only_another_dataset_came(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Failed).await;
    let now = world.now();
    let declared = world.store.declare(&dataset(&DATASET.replacen("apt_trade", "apt_rent", 1)), now).await.unwrap();
    let partition = partition_of(BUSAN);
    let start =
        JobStart { run: world.run, declared: &declared, partition: &partition, planned: Planned::Anyhow, max_age: MAX_AGE, now };
    let started = world.store.start_job(start).await.unwrap().started().unwrap();
    world.store.end_job(end(&started.job, Verdict::Empty, 0, now)).await.unwrap();
    assert_eq!(strikes(&world).await[0].1, 0);
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    assert_eq!(strikes(&world).await[0].1, 1, "one of its own came");
}

async fn a_failure_is_no_strike_when_only_another_run_of_the_day_brought_rows(world: World) {
    let mut world = next_day(world).await;
    world.collected(SEOUL, &["a"], Verdict::Failed).await;
    // The same day, but the source was asked at another hour.
    let mut world = world.killed_and_begun_again().await;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    check(strikes(&world).await, 0);
}

async fn what_was_not_asked_to_the_end_or_is_held_is_no_strike(mut world: World) {
    for verdict in [Verdict::Deferred, Verdict::Held, Verdict::Deferred] {
        world = run(world, verdict, Verdict::Complete).await;
        check(strikes(&world).await, 0);
    }
}

async fn a_whole_reading_takes_all_strikes_away(mut world: World) {
    for verdict in [Verdict::Failed, Verdict::Failed, Verdict::Complete] {
        world = run(world, verdict, Verdict::Complete).await;
    }
    check(strikes(&world).await, 0);
    world = run(world, Verdict::Short, Verdict::Complete).await;
    check(strikes(&world).await, 1);
}
