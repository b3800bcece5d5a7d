use jiff::SignedDuration;

use super::stories;
use super::world::World;
/// Fails.
const SEOUL: &str = "11110,2024-01";
/// Is read beside it.
const BUSAN: &str = "26110,2024-01";
stories![
    a_partition_has_a_strike_for_each_day_it_failed_on,
    two_failures_on_one_day_are_one_strike,
    a_failure_is_no_strike_when_nothing_of_its_dataset_came,
    a_failure_is_no_strike_when_only_another_run_of_the_day_brought_rows,
    what_was_not_asked_to_the_end_or_is_held_is_no_strike,
    a_whole_reading_takes_all_strikes_away,
];
/// A run on the next day.
async fn next_day(world: World) -> World {
    let mut world = world.killed_and_begun_again().await;
    world.after(SignedDuration::from_hours(24));
    world
/// A run in which Seoul comes to one verdict and Busan to another.
async fn run(world: World, seoul: Verdict, busan: Verdict) -> World {
    let mut world = next_day(world).await;
    world.collected(SEOUL, &["a"], seoul).await;
    world.collected(BUSAN, &["b"], busan).await;
    world
async fn strikes(world: &World) -> Vec<(String, u32)> {
    let states = world.store.states(world.declared.id()).await.unwrap();
    states.into_iter().map(|state| (state.key, state.strikes)).collect()
#[track_caller]
fn check(found: Vec<(String, u32)>, seoul: u32) {
    let expected = [("region=11110,month=2024-01".to_owned(), seoul), ("region=26110,month=2024-01".to_owned(), 0)];
    assert_eq!(found, expected);
async fn a_partition_has_a_strike_for_each_day_it_failed_on(mut world: World) {
    for (day, verdict) in [(1, Verdict::Failed), (2, Verdict::Short), (3, Verdict::Failed), (4, Verdict::Failed)] {
        world = run(world, verdict, Verdict::Complete).await;
        check(strikes(&world).await, day);
    }
async fn two_failures_on_one_day_are_one_strike(world: World) {
    let mut world = run(world, Verdict::Failed, Verdict::Complete).await;
    world.collected(SEOUL, &["a"], Verdict::Failed).await;
    check(strikes(&world).await, 1);
    let mut world = world.killed_and_begun_again().await;
    world.collected(SEOUL, &["a"], Verdict::Short).await;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    check(strikes(&world).await, 1);
async fn a_failure_is_no_strike_when_nothing_of_its_dataset_came(world: World) {
    let mut world = world;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    for verdict in [Verdict::Failed, Verdict::Short, Verdict::Held, Verdict::Deferred] {
        world = run(world, Verdict::Failed, verdict).await;
        assert_eq!(strikes(&world).await[0].1, 0, "{verdict:?}");
    }
    for verdict in [Verdict::Complete, Verdict::Empty, Verdict::Unverified] {
        let mut other = next_day(world).await;
        other.collected(SEOUL, &["a"], Verdict::Failed).await;
        let before = strikes(&other).await[0].1;
        let apartments: &[&str] = if verdict == Verdict::Empty { &[] } else { &["b"] };
        other.collected(BUSAN, apartments, verdict).await;
        assert_eq!(strikes(&other).await[0].1, before + 1, "{verdict:?}");
        world = other;
    }
async fn a_failure_is_no_strike_when_only_another_run_of_the_day_brought_rows(world: World) {
    let mut world = next_day(world).await;
    world.collected(SEOUL, &["a"], Verdict::Failed).await;
    // The same day, but the source was asked at another hour.
    let mut world = world.killed_and_begun_again().await;
    world.collected(BUSAN, &["b"], Verdict::Complete).await;
    check(strikes(&world).await, 0);
async fn what_was_not_asked_to_the_end_or_is_held_is_no_strike(mut world: World) {
    for verdict in [Verdict::Deferred, Verdict::Held, Verdict::Deferred] {
        world = run(world, verdict, Verdict::Complete).await;
        check(strikes(&world).await, 0);
    }
async fn a_whole_reading_takes_all_strikes_away(mut world: World) {
    for verdict in [Verdict::Failed, Verdict::Failed, Verdict::Complete] {
        world = run(world, verdict, Verdict::Complete).await;
    }
    check(strikes(&world).await, 0);
    world = run(world, Verdict::Short, Verdict::Complete).await;
    check(strikes(&world).await, 1);
use super::world::{DATASET, MAX_AGE, World, dataset, end, partition_of};
use crate::model::name::Name;
use crate::model::verdict::Verdict;

const FAILS: &str = "11110,2024-01";
const COMES: &str = "11140,2024-01";
const A_DAY: SignedDuration = SignedDuration::from_hours(24);

stories![a_failure_is_a_strike_once_a_day_and_only_in_a_run_that_read_another_partition_of_the_dataset_whole];

async fn a_failure_is_a_strike_once_a_day_and_only_in_a_run_that_read_another_partition_of_the_dataset_whole(mut world: World) {
    let check = async |world: &mut World, what: &str, expected: u32| {
        let states = world.store.states(&Name::literal("apt_trade")).await.unwrap();
        let found: Vec<(&str, u32)> = states.iter().map(|state| (state.key.as_str(), state.strikes)).collect();
        let among = found.contains(&("region=11110,month=2024-01", expected));
        assert!(among && found.iter().all(|(key, strikes)| key.contains("11110") || *strikes == 0), "{what}: {found:?}");
    };
    fails(&mut world, Verdict::Failed).await;
    check(&mut world, "nothing else was read", 0).await;

    another_dataset_comes(&mut world).await;
    check(&mut world, "another dataset came", 0).await;

    world.collected(COMES, &["a"], Verdict::Complete).await;
    check(&mut world, "another partition came in the same run", 1).await;

    fails(&mut world, Verdict::Short).await;
    check(&mut world, "twice on one day", 1).await;

    world.next_run(A_DAY).await;
    fails(&mut world, Verdict::Failed).await;
    check(&mut world, "the next day nothing came", 1).await;

    world.collected(COMES, &["a"], Verdict::Complete).await;
    check(&mut world, "the next day another partition came", 2).await;

    fails(&mut world, Verdict::Deferred).await;
    check(&mut world, "the latest job was put off", 0).await;

    fails(&mut world, Verdict::Failed).await;
    check(&mut world, "and failed again", 2).await;

    world.collected(FAILS, &["b"], Verdict::Complete).await;
    check(&mut world, "it was read whole", 0).await;

    world.next_run(A_DAY).await;
    world.collected(COMES, &["a"], Verdict::Complete).await;
    fails(&mut world, Verdict::Failed).await;
    check(&mut world, "what was before it was whole is forgotten", 1).await;
}

async fn fails(world: &mut World, verdict: Verdict) {
    let job = world.start(FAILS).await;
    world.now();
    world.end(&job, verdict, 0).await;
}

async fn another_dataset_comes(world: &mut World) {
    let now = world.now();
    let other = dataset(&DATASET.replacen("apt_trade", "apt_rent", 1));
    let declared = world.store.declare(&other, now).await.unwrap();
    let started = world.store.start_job(world.run, &declared, &partition_of(COMES), MAX_AGE, now).await.unwrap();
    world.store.end_job(end(&started.job, Verdict::Empty, 0, now)).await.unwrap();
}
