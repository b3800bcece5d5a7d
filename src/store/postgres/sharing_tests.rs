//! Limits that runs on several hosts keep together.

use std::sync::Arc;
use std::time::Duration;

use crate::model::breaker::Health;
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::sharing::{Canary, Clock, Dark, HealthOfRun, Other, Share, SharedLimits, SlotGrant, SlotOrder, Terms};
use crate::store::stories::world::World;

const MS: u64 = 1_000_000;
const LONG: Duration = Duration::from_secs(60);

fn share(run: RunId) -> Share {
    Share { provider: Name::literal("data_go_kr"), key_id: "it's a key".to_owned(), run }
}

fn terms(interval_ms: u64, concurrency: u32) -> Terms {
    Terms { interval: Duration::from_millis(interval_ms), concurrency }
}

fn limits(world: &World) -> SharedLimits<'_> {
    world.store.limits().unwrap()
}

async fn join(world: &World, terms: Terms) {
    limits(world).join(&share(world.run), terms).await.unwrap();
}

async fn reserve(world: &World, count: u32, interval_ms: u64) -> SlotGrant {
    reserve_for(world, count, interval_ms, None).await.unwrap()
}

async fn reserve_for(world: &World, count: u32, interval_ms: u64, canary: Option<Canary>) -> Option<SlotGrant> {
    let began = std::time::Instant::now();
    let clock: Clock = Arc::new(move || u64::try_from(began.elapsed().as_nanos()).unwrap());
    let order = SlotOrder { count, interval: Duration::from_millis(interval_ms), margin: Duration::from_millis(1), canary };
    limits(world).reserve(&share(world.run), order, &clock).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_is_given_to_one_run_after_the_other() {
    let Some(here) = World::on_postgres().await else { return };
    let there = here.second_host(LONG).await;
    join(&here, terms(25, 6)).await;
    join(&there, terms(25, 6)).await;
    let mut grants = Vec::new();
    for _ in 0..5 {
        let (a, b) = tokio::join!(reserve(&here, 3, 25), reserve(&there, 2, 25));
        grants.extend([a, b]);
    }
    grants.sort_by_key(|grant| grant.start);
    for grant in &grants {
        let length = grant.end - grant.start;
        assert!(length == 76 * MS || length == 51 * MS, "{grant:?}");
        assert!(grant.reading.asked < grant.reading.heard, "{grant:?}");
    }
    assert!(grants.windows(2).all(|pair| pair[1].start == pair[0].end), "no time is given twice, and none is lost: {grants:?}");
    let first = grants[0];
    assert!(first.start.abs_diff(first.reading.told) < 1_000 * MS, "it begins now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_that_nobody_wanted_is_not_given_later() {
    let Some(here) = World::on_postgres().await else { return };
    join(&here, terms(25, 6)).await;
    let before = reserve(&here, 1, 25).await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    let after = reserve(&here, 1, 25).await;
    assert!(after.start >= before.end + 80 * MS, "{before:?} {after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slowest_run_that_is_alive_sets_the_pace() {
    let Some(here) = World::on_postgres().await else { return };
    let there = here.second_host(LONG).await;
    join(&here, terms(25, 6)).await;
    join(&there, terms(100, 6)).await;
    assert_eq!(reserve(&here, 2, 25).await.interval, Duration::from_millis(100));
    reserve(&there, 1, 50).await;
    assert_eq!(reserve(&here, 2, 25).await.interval, Duration::from_millis(50), "as it has it at this moment");
    there.tampered("update lease set lease_until = clock_timestamp() where run = 2").await;
    assert_eq!(reserve(&here, 2, 25).await.interval, Duration::from_millis(25), "the dead don't count");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_set_back_keeps_nobody_waiting() {
    let Some(here) = World::on_postgres().await else { return };
    join(&here, terms(25, 6)).await;
    let before = reserve(&here, 1, 25).await;
    // As if all had been written by a clock that was an hour ahead.
    here.tampered("update pace set next_us = next_us + 3600000000, seen_us = seen_us + 3600000000").await;
    let after = reserve(&here, 1, 25).await;
    assert!(after.start - before.start < 5_000 * MS, "{before:?} {after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permits_are_held_by_as_many_as_there_are() {
    let Some(here) = World::on_postgres().await else { return };
    let mut there = here.second_host(LONG).await;
    join(&here, terms(25, 6)).await;
    join(&there, terms(50, 4)).await;
    let hold = async |world: &World, count, most| limits(world).hold(&share(world.run), count, most).await.unwrap();
    assert!(hold(&here, 5, 6).await);
    assert!(!hold(&there, 2, 6).await, "only one is free");
    assert!(hold(&there, 1, 6).await);
    assert!(hold(&here, 3, 0).await, "fewer may always be taken");
    assert!(hold(&there, 3, 6).await);
    let standing = limits(&here).standing(&share(here.run)).await.unwrap();
    assert_eq!((standing.held, standing.others), (3, vec![Other { run: there.run, terms: terms(50, 4), held: 3 }]));
    let now = there.now();
    there.store.end_run(there.run, 0, now).await.unwrap();
    let standing = limits(&here).standing(&share(here.run)).await.unwrap();
    assert_eq!(standing.others, [], "a run that has ended holds nothing");
    assert_eq!(here.select("select count(*) from pace_share").await, ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_calls_came_to_is_told_to_those_who_are_alive() {
    let Some(here) = World::on_postgres().await else { return };
    let mut there = here.second_host(LONG).await;
    join(&here, terms(25, 6)).await;
    join(&there, terms(25, 6)).await;
    let compare =
        async |world: &World, own: &[(Name, Health)]| limits(world).compare_health(&share(world.run), own).await.unwrap();
    let of = |dataset, answered, failed, failed_in_a_row| (Name::literal(dataset), Health { answered, failed, failed_in_a_row });
    assert_eq!(compare(&here, &[]).await, []);
    assert_eq!(compare(&here, &[of("apt_trade", 1, 2, 2), of("apt_rent", 7, 0, 0)]).await, [], "one does not hear oneself");
    assert_eq!(compare(&here, &[of("apt_trade", 1, 3, 3)]).await, []);
    let heard = compare(&there, &[of("apt_trade", 5, 0, 0)]).await;
    let of_here = |(dataset, health)| HealthOfRun { run: here.run, dataset, health };
    assert_eq!(heard, [of_here(of("apt_rent", 7, 0, 0)), of_here(of("apt_trade", 1, 3, 3))]);
    let other = Share { key_id: "another".to_owned(), ..share(there.run) };
    assert_eq!(limits(&there).compare_health(&other, &[]).await.unwrap(), [], "of another key");
    assert_eq!(compare(&here, &[]).await.len(), 1);
    let now = there.now();
    there.store.end_run(there.run, 0, now).await.unwrap();
    assert_eq!(compare(&here, &[]).await, [], "a run that has ended says nothing");
    assert_eq!(here.select("select count(*) from pace_health").await, ["2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_keeps_all_away_until_one_canary_was_answered() {
    let Some(here) = World::on_postgres().await else { return };
    let there = here.second_host(LONG).await;
    join(&here, terms(25, 6)).await;
    join(&there, terms(25, 6)).await;
    let dark = async |world: &World| limits(world).standing(&share(world.run)).await.unwrap().dark;
    assert_eq!((dark(&here).await, limits(&here).take_canary(&share(here.run), None).await.unwrap()), (None, None));
    limits(&here).darken(&share(here.run), Duration::from_millis(300), "it's too fast").await.unwrap();
    let Some(Dark { left, why }) = dark(&there).await else { panic!("it is dark for all") };
    assert!(left > Duration::from_millis(100) && left <= Duration::from_millis(300), "{left:?}");
    assert_eq!(why, "it's too fast");
    assert_eq!(reserve_for(&here, 1, 25, None).await, None);
    assert_eq!(limits(&there).take_canary(&share(there.run), None).await.unwrap(), None, "not before the pause is over");
    tokio::time::sleep(left).await;
    let canary = limits(&there).take_canary(&share(there.run), None).await.unwrap();
    assert!(canary.is_some());
    assert_eq!(limits(&here).take_canary(&share(here.run), None).await.unwrap(), None, "one at a time");
    assert!(limits(&there).take_canary(&share(there.run), canary).await.unwrap() > canary, "it may go again");
    assert_eq!(reserve_for(&there, 1, 25, canary).await, None, "the token of before is none");
    let canary = Some(Canary(here.select("select canary_until_us from pace").await[0].parse().unwrap()));
    assert!(reserve_for(&there, 1, 25, canary).await.is_some());
    limits(&there).lighten(&share(there.run)).await.unwrap();
    assert_eq!(dark(&here).await, None);
    assert!(reserve_for(&here, 1, 25, None).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_run_was_told_is_told_to_the_others() {
    let Some(here) = World::on_postgres().await else { return };
    let there = here.second_host(LONG).await;
    let dataset = Name::literal("apt_trade");
    limits(&here).stop_all(&share(here.run), Some(&dataset), "invalid").await.unwrap();
    limits(&here).stop_all(&share(here.run), None, "the key's expired").await.unwrap();
    let stops = limits(&there).stops_after(&share(there.run), 0).await.unwrap();
    let told: Vec<_> = stops.iter().map(|stop| (stop.run, stop.dataset.clone(), stop.why.as_str())).collect();
    assert_eq!(told, [(here.run, Some(dataset), "invalid"), (here.run, None, "the key's expired")]);
    assert_eq!(limits(&there).stops_after(&share(there.run), stops[1].id).await.unwrap(), []);
}
