//! That the limits hold, judged from the server's side in real time.

use std::time::{Duration, Instant};

use gapless::sandbox::RequestLine;

use crate::world::World;

/// The most requests that began within any one second.
pub fn busiest_second(requests: &[RequestLine]) -> usize {
    let within = |from: &RequestLine| {
        let until = from.at + Duration::from_secs(1);
        requests.iter().filter(|line| from.at <= line.at && line.at < until).count()
    };
    requests.iter().map(within).max().unwrap_or(0)
}

/// Requests a second between the first and the last.
pub fn wire_rate(requests: &[RequestLine]) -> f64 {
    let span = requests.last().unwrap().at - requests[0].at;
    (requests.len() - 1) as f64 / span.as_secs_f64()
}

#[track_caller]
pub fn assert_within(requests: &[RequestLine], cap: usize) {
    let busiest = busiest_second(requests);
    assert!(busiest <= cap + 1, "{busiest} requests within a second, {cap} allowed");
}

/// A busy machine makes a run slower, never faster: the best of three counts. What a limit forbids is asserted of each.
#[track_caller]
pub fn assert_reaches(least: f64, measure: impl Fn() -> f64) {
    let mut measured = Vec::new();
    while measured.len() < 3 {
        let share = measure();
        if share >= least {
            return;
        }
        measured.push(share);
    }
    panic!("{measured:?}, and {least} is due");
}

#[test]
fn a_big_run_reaches_its_rate_and_never_exceeds_it() {
    // 27 districts by 15 months, each of one page.
    let line = "collect apt_trade --regions sido:11,26110,26140 --months 2023-01..2024-03 --create --concurrency 6 --rps 40 \
                --format json";
    assert_reaches(0.95, || {
        let world = World::playing("rows = 20\nlatency_ms = 115");
        let run = world.run(line).exits(0);
        let (json, requests) = (run.json(), world.requests());
        assert_eq!(requests.len(), 405);
        assert_within(&requests, 40);
        assert!(requests.iter().all(|line| line.in_flight <= 6));
        let achieved = json["rate"]["achieved_rps"].as_f64().unwrap();
        eprintln!("405 calls at 40 a second: {achieved} told, {:.2} on the wire, {} ms", wire_rate(&requests), json["took_ms"]);
        assert!((achieved - wire_rate(&requests)).abs() < 0.4, "what is told is what the portal saw");
        achieved / 40.0
    });
}

#[test]
fn without_a_rate_the_permits_alone_bound_a_run() {
    let line = "collect apt_trade --regions sido:11 --months 2024-01..2024-04 --create --concurrency 4 --rps none --format json";
    assert_reaches(0.9, || {
        let world = World::playing("rows = 20\nlatency_ms = 100");
        let run = world.run(line).exits(0);
        let requests = world.requests();
        assert_eq!(requests.len(), 100);
        let most = requests.iter().map(|line| line.in_flight).max();
        assert_eq!(most, Some(4), "all four permits are used, and never more");
        assert_eq!(run.json()["bound_by"], "concurrency");
        let (rate, possible) = (wire_rate(&requests), 4.0 / 0.1);
        eprintln!("4 permits at 100 ms: {rate:.1} of {possible} possible");
        rate / possible
    });
}

