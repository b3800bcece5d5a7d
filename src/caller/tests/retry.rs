use super::super::retry::{Failed, LONGEST_WAIT, Next, Tries};
use super::*;

#[tokio::test(start_paused = true)]
async fn retries_wait_2_6_18_and_54_seconds_and_nothing_after_the_last() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::Status(500));
    let failure = world.fetch().await.unwrap_err();
    assert_eq!(world.waits(), [2_000, 6_000, 18_000, 54_000]);
    assert_eq!(world.clock.now(), world.sends()[4] + 100 * MS, "no sleep after the last try");
    assert_eq!(failure.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let steps = world.ears.steps();
    assert_eq!(steps[0], NextStep::RetryIn(Duration::from_secs(2)));
    assert_eq!(steps[4], NextStep::Done);
}

#[tokio::test(start_paused = true)]
async fn the_rest_after_an_error_is_part_of_the_wait() {
    let world = World::scripted(limits(1, 0.0), RetrySettings::default(), |_, _| Reply::Status(500));
    world.fetch().await.unwrap_err();
    assert_eq!(world.waits(), [2_000, 6_000, 18_000, 54_000]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_shows_the_cause_on_top_and_every_attempt_in_order() {
    let retry = RetrySettings { max_retries: 2, ..retry_settings() };
    let world = World::scripted(limits(1, 0.0), retry, |index, _| match index {
        0 => Reply::Fails(Connection::Other),
        1 => Reply::Status(500),
        _ => Reply::Status(418),
    });
    let failure = world.fetch().await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "status 418: body\n  1. retry after 100.0ms: connection reset\n  2. retry after 100.0ms: status 500: body\n  \
         3. garbled after 100.0ms: status 418: body"
    );
    assert_eq!(failure.attempts[1].sent_at, at(2) + Duration::from_millis(100), "wall time of the clock");
    assert_eq!(failure.attempts[1].took, Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_trouble_is_asked_as_often_as_it_can_heal() {
    for (status, requests) in [(500, 5), (418, 5), (401, 2), (400, 1), (402, 1), (409, 1), (413, 1), (202, 1)] {
        let world = World::scripted(limits(1, 0.0), retry_settings(), move |_, _| Reply::Status(status));
        let failure = world.fetch().await.unwrap_err();
        assert_eq!(world.sends().len(), requests, "status {status}");
        assert!(matches!(failure.end, End::Trouble(_)));
        assert_eq!(failure.attempts.len(), requests);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_confirmed_even_where_nothing_else_is_retried() {
    let retry = RetrySettings { max_retries: 0, ..retry_settings() };
    let world = World::scripted(limits(1, 0.0), retry, |index, _| Reply::Status(if index == 0 { 401 } else { 200 }));
    let fetched = world.fetch().await.unwrap();
    assert_eq!(outcomes(&fetched.attempts), [Outcome::Refused, Outcome::Page]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_to_retry_holds_no_permit() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| Reply::Status(if index == 0 { 500 } else { 200 }));
    let mut failing = world.fetch_many(1);
    while world.ears.count(|event| matches!(event, Event::AttemptEnded { .. })) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let before = world.clock.now();
    world.fetch().await.unwrap();
    assert!(world.clock.now() - before < 200 * MS, "the only permit was free");
    failing.join_next().await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_to_retry_gives_its_workers_place_to_another() {
    let world = World::scripted(limits(4, 0.0), retry_settings(), |index, _| Reply::Status(if index == 0 { 500 } else { 200 }));
    let places = Places::new(1);
    let place = places.take().await;
    let (caller, mut call) = (world.caller.clone(), world.call());
    call.place = Some(place.clone());
    let failing = tokio::spawn(async move { caller.fetch(call).await });
    let other = tokio::time::timeout(Duration::from_secs(1), places.take()).await.unwrap();
    assert!(world.clock.now() < SECOND, "taken during the wait, not after it");
    assert!(!place.is_taken());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.sends().len(), 1, "its place is taken, so it waits on");
    drop(other);
    failing.await.unwrap().unwrap();
    assert!(place.is_taken());
}

#[tokio::test(start_paused = true)]
async fn a_place_is_kept_while_one_call_of_the_walk_is_at_work() {
    let world =
        World::scripted(limits(4, 0.0), retry_settings(), |index, _| if index == 0 { Reply::Status(500) } else { Reply::Never });
    let places = Places::new(1);
    let place = places.take().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let (caller, mut call) = (world.caller.clone(), world.call());
        call.place = Some(place.clone());
        calls.spawn(async move { caller.fetch(call).await });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(place.is_taken());
}

#[tokio::test(start_paused = true)]
async fn an_error_is_rested_with_the_permit_in_hand() {
    let retry = RetrySettings { error_pause: Duration::from_millis(500), ..retry_settings() };
    let world = World::scripted(limits(2, 0.0), retry, |_, _| Reply::Status(400));
    world.fetch_many(8).join_all().await;
    assert_eq!(world.clock.now() / MS, 4 * 600, "four rounds of two, each answer followed by its rest");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_died_idle_is_tried_again_at_once_and_once() {
    let stale = || World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::Fails(Connection::Stale));
    let world = stale();
    world.fetch().await.unwrap_err();
    assert_eq!(world.waits(), [0, 2_000, 6_000, 18_000], "and it is one of the five tries");
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_of_time_left_a_call_ends() {
    let retry = RetrySettings { total_timeout: Some(Duration::from_secs(10)), ..retry_settings() };
    let world = World::scripted(limits(1, 0.0), retry, |_, _| Reply::Status(500));
    world.fetch().await.unwrap_err();
    assert_eq!(world.waits(), [2_000, 6_000]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_wins_when_it_is_longer() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::RetryAfter(503, 7),
        1 => Reply::RetryAfter(503, 3),
        _ => Reply::Status(200),
    });
    world.fetch().await.unwrap();
    assert_eq!(world.waits(), [7_000, 6_000]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_beyond_the_longest_wait_leaves_the_api_alone_until_then() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| {
        if index == 0 { Reply::RetryAfter(503, 300) } else { Reply::Status(200) }
    });
    let until = |end: &End| match end {
        End::Deferred { until: Some(until), .. } => until.as_second() - at(0).as_second(),
        End::Deferred { until: None, .. } => panic!("a time was named"),
        End::Trouble(_) | End::Interrupted | End::Abandoned => panic!("{end}"),
    };
    assert_eq!(until(&world.fetch().await.unwrap_err().end), 300);
    let second = world.fetch().await.unwrap_err();
    assert_eq!((until(&second.end), second.attempts.len()), (300, 0));
    assert_eq!(world.ears.count(|event| matches!(event, Event::ApiBlocked { .. })), 1);
    tokio::time::sleep(Duration::from_secs(300)).await;
    world.fetch().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn capped_cuts_retry_after_and_ignore_disregards_it() {
    for (rule, wait) in [(RetryAfterRule::Capped, 60_000), (RetryAfterRule::Ignore, 2_000)] {
        let retry = RetrySettings { retry_after: rule, ..retry_settings() };
        let world =
            World::scripted(
                limits(1, 0.0),
                retry,
                |index, _| {
                    if index == 0 { Reply::RetryAfter(503, 300) } else { Reply::Status(200) }
                },
            );
        world.fetch().await.unwrap();
        assert_eq!(world.waits(), [wait], "{rule:?}");
    }
}

#[test]
fn retry_after_is_heard_only_where_it_is_meant() {
    let check = |kind, status: Option<u16>, heard: bool| {
        let trouble = Trouble { retry_after: Some(Duration::from_secs(5)), ..Trouble::plain(kind, Scope::Attempt, "why") };
        assert_eq!(retry_settings().asked(&trouble, status).is_some(), heard, "{kind:?} with {status:?}");
    };
    check(TroubleKind::Retry, Some(200), true);
    check(TroubleKind::SlowDown, Some(200), true);
    check(TroubleKind::Garbled, Some(200), false);
    check(TroubleKind::Garbled, Some(503), true);
    check(TroubleKind::Refused, Some(403), false);
    check(TroubleKind::Refused, Some(429), true);
}

#[test]
fn jitter_is_added_and_never_goes_beyond_the_longest_wait() {
    let settings = RetrySettings { jitter: Duration::from_secs(4), ..retry_settings() };
    let check = |index, random, seconds| assert_eq!(settings.jittered_wait(index, random), Duration::from_secs(seconds));
    check(0, 0.0, 2);
    check(0, 0.5, 4);
    check(0, 1.0, 6);
    check(3, 0.0, 54);
    check(4, 0.0, 56);
    check(4, 1.0, 60);
    check(64, 1.0, 60);
    check(u32::MAX, 0.0, 56);
    let all_jitter = RetrySettings { jitter: Duration::from_secs(90), ..retry_settings() };
    assert_eq!(all_jitter.jittered_wait(0, 1.0), Duration::from_secs(60));
}

#[test]
fn no_call_sits_in_a_wait_of_more_than_a_minute() {
    let patient = RetrySettings { delay: Duration::from_secs(61), max_delay: Duration::from_secs(600), ..retry_settings() };
    let trouble = Trouble::plain(TroubleKind::Retry, Scope::Attempt, "why");
    let failed = Failed { trouble: &trouble, http_status: None, took: Duration::ZERO, connection: Connection::Other };
    let next = Tries::default().after(failed, &patient, 0.0);
    assert_eq!(next, Next::Defer { wait: LONGEST_WAIT + Duration::from_secs(1) });
}

#[test]
fn a_server_that_asks_for_more_than_the_longest_delay_is_left_alone() {
    let check = |max_delay, asked, next| {
        let settings = RetrySettings { max_delay: Duration::from_secs(max_delay), ..retry_settings() };
        let asked = Some(Duration::from_secs(asked));
        let trouble = Trouble { retry_after: asked, ..Trouble::plain(TroubleKind::Retry, Scope::Attempt, "why") };
        let failed = Failed { trouble: &trouble, http_status: None, took: Duration::ZERO, connection: Connection::Other };
        assert_eq!(Tries::default().after(failed, &settings, 0.0), next, "{asked:?} asked, {max_delay} s at most");
    };
    check(10, 10, Next::Again { wait: Duration::from_secs(10) });
    check(10, 11, Next::LeaveAlone { wait: Duration::from_secs(11) });
    check(600, 61, Next::LeaveAlone { wait: Duration::from_secs(61) });
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_an_api_in_the_rest_after_it_asked_to_be_left_alone() {
    let world = World::scripted(limits(4, 20.0), RetrySettings::default(), |_, _| Reply::RetryAfter(503, 300));
    let calls = world.fetch_many(8).join_all().await;
    assert!(calls.iter().all(|call| matches!(call.as_ref().unwrap_err().end, End::Deferred { .. })));
    assert!(world.sends().iter().all(|sent| *sent <= 101 * MS), "{:?}", world.sends());
}
