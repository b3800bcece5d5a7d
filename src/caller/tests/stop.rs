use super::*;

#[tokio::test(start_paused = true)]
async fn the_first_stop_lets_requests_in_flight_land_and_begins_no_other() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), |_, _| Reply::Status(200));
    let calls = world.fetch_many(6);
    world.sent(2).await;
    world.caller.stop_claiming();
    let ended = calls.join_all().await;
    assert_eq!(ended.iter().filter(|call| call.is_ok()).count(), 2);
    let interrupted = ended.iter().filter(|call| matches!(call, Err(Failure { end: End::Interrupted, .. })));
    assert_eq!(interrupted.count(), 4);
    assert_eq!(world.sends().len(), 2);
    assert_eq!(world.clock.now() / MS, 100);
}

#[tokio::test(start_paused = true)]
async fn the_first_stop_wakes_whoever_waits() {
    for (name, reply, rps) in [("to retry", 500, 0.0), ("in a pause", 429, 0.0), ("for a slot", 500, 0.01)] {
        let world = World::scripted(limits(1, rps), retry_settings(), move |_, _| Reply::Status(reply));
        let calls = world.fetch_many(2);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let stopped = world.clock.now();
        world.caller.stop_claiming();
        for call in calls.join_all().await {
            assert_eq!(call.unwrap_err().end, End::Interrupted, "{name}");
        }
        assert_eq!(world.clock.now(), stopped, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_lands_after_the_stop_is_not_retried() {
    let world = World::scripted(limits(1, 0.0), RetrySettings::default(), |_, _| Reply::Status(500));
    let calls = world.fetch_many(1);
    world.sent(1).await;
    world.caller.stop_claiming();
    let failure = calls.join_all().await.remove(0).unwrap_err();
    assert_eq!((failure.end, outcomes(&failure.attempts)), (End::Interrupted, vec![Outcome::Retry]));
    assert_eq!(world.ears.steps(), [NextStep::Done]);
    assert_eq!(world.clock.now() / MS, 100, "and is not rested");
}

#[tokio::test(start_paused = true)]
async fn the_second_stop_ends_requests_in_flight_and_they_stay_on_record() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::Never);
    let calls = world.fetch_many(1);
    world.sent(1).await;
    world.caller.stop_claiming();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let stopped = world.clock.now();
    world.caller.stop_now();
    let failure = calls.join_all().await.remove(0).unwrap_err();
    assert_eq!(failure.end, End::Interrupted);
    assert!(failure.attempts[0].sent);
    assert_eq!(world.ears.count(|event| matches!(event, Event::AttemptEnded { .. })), 1);
    assert_eq!(world.clock.now(), stopped);
}