#[test]
fn refusals_that_are_fast_never_speed_a_run_up() {
    let line = "collect apt_trade --regions sido:11 --months 2024-01 --create --concurrency 8 --rps 40 --format json";
    // Twenty a second are let in: whatever is more is refused within 14 ms, by the portal or by its service.
    let world = World::playing("rows = 20\nlatency_ms = 50\nlimit = { per_second = 20, wait_ms = 14 }");
    let run = world.run(line).exits(0);
    assert_within(&world.requests(), 40);
    world.assert_ledger_tells_every_request(&run);
    assert!(run.json()["calls"]["by_outcome"]["slow_down"].as_u64().unwrap() > 0, "the limit was met");

    let world = World::playing(r#"fault = [{ wait_ms = 14, answer = { kind = "agency", code = "99" } }]"#);
    let run = world.run(line).exits(3);
    let requests = world.requests();
    assert_eq!(requests.len(), 25 * 5);
    assert_within(&requests, 40);
    world.assert_ledger_tells_every_request(&run);
}

#[test]
fn partitions_that_fail_for_ever_do_not_slow_the_others() {
    // As many as a run has places for workers, all among the first to be asked: if they kept their places while they wait,
    // nobody else would be asked meanwhile.
    let failing =
        r#"["11110", "11140", "11170", "11200", "11215", "11230", "11260", "11290", "11305", "11320", "11350", "11380"]"#;
    let scenario = format!(
        r#"rows = 20
        latency_ms = 115
        fault = [{{ region = {failing}, month = "2024-06", answer = {{ kind = "agency", code = "99" }} }}]"#
    );
    let line = "collect apt_trade --regions sido:11,26110,26140 --months 2024-01..2024-06 --create --concurrency 6 --rps 40";
    let share = |error_pause: &str| {
        let world =
            World::playing(&scenario).set("retry.delay", "1s").set("retry.multiplier", "1").set("retry.error_pause", error_pause);
        world.run(line).exits(3);
        let requests = world.requests();
        let fails = |line: &RequestLine| line.played.to_string() != "page";
        let last_whole = requests.iter().rposition(|line| !fails(line)).unwrap();
        let before = &requests[..=last_whole];
        let took = (before[last_whole].at - before[0].at).as_secs_f64();
        let at_the_cap = (before.len() - 1) as f64 / 40.0;
        eprintln!(
            "error_pause {error_pause}: {} whole partitions in {took:.2} s beside {} failing calls, {at_the_cap:.2} s at the cap",
            before.iter().filter(|line| !fails(line)).count(),
            before.iter().filter(|line| fails(line)).count(),
        );
        assert_eq!(requests.iter().filter(|line| fails(line)).count(), 12 * 5);
        assert_within(&requests, 40);
        at_the_cap / took
    };
    assert_reaches(1.0 / 1.05, || share("0s"));
    share("500ms");
}

#[test]
fn a_stopped_process_catches_nothing_up() {
    let world = World::playing("rows = 20\nlatency_ms = 20");
    let run = world.start("collect apt_trade --regions sido:11 --months 2024-01..2024-04 --create --concurrency 8 --rps 40");
    world.wait_for_answers(30);
    run.signal("STOP");
    let (stopped, before) = (Instant::now(), world.requests().len());
    std::thread::sleep(Duration::from_secs(2));
    assert!(world.requests().len() <= before + 1, "it stands still");
    run.signal("CONT");
    run.ended().exits(0);

    let requests = world.requests();
    assert_eq!(requests.len(), 100);
    assert_within(&requests, 40);
    let gaps = requests.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.max().unwrap() > Duration::from_millis(1900), "it was stopped for {:?}", stopped.elapsed());
    let rate_after = wire_rate(&requests[before + 1..]);
    assert!(rate_after <= 40.5, "{rate_after} a second after it went on");
}

#[test]
fn the_classic_table_reaches_what_its_limits_allow_in_each_row() {
    let rows: [(u32, f64); 4] = [(2, 40.0), (4, 40.0), (6, 40.0), (6, 60.0)];
    // The best of two counts, for each row.
    let mut best = [0.0; 4];
    for _ in 0..2 {
        let world = World::playing("rows = 20\nlatency_ms = 115").set("providers.data_go_kr.documented_rps", "none");
        let line = "probe throughput apt_trade --partition 11110,2024-01 --ladder 2:40,4:40,6:40,6:60 --yes --format json";
        let report = world.run(line).exits(0).json();
        let (steps, requests) = (report["steps"].as_array().unwrap(), world.requests());
        assert_eq!((steps.len(), requests.len()), (4, 4 * 405));
        for (row, (concurrency, cap)) in rows.into_iter().enumerate() {
            let requests = &requests[row * 405..(row + 1) * 405];
            assert!(requests.iter().all(|line| line.in_flight <= concurrency), "row {row}");
            assert_within(requests, cap as usize);
            let (achieved, told) = (wire_rate(requests), steps[row]["sent"].as_f64().unwrap());
            assert!((achieved - told).abs() < 0.4, "{told} is told, the portal saw {achieved}");
            let mean = steps[row]["mean_ms"].as_f64().unwrap();
            let by_flight = f64::from(concurrency) * 1000.0 / mean;
            let due = if by_flight < cap { by_flight * 0.97 } else { cap * 0.99 };
            eprintln!("{concurrency} in flight, {cap}/s: {achieved:.2}/s at {mean:.1} ms in the mean, {due:.2} due");
            best[row] = (achieved / due).max(best[row]);
        }
        if best.iter().all(|share| *share >= 1.0) {
            return;
        }
    }
    panic!("{best:?} of what is due");
}
