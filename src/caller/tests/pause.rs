use super::super::pause::{Pause, Refused, Way, Witness};
use super::*;

/// Refuses all that is sent before this second.
fn refusing_until(second: u64) -> impl Fn(usize, Nanos) -> Reply {
    move |_, now| Reply::Status(if now < second * SECOND { 429 } else { 200 })
}

#[tokio::test(start_paused = true)]
async fn refusals_of_calls_in_flight_together_are_one_event() {
    let world = World::scripted(limits(8, 0.0), retry_settings(), |index, _| Reply::Status(if index < 8 { 429 } else { 200 }));
    world.fetch_many(8).join_all().await.into_iter().for_each(|call| drop(call.unwrap()));
    assert_eq!(world.ears.pauses(), [1]);
    assert_eq!(world.ears.count(|event| matches!(event, Event::ProviderResumed { .. })), 1);
    assert_eq!(world.sends().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn single_canaries_test_the_way_back_with_doubling_pauses() {
    let world = World::scripted(limits(8, 0.0), retry_settings(), refusing_until(200));
    let calls = world.fetch_many(8).join_all().await;
    assert_eq!(world.ears.pauses(), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    let canaries: Vec<Nanos> = world.sends()[8..].to_vec();
    let alone = canaries.windows(2).take(8).all(|pair| pair[1] - pair[0] >= SECOND);
    assert!(alone, "one at a time: {canaries:?}");
    for call in calls {
        let attempts = call.unwrap().attempts;
        assert!(attempts.iter().all(|attempt| attempt.number == 1), "throttling uses up no tries");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_as_long_as_the_server_asks() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| {
        if index == 0 { Reply::RetryAfter(429, 7) } else { Reply::Status(200) }
    });
    world.fetch().await.unwrap();
    assert_eq!(world.waits(), [7_000]);
}

#[tokio::test(start_paused = true)]
async fn after_ten_minutes_in_the_dark_calls_are_deferred() {
    let world = World::scripted(limits(4, 0.0), retry_settings(), |_, _| Reply::Status(429));
    let calls = world.fetch_many(4).join_all().await;
    assert!(calls.iter().all(|call| matches!(&call.as_ref().unwrap_err().end, End::Deferred { .. })));
    assert_eq!(world.clock.now() / SECOND, 600);
    // A later call is a canary when the pause is over, and sits in no wait.
    let sent = world.sends().len();
    let late = world.fetch().await.unwrap_err();
    assert!(matches!(late.end, End::Deferred { .. }));
    assert!(world.sends().len() <= sent + 1);
    assert_eq!(world.clock.now() / SECOND, 600);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_pause_of_more_than_a_minute() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::RetryAfter(429, 3_600));
    let failure = world.fetch().await.unwrap_err();
    assert!(matches!(failure.end, End::Deferred { until, .. } if until >= Some(at(3_600))), "{failure}");
    assert!(world.clock.now() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_hears_nothing_is_as_bad_as_refused() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::Status(429),
        1 => Reply::Fails(Connection::Other),
        _ => Reply::Status(200),
    });
    world.fetch().await.unwrap();
    assert_eq!(world.ears.pauses(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_canary_whose_old_connection_died_says_nothing() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::Status(429),
        1 => Reply::Fails(Connection::Stale),
        _ => Reply::Status(200),
    });
    world.fetch().await.unwrap();
    assert_eq!((world.ears.pauses(), world.waits()), (vec![1], vec![1_000, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_the_provider_dark_at_its_slot_does_not_send() {
    let world = World::scripted(limits(4, 5.0), retry_settings(), |index, _| Reply::Status(if index == 0 { 429 } else { 200 }));
    world.fetch_many(4).join_all().await;
    assert!(world.sends()[1] >= SECOND, "{:?}", world.sends());
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_called_off_lets_another_go_at_once() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::Status(429),
        1 => Reply::Never,
        _ => Reply::Status(200),
    });
    let (caller, call) = (world.caller.clone(), world.call());
    let first = tokio::spawn(async move { caller.fetch(call).await });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut second = world.fetch_many(1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.sends().len(), 2, "the canary is out, so the second call waits");
    first.abort();
    second.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(world.clock.now() / SECOND, 4);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_lowers_the_rate_at_once_and_it_rises_again_slowly() {
    let world = World::scripted(limits(1, 10.0), retry_settings(), |index, _| Reply::Status(if index == 0 { 429 } else { 200 }));
    for _ in 0..1_200 {
        world.fetch().await.unwrap();
    }
    let gaps: Vec<u64> = world.sends().windows(2).skip(1).map(|pair| (pair[1] - pair[0]) / MS).collect();
    assert!((140..=144).contains(&gaps[0]), "0.7 of the rate: {}", gaps[0]);
    assert!(gaps.iter().all(|gap| *gap >= 99), "never above the cap");
    assert!(gaps[gaps.len() - 10..].iter().all(|gap| *gap <= 102), "the cap is reached again");
}

#[test]
fn only_a_refusal_sent_in_the_light_opens_a_new_event() {
    let mut pause = Pause::new(Duration::from_secs(600));
    let event = |seconds| Refused::NewEvent { pause: Duration::from_secs(seconds) };
    let refused = |pause: &mut Pause, now, sent| pause.refused(now * SECOND, Witness::SentAt(sent * SECOND), None, "");
    assert_eq!(refused(&mut pause, 10, 9), event(1));
    assert_eq!(refused(&mut pause, 10, 9), Refused::SameEvent);
    assert_eq!(pause.ask(11 * SECOND), Way::AsCanary);
    assert_eq!(pause.ask(11 * SECOND), Way::WaitForCanary { until: 610 * SECOND });
    assert_eq!(pause.answered(12 * SECOND, Witness::SentAt(9 * SECOND)), None, "an old success opens nothing");
    assert_eq!(pause.answered(12 * SECOND, Witness::Canary), Some(Duration::from_secs(2)));
    assert_eq!(refused(&mut pause, 13, 9), Refused::SameEvent, "a slow answer from before the pause");
    assert_eq!(refused(&mut pause, 14, 13), event(2), "so soon after the last one: doubled");
    assert_eq!(pause.ask(16 * SECOND), Way::AsCanary);
    pause.answered(16 * SECOND, Witness::Canary);
    assert_eq!(refused(&mut pause, 90, 89), event(1), "after a quiet minute: from the beginning");
}

#[test]
fn what_the_server_asks_of_a_late_witness_makes_the_pause_longer() {
    let mut pause = Pause::new(Duration::from_secs(600));
    pause.refused(0, Witness::SentAt(0), None, "");
    pause.refused(0, Witness::SentAt(0), Some(Duration::from_secs(7)), "");
    assert_eq!(pause.ask(6 * SECOND), Way::WaitUntil(7 * SECOND));
}

#[test]
fn a_refusal_that_another_host_heard_is_a_pause_here_too() {
    let mut pause = Pause::new(Duration::from_secs(600));
    assert!(pause.refused_elsewhere(0, Duration::from_secs(4), "too fast"));
    assert!(!pause.refused_elsewhere(SECOND, Duration::from_secs(4), "too fast"), "known already");
    assert_eq!(pause.ask(SECOND), Way::WaitUntil(5 * SECOND));
    assert_eq!(pause.ask(5 * SECOND), Way::AsCanary);
    // The canary of another host is out: ours is called off and looks again.
    pause.put_off(6 * SECOND);
    pause.canary_lost();
    assert_eq!(pause.ask(5 * SECOND), Way::WaitUntil(6 * SECOND));
    assert!(pause.answered_elsewhere(6 * SECOND));
    assert!(!pause.answered_elsewhere(6 * SECOND));
    assert_eq!(pause.ask(6 * SECOND), Way::Open);
    let late = pause.refused(6 * SECOND, Witness::SentAt(5 * SECOND), None, "too fast");
    assert_eq!(late, Refused::SameEvent, "it was sent before the canary was answered");
}

#[test]
fn a_canary_that_is_refused_after_a_pause_of_others_doubles_theirs() {
    let mut pause = Pause::new(Duration::from_secs(600));
    pause.refused_elsewhere(0, Duration::from_secs(4), "too fast");
    assert_eq!(pause.ask(4 * SECOND), Way::AsCanary);
    let refused = pause.refused(4 * SECOND, Witness::Canary, None, "too fast");
    assert_eq!(refused, Refused::StillDark { pause: Duration::from_secs(8) });
}

#[tokio::test(start_paused = true)]
async fn a_ban_after_good_answers_pauses_the_provider_and_refuses_no_key() {
    // The first is answered, then a bare 403 for 12 s.
    let world = World::scripted(limits(4, 0.0), retry_settings(), |index, now| {
        Reply::Status(if index > 0 && now < 12 * SECOND { 403 } else { 200 })
    });
    world.fetch().await.unwrap();
    world.fetch_many(4).join_all().await.into_iter().for_each(|call| drop(call.unwrap()));
    assert_eq!(world.ears.pauses(), [1, 2, 4, 8]);
    // Of a dataset that was not asked before as well, while nobody is answered.
    let world = World::playing(limits(1, 0.0), retry_settings(), None, |asked| {
        Reply::Status(if asked.index > 0 && asked.at < 12 * SECOND { 403 } else { 200 })
    });
    world.fetch().await.unwrap();
    let other = world.begun(world.call_of("apt_rent"));
    let (again, other) = tokio::join!(world.fetch(), other);
    assert!(again.is_ok() && other.is_ok());
    assert!(world.ears.pauses().len() >= 3, "{:?}", world.ears.pauses());
}
