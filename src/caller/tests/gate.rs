use super::*;

const OTHER: &str = "apt_rent";

/// Answers the first requests like this, and the rest well.
fn at_first(status: u16, times: usize) -> impl Fn(usize, Nanos) -> Reply {
    move |index, _| Reply::Status(if index < times { status } else { 200 })
}

/// Answers one dataset always like this, and every other well.
fn for_one(status: u16) -> impl Fn(&Asked<'_>) -> Reply {
    move |asked| Reply::Status(if asked.url.contains("/apt_trade?") { status } else { 200 })
}

fn blocks(world: &World) -> usize {
    world.ears.count(|event| matches!(event, Event::ApiBlocked { .. }))
}

fn is_deferred(ended: &Result<Fetched, Failure>) -> bool {
    matches!(ended, Err(Failure { end: End::Deferred { .. }, .. }))
}

#[tokio::test(start_paused = true)]
async fn a_spent_quota_leaves_its_dataset_alone_until_midnight_where_the_provider_is() {
    let check = async |zone: &str, seconds: u64| {
        let limits = ProviderLimits { zone: TimeZone::get(zone).unwrap(), ..limits(2, 0.0) };
        let world = World::playing(limits, retry_settings(), None, for_one(402));
        world.fetch().await.unwrap_err();
        let midnight = Some(at(seconds));
        let left = world.fetch().await.unwrap_err();
        assert!(matches!(left.end, End::Deferred { until, .. } if until == midnight), "{zone}: {left}");
        world.caller.fetch(world.call_of(OTHER)).await.unwrap();
        world.clock.sleep_until(seconds * SECOND - MS).await;
        assert!(is_deferred(&world.fetch().await), "{zone}: a millisecond before midnight");
        assert_eq!((world.sends().len(), blocks(&world)), (2, 1), "{zone}");
        world.clock.sleep_until(seconds * SECOND).await;
        assert!(!is_deferred(&world.fetch().await), "{zone}: a new day");
        assert_eq!(world.sends().len(), 3, "{zone}");
    };
    // It is 18:00 in London.
    check("UTC", 6 * 3600).await;
    check("Asia/Seoul", 21 * 3600).await;
    check("America/New_York", 11 * 3600).await;
    check("Asia/Kathmandu", 900).await;
}

