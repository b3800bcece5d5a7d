use jiff::Timestamp;

use super::stories;
use super::world::World;
use crate::model::breaker::BreakerState;
use crate::model::name::Name;
use crate::store::state::BreakerChange;

stories![the_last_change_of_each_api_is_what_its_breaker_was_left_in, no_line_of_a_breaker_is_ever_replaced,];

fn change(dataset: &'static str, key_id: &str, state: BreakerState, openings: u32) -> BreakerChange {
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    BreakerChange {
        dataset: Name::literal(dataset),
        key_id: key_id.to_owned(),
        changed_at: at("2026-11-29T18:00:00Z"),
        state,
        open_until: (state == BreakerState::Open).then(|| at("2026-11-29T18:02:00Z")),
        openings,
        why: "12 failures in a row; the last: status 500".to_owned(),
    }
}

async fn the_last_change_of_each_api_is_what_its_breaker_was_left_in(world: World) {
    assert_eq!(world.store.breakers().await.unwrap(), []);
    let opened = change("apt_trade", "k1", BreakerState::Open, 2);
    let others = [change("apt_rent", "k1", BreakerState::Closed, 0), change("apt_trade", "k2", BreakerState::HalfOpen, 1)];
    for change in [&change("apt_trade", "k1", BreakerState::HalfOpen, 1), &others[0], &opened, &others[1]] {
        world.store.record_breaker(world.run, change).await.unwrap();
    }
    let world = world.killed_and_begun_again().await;
    let [rent, other_key] = others;
    assert_eq!(world.store.breakers().await.unwrap(), [rent, opened, other_key]);
}

async fn no_line_of_a_breaker_is_ever_replaced(world: World) {
    for (state, openings) in [(BreakerState::Open, 1), (BreakerState::HalfOpen, 1), (BreakerState::Closed, 0)] {
        world.store.record_breaker(world.run, &change("apt_trade", "k1", state, openings)).await.unwrap();
    }
    let lines = "select state, openings, coalesce(open_until, '-') from breaker_change order by id";
    world.assert_select(lines, &["open|1|2026-11-29T18:02:00.000Z", "half_open|1|-", "closed|0|-"]).await;
}
