use super::*;
use tokio_util::sync::CancellationToken;

fn walk(world: &World, over: &CancellationToken) -> Call {
    Call { abandoned: Some(over.clone()), ..world.call() }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_of_an_abandoned_call_begins_wherever_it_waits() {
    let check = async |what: &str, in_flight: u32, rps: f64, first: Reply| {
        let world = World::scripted(limits(in_flight, rps), retry_settings(), move |index, _| match index {
            0 => first.clone(),
            _ => Reply::Status(200),
        });
        let over = CancellationToken::new();
        let mut calls = JoinSet::new();
        for _ in 0..3 {
            calls.spawn(world.begun(walk(&world, &over)));
        }
        world.sent(1).await;
        tokio::time::sleep(Duration::from_millis(1_050)).await;
        let (abandoned, sends) = (world.clock.now(), world.sends().len());
        over.cancel();
        let mut ended = Vec::new();
        while let Ok(Some(call)) = tokio::time::timeout(Duration::from_secs(1), calls.join_next()).await {
            ended.push(call.unwrap());
        }
        let left: Vec<_> = ended.iter().filter(|call| matches!(call, Err(Failure { end: End::Abandoned, .. }))).collect();
        assert!(!left.is_empty(), "{what}: somebody waited");
        assert_eq!(world.sends().len(), sends, "{what}");
        assert!(world.clock.now() <= abandoned + 1_001 * MS, "{what}");
        // Nobody else is any the worse for it.
        assert!(!world.caller.is_stopping(), "{what}");
        world
    };
    check("to retry", 1, 0.0, Reply::Status(500)).await;
    check("for a permit", 1, 0.0, Reply::Never).await;
    check("for a slot", 3, 0.01, Reply::Status(200)).await;
    check("in a pause", 3, 0.0, Reply::RetryAfter(429, 50)).await;
    check("in doubt", 3, 0.0, Reply::Status(403)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_abandoned_before_it_began_asks_nobody() {
    let world = World::scripted(limits(1, 0.0), retry_settings(), |_, _| Reply::Status(200));
    let over = CancellationToken::new();
    over.cancel();
    let failure = world.caller.fetch(walk(&world, &over)).await.unwrap_err();
    assert_eq!((failure.end, failure.attempts.len(), world.sends().len()), (End::Abandoned, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_lands_and_is_on_record_although_its_call_is_abandoned() {
    let check = async |status: u16, end: Option<End>| {
        let world = World::scripted(limits(1, 0.0), retry_settings(), move |_, _| Reply::Status(status));
        let over = CancellationToken::new();
        let mut calls = JoinSet::new();
        calls.spawn(world.begun(walk(&world, &over)));
        world.sent(1).await;
        over.cancel();
        let ended = calls.join_next().await.unwrap().unwrap();
        assert_eq!(world.clock.now() / MS, 100, "{status}: it was waited for");
        let attempts = match (&ended, end) {
            (Ok(fetched), None) => &fetched.attempts,
            (Err(failure), Some(end)) if failure.end == end => &failure.attempts,
            _ => panic!("{status}: {ended:?}"),
        };
        assert!(attempts.len() == 1 && attempts[0].sent, "{status}");
        assert_eq!(world.ears.steps(), [NextStep::Done], "{status}");
        assert_eq!(world.sends().len(), 1, "{status}");
    };
    check(200, None).await;
    check(500, Some(End::Abandoned)).await;
    check(429, Some(End::Abandoned)).await;
    check(403, Some(End::Abandoned)).await;
    let invalid = Trouble::plain(TroubleKind::Invalid, Scope::Attempt, "status 400: body");
    check(400, Some(End::Trouble(Box::new(invalid)))).await;
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_call_still_rests_after_an_error() {
    // Its walk is over, but its provider is asked by others.
    let retry = RetrySettings { error_pause: Duration::from_millis(500), ..retry_settings() };
    let world = World::scripted(limits(1, 0.0), retry, |index, _| Reply::Status(if index == 0 { 500 } else { 200 }));
    let over = CancellationToken::new();
    let mut calls = JoinSet::new();
    calls.spawn(world.begun(walk(&world, &over)));
    world.sent(1).await;
    over.cancel();
    world.fetch().await.unwrap();
    assert_eq!(world.sends(), [0, 600 * MS]);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_call_gives_its_place_and_its_canary_back() {
    let world = World::scripted(limits(2, 0.0), retry_settings(), |index, _| match index {
        0 => Reply::Status(429),
        _ => Reply::Status(200),
    });
    let places = Places::new(1);
    let over = CancellationToken::new();
    let call = Call { place: Some(places.take().await), ..walk(&world, &over) };
    let abandoned = tokio::spawn(world.begun(call));
    tokio::time::sleep(Duration::from_millis(500)).await;
    over.cancel();
    assert_eq!(abandoned.await.unwrap().unwrap_err().end, End::Abandoned);
    tokio::time::timeout(Duration::from_millis(1), places.take()).await.unwrap();
    world.fetch().await.unwrap();
    assert_eq!(world.sends().len(), 2);
}