#[tokio::test(start_paused = true)]
async fn after_the_first_refusal_one_call_alone_asks_again() {
    // At 25 a second the slots of two calls come when the refusal is known.
    for (status, rps, in_flight) in [(403, 0.0, 4), (451, 0.0, 4), (403, 25.0, 3)] {
        let world = World::scripted(limits(4, rps), retry_settings(), move |_, _| Reply::Status(status));
        let calls = world.fetch_many(20).join_all().await;
        assert_eq!(world.sends().len(), in_flight + 1, "those in flight, and one more");
        assert_eq!(calls.iter().filter(|call| is_deferred(call)).count(), 19);
        assert_eq!(blocks(&world), 1, "said once");
        assert_eq!(world.clock.now() / MS, 2_200, "nobody waits any longer");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_in_doubt_use_up_no_slots() {
    let world = World::playing(limits(1, 1.0), retry_settings(), None, for_one(403));
    let calls = world.fetch_many(6);
    world.sent(1).await;
    world.caller.fetch(world.call_of(OTHER)).await.unwrap();
    assert_eq!(world.sends(), [0, SECOND], "five stood before it for the permit");
    calls.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_in_doubt_gives_its_workers_place_to_another() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), at_first(403, 1));
    tokio::spawn(world.begun(world.call()));
    tokio::time::sleep(Duration::from_millis(150)).await;
    let places = Places::new(1);
    let waiting = tokio::spawn(world.begun(Call { place: Some(places.take().await), ..world.call() }));
    drop(tokio::time::timeout(Duration::from_millis(1), places.take()).await.unwrap());
    waiting.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_mistaken_refusal_costs_nothing_but_time() {
    for mistakes in [1, 4] {
        let world = World::scripted(limits(4, 0.0), retry_settings(), at_first(403, mistakes));
        let calls = tokio::time::timeout(Duration::from_secs(600), world.fetch_many(20).join_all()).await;
        for call in calls.expect("nobody waits for ever") {
            call.unwrap();
        }
        let sends = world.sends();
        assert_eq!((sends.len(), blocks(&world)), (20 + mistakes, 0));
        let alone = &sends[4..6];
        assert!(alone[0] == 2_100 * MS && alone[1] >= 2_200 * MS, "one asks, and the others go on after its answer: {sends:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_reaches_as_far_as_its_scope() {
    let check = async |status: u16, sends: usize, other_goes_on: bool| {
        let world = World::playing(limits(1, 0.0), retry_settings(), None, for_one(status));
        world.fetch().await.unwrap_err();
        assert_eq!(world.sends().len(), sends, "{status}");
        assert!(is_deferred(&world.fetch().await), "{status}: this dataset");
        assert_eq!(world.caller.fetch(world.call_of(OTHER)).await.is_ok(), other_goes_on, "{status}: another dataset");
        assert_eq!(world.sends().len(), sends + usize::from(other_goes_on), "{status}");
        assert_eq!(world.caller.stopped_api(&provider(), &Name::literal(OTHER)).is_none(), other_goes_on, "{status}");
        tokio::time::sleep(Duration::from_secs(48 * 3600)).await;
        assert!(is_deferred(&world.fetch().await), "{status}: for the rest of the run");
    };
    check(403, 2, true).await;
    check(451, 2, false).await;
    check(410, 1, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_one_request_alone_stops_nobody_else() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), at_first(401, 2));
    assert!(matches!(world.fetch().await.unwrap_err().end, End::Trouble(_)));
    world.fetch().await.unwrap();
    assert_eq!(blocks(&world), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_refusal_stops_nothing() {
    // No time for a second try: the call ends, and its API is asked by the next one.
    let retry = RetrySettings { max_retries: 0, total_timeout: Some(Duration::from_secs(1)), ..retry_settings() };
    let world = World::scripted(limits(1, 0.0), retry, at_first(403, 1));
    world.fetch().await.unwrap_err();
    world.fetch().await.unwrap();
    assert_eq!(blocks(&world), 0);
}

/// A call that waits for something, behind a request of the same or another dataset that was answered like this.
async fn waiting(limits: ProviderLimits, dataset: &'static str, first: Reply) -> (World, JoinSet<Result<Fetched, Failure>>) {
    let world = World::playing(limits, retry_settings(), None, move |asked| match asked.index {
        0 => first.clone(),
        _ => Reply::Never,
    });
    tokio::spawn(world.begun(world.call_of(dataset)));
    // Its answer has come.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let mut waiting = JoinSet::new();
    waiting.spawn(world.begun(world.call()));
    // The canary is out, and so is the call that confirms.
    tokio::time::sleep(Duration::from_secs(3)).await;
    (world, waiting)
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_told_at_once_that_its_api_is_left_alone() {
    let check = async |what: &str, limits: ProviderLimits, dataset: &'static str, first: Reply, sends: usize| {
        let (world, mut waiting) = waiting(limits, dataset, first).await;
        let stopped = world.clock.now();
        world.caller.stop_api(&provider(), &Name::literal("apt_trade"), "the user says so");
        let ended = tokio::time::timeout(Duration::from_secs(1), waiting.join_next()).await;
        let failure = ended.unwrap_or_else(|_| panic!("{what}: it waits on")).unwrap().unwrap().unwrap_err();
        assert_eq!(failure.end.to_string(), "not asked in this run: the user says so", "{what}");
        assert_eq!((world.clock.now(), world.sends().len()), (stopped, sends), "{what}");
    };
    check("for a permit", limits(1, 0.0), OTHER, Reply::Never, 1).await;
    check("for a slot", limits(2, 0.01), OTHER, Reply::Never, 1).await;
    check("in a pause", limits(2, 0.0), OTHER, Reply::RetryAfter(429, 50), 1).await;
    check("for a canary", limits(2, 0.0), OTHER, Reply::Status(429), 2).await;
    check("in doubt", limits(2, 0.0), "apt_trade", Reply::Status(403), 2).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_sleeps_to_retry_is_told_at_once_that_its_api_is_left_alone() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::Status(500));
    let calls = world.fetch_many(3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let stopped = world.clock.now();
    world.caller.stop_api(&provider(), &Name::literal("apt_trade"), "the user says so");
    assert!(calls.join_all().await.iter().all(is_deferred));
    assert_eq!((world.clock.now(), world.sends().len()), (stopped, 3));
}

#[tokio::test(start_paused = true)]
async fn an_api_left_alone_lets_its_requests_in_flight_land() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), |_, _| Reply::Status(200));
    let calls = world.fetch_many(4);
    world.sent(2).await;
    world.caller.stop_api(&provider(), &Name::literal("apt_trade"), "the user says so");
    assert_eq!(calls.join_all().await.iter().filter(|call| call.is_ok()).count(), 2);
}

/// What becomes of the call that is to confirm a refusal.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Dropped,
    Abandoned,
    Deferred,
    /// Its second answer is of another kind and final.
    Fails(u16),
    /// Its second answer shows that the key is let in, though it brings no page.
    IsLetIn,
}

