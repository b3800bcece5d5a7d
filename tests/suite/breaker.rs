//! A server in trouble is left alone: judged from its own log.

use std::time::Duration;

use gapless::sandbox::RequestLine;

use crate::world::{Ended, World};

/// 25 districts by 4 months, one page each.
const HUNDRED: &str = "collect apt_trade --regions sido:11 --months 2024-01..2024-04 --create --rps 40 --format json";
const DOWN: &str = "answer = { kind = \"html\", status = 504 }";

/// Down from its second second on, for five seconds: longer than all retries of a call take.
fn down_for_a_while() -> World {
    let scenario = format!("rows = 20\nlatency_ms = 20\n[[fault]]\nfrom_ms = 1000\nuntil_ms = 6000\n{DOWN}");
    World::playing(&scenario).set("retry.delay", "50ms").set("breaker.open_for", "2s").set("breaker.failures_in_a_row", "6")
}

fn with_breaker(world: World) -> World {
    world.set("breaker.counts", "attempts")
}

fn is_dead(line: &RequestLine) -> bool {
    line.answered == Some(504)
}

fn count(run: &Ended, verdict: &str) -> u64 {
    run.json()["partitions"][verdict].as_u64().unwrap()
}

#[test]
fn a_server_that_was_down_for_a_while_leaves_no_gap_and_few_dead_requests() {
    let world = down_for_a_while();
    let run = world.run(HUNDRED).exits(3);
    let without = world.requests().iter().filter(|line| is_dead(line)).count();
    let lost = count(&run, "failed");
    assert!(lost >= 10, "without a breaker the retries are used up: {lost}");

    let world = with_breaker(down_for_a_while());
    let run = world.run(HUNDRED).exits(0);
    let requests = world.requests();
    let dead: Vec<&RequestLine> = requests.iter().filter(|line| is_dead(line)).collect();
    let took = Duration::from_millis(run.json()["took_ms"].as_u64().unwrap());
    eprintln!("dead requests: {without} without a breaker and {lost} partitions lost, {} with one, {took:.1?}", dead.len());
    assert_eq!(count(&run, "complete"), 100);
    // Those that open it with what was in flight, and four for each try.
    assert!(dead.len() <= 6 + 4 + 2 * (4 + 4), "{} dead requests", dead.len());
    let silence = requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
    assert!(silence >= Duration::from_secs(2), "nobody asks while it is open: {silence:?}");
    world.assert_ledger_tells_every_request(&run);
    let states = world.query("select state from breaker_change order by id").concat();
    assert_eq!((states[0].as_str(), states[1].as_str(), states.last().unwrap().as_str()), ("open", "half_open", "closed"));
    assert!(run.stderr.contains("apt_trade is in trouble and not asked before"), "{}", run.stderr);
    assert!(run.stderr.contains("apt_trade is well again"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_waited_for_is_deferred_and_the_next_run_does_not_hammer() {
    let down = || with_breaker(World::playing(&format!("fault = [{{ {DOWN} }}]"))).set("breaker.failures_in_a_row", "6");
    let world = down();
    let run = world.run(&format!("{HUNDRED} --max-runtime 20s")).exits(6);
    assert!(world.requests().len() <= 6 + 4, "{} requests", world.requests().len());
    assert_eq!(run.json()["partitions"]["deferred"], 100, "{}", run.stdout);
    assert!(run.json()["took_ms"].as_u64().unwrap() < 10_000, "nobody waits for what comes too late");
    let why = run.json()["gaps"][99]["why"].as_str().unwrap().to_owned();
    for said in ["not asked before", "its breaker is open: 6 failures in a row; the last: ", "504"] {
        assert!(why.contains(said), "`{said}` is said in `{why}`");
    }
    assert_eq!(world.count("select count(*) from coverage where verdict <> 'deferred'"), 0, "never taken for no rows");

    // It would answer now, but its time is not over.
    let world = world.now_playing("rows = 20");
    let run = world.run(&format!("{HUNDRED} --max-runtime 20s")).exits(6);
    assert_eq!(world.requests().len(), 0);
    assert_eq!(count(&run, "deferred"), 100);

    let ledger = world.query("select state, openings, run from breaker_change");
    assert_eq!(ledger, [["open", "1", "1"]]);
}

#[test]
fn without_an_end_of_the_run_its_partitions_wait_and_none_is_begun_meanwhile() {
    let scenario = format!("rows = 20\n[[fault]]\nuntil_ms = 1500\n{DOWN}");
    let world = with_breaker(World::playing(&scenario))
        .set("breaker.failures_in_a_row", "6")
        .set("breaker.open_for", "2s")
        .set("retry.delay", "100ms");
    let mut run = world.start(HUNDRED);
    run.wait_to_say("is in trouble");
    world.wait_for_answers(6);
    std::thread::sleep(Duration::from_millis(500));
    let begun = world.count("select count(*) from job");
    assert!(begun <= 20, "{begun} jobs are begun for a server in trouble");
    run.ended().exits(0);
    assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 100);
}

#[test]
fn a_signal_ends_a_run_that_waits_at_once() {
    let world = with_breaker(World::playing(&format!("fault = [{{ {DOWN} }}]"))).set("breaker.failures_in_a_row", "6");
    let mut run = world.start(HUNDRED);
    run.wait_to_say("is in trouble");
    let before = std::time::Instant::now();
    run.signal("INT");
    run.ended().exits(130);
    assert!(before.elapsed() < Duration::from_secs(5));
    assert_eq!(world.count("select count(*) from job where state <> 'ended'"), 0);
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_arithmetic() {
    let check = |text: &str, said: &[&str]| {
        let world = with_breaker(World::playing("")).without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__RPS");
        world.file("gapless.toml", text);
        let run = world.run("config check").exits(2);
        for said in said {
            assert!(run.stderr.contains(said), "`{said}` is said in\n{}", run.stderr);
        }
        assert_eq!(world.requests().len(), 0);
    };
    check(
        "[breaker]\nwindow = \"60s\"",
        &["gapless.toml:2: ", "`breaker.window` (60s) can never hold `breaker.min_calls` (30)", "4 permits x 60s / 60s = 4"],
    );
    check("[breaker.apt_trade]\nmin_calls = 13", &["gapless.toml:2: ", "4 permits x 180s / 60s = 12"]);
    check("[breaker.apt_trad]\nwindow = \"60s\"", &["no provider or dataset is called `apt_trad`; did you mean `apt_trade`?"]);
    check("[breaker]\nopen_for = \"11m\"", &["`breaker.max_open_for` (600s) is shorter than `breaker.open_for` (660s)"]);
    check("[breaker]\nfailure_rate = 0.35", &["`breaker.failure_rate` cannot be `0.35`: give a number from 1 to 100"]);
}

#[test]
fn a_minimum_that_cannot_be_reached_is_lowered_and_said() {
    let world = with_breaker(World::playing("rows = 20"));
    let run = world.run("collect apt_trade --partition 11110,2024-01 --create --rps 10").exits(0);
    let said = "left alone for 2 min 00 s when 35 % of 30 calls (lowered to 12 where all time out: 4 permits x 180s / 60s = 12)";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}
