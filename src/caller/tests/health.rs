use super::*;

const PARTITIONS: usize = 405;
const FAILING: usize = 20;
/// Pages of a partition that does not fail.
const PAGES: usize = 3;
const CAP: f64 = 40.0;
const PERMITS: u32 = 6;

/// How a night went that some partitions spoiled.
struct Night {
    /// When the last healthy partition was whole.
    healthy_done: Duration,
    /// Requests until then, of healthy partitions and of failing ones.
    healthy_calls: usize,
    failing_calls: usize,
}

/// Walks all partitions as the conductor does: twice as many places as permits, and a worker in a long wait gives its
/// place to the next partition. The failing ones are spread over the whole list.
async fn night(error_pause: Duration) -> Night {
    let retry = RetrySettings { error_pause, ..RetrySettings::default() };
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let world = World::playing(limits(PERMITS, CAP), retry, None, move |request| {
        let is_failing = request.url.contains("failing");
        log.lock().unwrap().push((request.at, is_failing));
        Reply::Status(if is_failing { 500 } else { 200 })
    });
    let places = Places::new(PERMITS as usize * 2);
    let mut walks = JoinSet::new();
    for partition in 0..PARTITIONS {
        let place = places.take().await;
        let is_failing = partition % (PARTITIONS / FAILING) == 0 && partition / (PARTITIONS / FAILING) < FAILING;
        let call = Call { place: Some(place), ..world.call_of(if is_failing { "failing" } else { "healthy" }) };
        let (caller, clock) = (world.caller.clone(), world.clock.clone());
        walks.spawn(async move {
            for _ in 0..PAGES {
                if caller.fetch(call.clone()).await.is_err() {
                    assert!(is_failing);
                    return None;
                }
            }
            Some(clock.now())
        });
    }
    let whole: Vec<Nanos> = walks.join_all().await.into_iter().flatten().collect();
    assert_eq!(whole.len(), PARTITIONS - FAILING);
    let done = *whole.iter().max().unwrap();
    let before = asked.lock().unwrap().iter().filter(|(at, _)| *at <= done).copied().collect::<Vec<_>>();
    let failing_calls = before.iter().filter(|(_, is_failing)| *is_failing).count();
    let healthy_done = Duration::from_nanos(done);
    Night { healthy_done, healthy_calls: before.len() - failing_calls, failing_calls }
}

#[expect(clippy::print_stdout, reason = "the figures are told to whoever asks for them with --no-capture")]
#[tokio::test(start_paused = true)]
async fn partitions_that_keep_failing_do_not_slow_the_healthy_ones() {
    let check = async |error_pause: Duration| {
        let Night { healthy_done, healthy_calls, failing_calls } = night(error_pause).await;
        assert_eq!(healthy_calls, (PARTITIONS - FAILING) * PAGES);
        assert!(failing_calls > 2 * FAILING, "they were tried again meanwhile: {failing_calls}");
        let least = (healthy_calls + failing_calls) as f64 / CAP;
        let share = healthy_done.as_secs_f64() / least;
        println!(
            "error_pause {error_pause:?}: {healthy_calls} calls and {failing_calls} failing attempts in {healthy_done:.2?}, \
             {:.1} % more than {least:.2} s",
            (share - 1.0) * 100.0
        );
        assert!(share <= 1.05, "{share:.3} times the time that the cap alone takes");
    };
    check(Duration::ZERO).await;
    // The rest after an error holds a permit by intention: six permits of 0.1 s have some to spare.
    check(RetrySettings::default().error_pause).await;
}