#[tokio::test(start_paused = true)]
async fn a_doubt_ends_with_the_call_that_was_to_resolve_it() {
    for fate in [Fate::Dropped, Fate::Abandoned, Fate::Deferred, Fate::Fails(400), Fate::Fails(500), Fate::IsLetIn] {
        let mut retry = RetrySettings { max_retries: 0, ..retry_settings() };
        let second = match fate {
            Fate::Dropped | Fate::Abandoned => 403,
            Fate::Deferred => {
                (retry.delay, retry.max_delay) = (Duration::from_secs(70), Duration::from_secs(70));
                403
            }
            Fate::Fails(status) => status,
            Fate::IsLetIn => {
                retry.max_retries = 4;
                421
            }
        };
        let world = World::scripted(limits(2, 0.0), retry, move |index, _| match index {
            0 => Reply::Status(403),
            1 if matches!(fate, Fate::Fails(_) | Fate::IsLetIn) => Reply::Status(second),
            _ => Reply::Status(200),
        });
        let abandoned = tokio_util::sync::CancellationToken::new();
        let confirming = tokio::spawn(world.begun(Call { abandoned: Some(abandoned.clone()), ..world.call() }));
        // The refusal has come.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let mut waiting = JoinSet::new();
        waiting.spawn(world.begun(world.call()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ends = match fate {
            Fate::Dropped => {
                confirming.abort();
                world.clock.now()
            }
            Fate::Abandoned => {
                abandoned.cancel();
                world.clock.now()
            }
            // The other call was never held up for long.
            Fate::Deferred => 150 * MS,
            Fate::Fails(_) | Fate::IsLetIn => 2_200 * MS,
        };
        let ended = tokio::time::timeout(Duration::from_secs(600), waiting.join_next()).await;
        ended.unwrap_or_else(|_| panic!("{fate:?}: it waits on")).unwrap().unwrap().unwrap();
        let left = *world.sends().last().unwrap();
        assert!((ends..=ends + 2 * MS).contains(&left), "{fate:?}: it left at {} ms", left / MS);
        assert_eq!(blocks(&world), 0, "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_doubt_and_whoever_waits_for_it() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), |_, _| Reply::Status(403));
    let calls = world.fetch_many(3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.caller.stop_claiming();
    let stopped = world.clock.now();
    for call in calls.join_all().await {
        assert_eq!(call.unwrap_err().end, End::Interrupted);
    }
    assert_eq!((world.clock.now(), blocks(&world)), (stopped, 0));
}

#[tokio::test(start_paused = true)]
async fn what_leaves_an_api_alone_for_longer_stands() {
    let world = World::scripted(limits(3, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::Status(402),
        1 => Reply::RetryAfter(503, 300),
        _ => Reply::Status(410),
    });
    let mut calls = world.fetch_many(2);
    while let Some(call) = calls.join_next().await {
        drop(call.unwrap().unwrap_err());
    }
    let left = world.fetch().await.unwrap_err();
    assert!(matches!(left.end, End::Deferred { until, .. } if until == Some(at(6 * 3600))), "{left}");
    world.caller.stop_api(&provider(), &Name::literal("apt_trade"), "for good");
    assert_eq!(world.caller.stopped_api(&provider(), &Name::literal("apt_trade")).unwrap(), "not asked in this run: for good");
    assert_eq!(blocks(&world), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_refused_as_invalid_in_a_row_stop_their_api_before_another_goes() {
    let three = || ProviderLimits { invalid_in_a_row: 3, ..limits(1, 0.0) };
    let world = World::scripted(three(), retry_settings(), |_, _| Reply::Status(400));
    let calls = world.fetch_many(8).join_all().await;
    assert_eq!((world.sends().len(), blocks(&world)), (3, 1));
    assert_eq!(calls.iter().filter(|call| is_deferred(call)).count(), 5);
    let left = world.fetch().await.unwrap_err();
    assert_eq!(left.end.to_string(), "not asked in this run: 3 calls in a row were refused as invalid: status 400: body");

    // One answer between them, and they are not in a row; nor are those of another dataset.
    let world = World::scripted(three(), retry_settings(), |index, _| Reply::Status(if index == 2 { 200 } else { 400 }));
    world.fetch_many(5).join_all().await;
    world.caller.fetch(world.call_of(OTHER)).await.unwrap_err();
    assert_eq!((world.sends().len(), blocks(&world)), (6, 0));
    world.fetch().await.unwrap_err();
    assert_eq!(blocks(&world), 1);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_says_what_it_waited_for() {
    let waits = async |limits: ProviderLimits, first: u16, calls: usize| {
        let world = World::scripted(limits, retry_settings(), at_first(first, 1));
        let fetched = world.fetch_many(calls).join_all().await;
        let attempts = fetched.into_iter().flat_map(|call| call.unwrap().attempts);
        let last = attempts.max_by_key(|attempt| attempt.sent_at).unwrap();
        last.waits
    };
    let ms = Duration::from_millis;
    let none = Waits::default();
    assert_eq!(waits(limits(1, 0.0), 200, 1).await, none);
    assert_eq!(waits(limits(1, 0.0), 200, 2).await, Waits { permit: ms(100), ..none });
    assert_eq!(waits(limits(2, 2.0), 200, 2).await, Waits { slot: ms(500), ..none });
    assert_eq!(waits(limits(1, 0.0), 500, 1).await, Waits { retry: ms(2000), ..none });
    let paused = waits(limits(1, 0.0), 429, 1).await;
    assert!(paused.pause > ms(500) && paused == Waits { pause: paused.pause, ..none }, "{paused:?}");
}
