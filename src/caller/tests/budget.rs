use super::*;

/// Every third request fails and is retried.
fn flaky(index: usize, _: Nanos) -> Reply {
    Reply::Status(if index % 3 == 2 { 500 } else { 200 })
}

#[tokio::test(start_paused = true)]
async fn a_run_makes_so_many_attempts_as_it_may_and_no_more() {
    for (max_calls, calls) in [(0, 10), (1, 10), (50, 100), (50, 37)] {
        let world = World::playing(limits(8, 0.0), retry_settings(), Some(max_calls), |asked| flaky(asked.index, asked.at));
        let ended = world.fetch_many(calls).join_all().await;
        assert_eq!(world.sends().len(), max_calls as usize, "{calls} calls with {max_calls} allowed");
        let attempts = |call: &Result<Fetched, Failure>| match call {
            Ok(fetched) => fetched.attempts.len(),
            Err(failure) => failure.attempts.len(),
        };
        assert_eq!(ended.iter().map(attempts).sum::<usize>(), max_calls as usize);
        let pages = ended.iter().filter(|call| call.is_ok()).count();
        assert_eq!(pages, (max_calls - max_calls / 3) as usize, "no page that came is lost");
        for call in ended {
            if let Err(failure) = call {
                let why = format!("not asked in this run: the {max_calls} calls allowed are made");
                assert_eq!(failure.end.to_string(), why);
            }
        }
        assert!(world.caller.is_stopping());
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_just_suffice_stop_nothing() {
    let world = World::playing(limits(8, 0.0), retry_settings(), Some(10), |_| Reply::Status(200));
    for call in world.fetch_many(10).join_all().await {
        call.unwrap();
    }
    assert!(!world.caller.is_stopping());
}

#[tokio::test(start_paused = true)]
async fn a_run_without_calls_left_wakes_whoever_waits() {
    let world = World::playing(limits(2, 0.0), retry_settings(), Some(1), |_| Reply::Status(500));
    let mut waiting = world.fetch_many(1);
    world.sent(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = world.clock.now();
    world.fetch().await.unwrap_err();
    waiting.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!((world.clock.now(), world.sends().len()), (asked, 1));
}
