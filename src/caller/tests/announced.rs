//! What headers announce is advice to ask more slowly.

use super::*;

const PACES: [fn() -> ProviderLimits; 2] =
    [|| limits(4, 40.0), || ProviderLimits { pace: Pace::Sought(Start { rate: 40.0, in_flight: None }), ..limits(4, 40.0) }];

fn warnings(world: &World) -> usize {
    world.ears.count(|event| matches!(event, Event::Warned { .. }))
}

async fn all_come(world: &World, count: usize) {
    world.fetch_many(count).join_all().await.into_iter().for_each(|call| drop(call.unwrap()));
}

fn gaps(world: &World) -> Vec<u64> {
    world.sends().windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect()
}

#[tokio::test(start_paused = true)]
async fn an_announced_rate_is_not_exceeded() {
    for limits in PACES {
        let world =
            World::scripted(limits(), retry_settings(), |_, _| Reply::Saying(200, &[("RateLimit-Policy", "10;w=1, 300;w=60")]));
        all_come(&world, 60).await;
        assert!(gaps(&world).iter().skip(8).all(|gap| *gap >= 199), "5 a second: {:?}", gaps(&world));
        assert_eq!(warnings(&world), 1, "said once");
    }
    // Without a rate of its own as well, and after a refusal.
    let world = World::scripted(limits(4, 0.0), retry_settings(), |index, _| {
        let lines = &[("X-Rate-Limit-Limit", "5"), ("X-Rate-Limit-Interval", "1s")];
        Reply::Saying(if index == 20 { 429 } else { 200 }, lines)
    });
    all_come(&world, 40).await;
    assert!(gaps(&world)[10..].iter().all(|gap| *gap >= 199), "{:?}", gaps(&world));
    assert!(gaps(&world)[25..].iter().all(|gap| *gap >= 209), "7 tenths of it at first: {:?}", gaps(&world));
}

#[tokio::test(start_paused = true)]
async fn an_announced_rate_is_no_leave_to_ask_faster() {
    for limits in PACES {
        let world = World::scripted(limits(), retry_settings(), |_, _| Reply::Saying(200, &[("RateLimit-Policy", "1000;w=1")]));
        all_come(&world, 60).await;
        assert!(gaps(&world).iter().all(|gap| *gap >= 24), "{:?}", gaps(&world));
        assert_eq!(warnings(&world), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_call_is_left_nobody_asks_until_they_are_counted_anew() {
    for limits in PACES {
        let world = World::scripted(limits(), retry_settings(), |index, _| {
            let left = if index % 20 == 19 { "0" } else { "7" };
            let lines: &[(&str, &str)] = if left == "0" {
                &[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "7")]
            } else {
                &[("X-RateLimit-Remaining", "7"), ("X-RateLimit-Reset", "7")]
            };
            Reply::Saying(200, lines)
        });
        all_come(&world, 60).await;
        let long = gaps(&world).into_iter().filter(|gap| *gap > 1_000).collect::<Vec<_>>();
        assert_eq!(long.len(), 2, "{long:?}");
        assert!(long.iter().all(|gap| (6_900..=7_200).contains(gap)), "{long:?}");
        assert_eq!(warnings(&world), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn headers_that_are_wrong_hold_nobody_up_for_long() {
    for limits in PACES {
        let lying = |_, _| Reply::Saying(200, &[("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "45")]);
        let world = World::scripted(limits(), retry_settings(), lying);
        all_come(&world, 300).await;
        assert!(world.clock.now() < 70 * SECOND, "{} s", world.clock.now() / SECOND);
        // What all answers of some servers say.
        let world = World::scripted(limits(), retry_settings(), |_, _| Reply::Saying(200, &[("Retry-After", "30")]));
        all_come(&world, 300).await;
        assert!(world.clock.now() < 12 * SECOND, "{} s", world.clock.now() / SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_says_when_calls_are_left_again_is_believed() {
    for limits in PACES {
        let world = World::scripted(limits(), retry_settings(), |index, _| match index {
            0 => Reply::Saying(429, &[("RateLimit", "\"all\"; r=0; t=30")]),
            _ => Reply::Status(200),
        });
        world.fetch().await.unwrap();
        assert_eq!(world.waits(), [30_000]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_call_of_the_day_left_is_the_end_of_the_day() {
    const LINES: &[(&str, &str)] = &[("X-RateLimit-Remaining-Day", "0")];
    for (first, pages) in [(429, 0), (200, 1)] {
        let world = World::scripted(limits(1, 0.0), retry_settings(), move |index, _| {
            Reply::Saying(if index == 0 { first } else { 429 }, LINES)
        });
        let ends = [world.fetch().await, world.fetch().await];
        assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), pages, "the header alone ends nothing");
        let deferred = world.fetch().await.unwrap_err();
        assert!(matches!(deferred.end, End::Deferred { until: Some(until), .. } if until == at(6 * 3600)), "{deferred}");
        assert_eq!(world.sends().len(), pages + 1);
        assert_eq!(world.ears.pauses(), [0; 0]);
    }
}
