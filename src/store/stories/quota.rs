use std::sync::Arc;

use jiff::civil::{Date, date};

use super::stories;
use super::world::World;
use crate::model::name::Name;
use crate::store::Store;
use crate::store::state::ApiState;

const TODAY: Date = date(2026, 11, 29);
const TOMORROW: Date = date(2026, 11, 30);

stories![
    calls_are_granted_up_to_the_limit_of_a_day,
    each_key_and_each_dataset_has_a_count_of_its_own,
    a_limit_that_was_lowered_grants_nothing_more,
    what_was_reserved_stays_reserved_after_a_kill,
    over_all_processes_no_day_has_more_than_its_limit,
    calls_that_were_not_sent_are_given_back_on_their_day_alone,
    a_clock_set_back_wins_no_calls,
    a_day_that_is_far_away_is_not_counted_on,
    a_block_is_remembered_beside_the_count,
];

async fn reserve(store: &Store, day: Date, want: u64, limit: u64) -> u64 {
    store.reserve_calls(&Name::literal("apt_trade"), "k1", day, want, limit).await.unwrap()
}

async fn calls_are_granted_up_to_the_limit_of_a_day(world: World) {
    let check = async |day, want, granted| assert_eq!(reserve(&world.store, day, want, 100).await, granted);
    check(TODAY, 40, 40).await;
    check(TODAY, 40, 40).await;
    check(TODAY, 40, 20).await;
    check(TODAY, 40, 0).await;
    check(TODAY, 0, 0).await;
    check(TOMORROW, 101, 100).await;
    check(TOMORROW, 1, 0).await;
    world.assert_select("select dataset, key_id, day, calls from api_state", &["apt_trade|k1|2026-11-30|100"]).await;
}

async fn each_key_and_each_dataset_has_a_count_of_its_own(world: World) {
    let check = async |dataset: &'static str, key_id: &str| {
        assert_eq!(world.store.reserve_calls(&Name::literal(dataset), key_id, TODAY, 9, 5).await.unwrap(), 5);
    };
    check("apt_trade", "k1").await;
    check("apt_trade", "k2").await;
    check("apt_rent", "k1").await;
}

async fn a_limit_that_was_lowered_grants_nothing_more(world: World) {
    assert_eq!(reserve(&world.store, TODAY, 500, 1000).await, 500);
    assert_eq!(reserve(&world.store, TODAY, 500, 100).await, 0);
    assert_eq!(reserve(&world.store, TODAY, 500, 600).await, 100);
    assert_eq!(reserve(&world.store, TODAY, 5, u64::MAX).await, 5);
}

async fn what_was_reserved_stays_reserved_after_a_kill(world: World) {
    assert_eq!(reserve(&world.store, TODAY, 70, 100).await, 70);
    let world = world.killed_and_begun_again().await;
    assert_eq!(reserve(&world.store, TODAY, 70, 100).await, 30);
}

async fn over_all_processes_no_day_has_more_than_its_limit(world: World) {
    let mut processes = Vec::new();
    for _ in 0..4 {
        let store = Arc::new(world.neighbour().await);
        for _ in 0..2 {
            let store = Arc::clone(&store);
            processes.push(tokio::spawn(async move {
                let mut granted = 0;
                while granted <= 1000 {
                    match reserve(&store, TODAY, 7, 1000).await {
                        0 => break,
                        more => granted += more,
                    }
                }
                granted
            }));
        }
    }
    let mut granted = 0;
    for process in processes {
        granted += process.await.unwrap();
    }
    assert_eq!(granted, 1000);
    world.assert_select("select calls from api_state", &["1000"]).await;
}

async fn calls_that_were_not_sent_are_given_back_on_their_day_alone(world: World) {
    let name = Name::literal("apt_trade");
    let give_back = async |day, unused| world.store.give_back(&name, "k1", day, unused).await.unwrap();
    // Of an API nothing is known of.
    give_back(TODAY, 10).await;
    assert_eq!(reserve(&world.store, TODAY, 100, 100).await, 100);
    give_back(TODAY, 30).await;
    assert_eq!(reserve(&world.store, TODAY, 100, 100).await, 30);
    assert_eq!(reserve(&world.store, TOMORROW, 10, 100).await, 10);
    give_back(TODAY, 30).await;
    world.assert_select("select calls from api_state", &["10"]).await;
    // More than there is can only be a mistake, and never a debt.
    give_back(TOMORROW, 30).await;
    world.assert_select("select calls from api_state", &["0"]).await;
}

async fn a_clock_set_back_wins_no_calls(world: World) {
    assert_eq!(reserve(&world.store, TOMORROW, 90, 100).await, 90);
    assert_eq!(reserve(&world.store, TODAY, 90, 100).await, 10);
    assert_eq!(reserve(&world.store, TODAY, 90, 100).await, 0);
    world.assert_select("select day, calls from api_state", &["2026-11-30|100"]).await;
}

async fn a_day_that_is_far_away_is_not_counted_on(world: World) {
    assert_eq!(reserve(&world.store, date(2027, 11, 29), 100, 100).await, 100);
    assert_eq!(reserve(&world.store, TODAY, 60, 100).await, 60);
    assert_eq!(reserve(&world.store, TODAY, 60, 100).await, 40);
    world.assert_select("select day, calls from api_state", &["2026-11-29|100"]).await;
    assert_eq!(reserve(&world.store, TOMORROW, 60, 100).await, 60);
}

async fn a_block_is_remembered_beside_the_count(world: World) {
    let (dataset, until) = (Name::literal("apt_trade"), "2026-11-29T15:00:00Z".parse().unwrap());
    world.store.block(&dataset, "k1", until, "code 22").await.unwrap();
    let blocked = ApiState {
        dataset: dataset.clone(),
        key_id: "k1".to_owned(),
        day: None,
        calls: 0,
        blocked_until: Some(until),
        why: Some("code 22".to_owned()),
    };
    assert_eq!(world.store.api_states().await.unwrap(), std::slice::from_ref(&blocked));
    assert_eq!(reserve(&world.store, TODAY, 10, 100).await, 10);
    let world = world.killed_and_begun_again().await;
    assert_eq!(world.store.api_states().await.unwrap(), [ApiState { day: Some(TODAY), calls: 10, ..blocked }]);

    let later = "2026-11-30T15:00:00Z".parse().unwrap();
    world.store.block(&dataset, "k1", later, "code 22 again").await.unwrap();
    let states = world.store.api_states().await.unwrap();
    assert_eq!((states[0].blocked_until, states[0].calls), (Some(later), 10));
}
