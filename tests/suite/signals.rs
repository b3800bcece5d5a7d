//! What a run leaves behind when it is ended from outside, and that the next one goes on from there.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::world::{Running, World};

/// Eight partitions of three pages each, in about two seconds.
const EIGHT: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-08 --create --format json";
const SLOW: &str = "rows = 250\nlatency_ms = 250";
const QUICK: &str = "rows = 250";

fn assert_all_true(world: &World) {
    for number in 1..=8 {
        world.assert_rows_are_true("11110", &format!("2024-{number:02}"));
    }
    assert_eq!(world.count("select count(*) from apt_trade_rows"), 8 * 250, "no row is left over from a job that did not end");
}

/// Whatever is visible is whole.
fn assert_nothing_is_half_published(world: &World) {
    for line in world.query("select month, count(*) from apt_trade group by month") {
        assert_eq!(line[1], "250", "{}", line[0]);
        world.assert_rows_are_true("11110", &line[0]);
    }
}

/// Ends a run by a signal after some answers.
fn ended_after(world: &World, answers: usize, signal: &str) -> (crate::world::Ended, Duration) {
    let run: Running = world.start(EIGHT);
    world.wait_for_answers(answers);
    run.signal(signal);
    let signalled = Instant::now();
    (run.ended(), signalled.elapsed())
}

#[test]
fn a_run_that_is_asked_to_end_lands_its_pages_and_the_next_one_completes() {
    for (signal, exit) in [("TERM", 143), ("INT", 130), ("HUP", 143)] {
        let world = World::playing(SLOW);
        let (run, took) = ended_after(&world, 7, signal);
        let run = run.exits(exit);
        assert!(took < Duration::from_secs(3), "{signal}: {took:?}");

        let result = run.json();
        assert_eq!(result["exit_code"], exit);
        assert_eq!(result["partitions"]["planned"], 8);
        assert!(result["partitions"]["deferred"].as_u64().unwrap() > 0, "{signal}: {result}");
        let requests = world.requests();
        assert!(requests.len() < 24, "{signal}: it ended before all was done");
        assert!(requests.iter().all(|line| line.answered == Some(200)), "{signal}: what was in flight landed");
        assert_eq!(world.count("select count(*) from attempt where outcome = 'page'"), requests.len() as u64);
        world.assert_ledger_tells_every_request(&run);
        assert_nothing_is_half_published(&world);
        assert_eq!(world.query("select exit_code from run"), [[exit.to_string()]]);

        let world = world.now_playing(QUICK);
        world.run(EIGHT).exits(0);
        assert_all_true(&world);
    }
}

#[test]
fn a_second_signal_ends_a_run_at_once() {
    let world = World::playing("rows = 250\nlatency_ms = 5000");
    let mut run = world.start(EIGHT);
    world.wait_for_requests(1);
    run.signal("TERM");
    // Else the two could be heard as one.
    run.wait_to_say("stopping: ");
    let signalled = Instant::now();
    run.signal("TERM");
    run.ended().exits(143);
    assert!(signalled.elapsed() < Duration::from_secs(1), "{:?}", signalled.elapsed());
    let world = world.now_playing(QUICK);
    world.run(EIGHT).exits(0);
    assert_all_true(&world);
}

#[test]
fn a_killed_run_ends_with_the_same_rows_as_an_unbroken_one() {
    for answers in [1, 4, 7, 10, 13, 16, 19, 22] {
        let world = World::playing("rows = 250\nlatency_ms = { from = 5, to = 40 }");
        let (run, _) = ended_after(&world, answers, "KILL");
        assert_eq!(run.exit, 137, "after {answers} answers: {}", run.stdout);
        assert_nothing_is_half_published(&world);
        let whole = world.count("select count(*) from coverage where verdict = 'complete'");

        let world = world.now_playing(QUICK);
        let run = world.run(EIGHT).exits(0);
        assert_all_true(&world);
        assert_eq!(run.json()["partitions"]["planned"].as_u64().unwrap(), 8 - whole, "what was whole is not asked again");
        world.assert_ledger_tells_every_request(&run);
        assert_eq!(world.count("select count(*) from job where state <> 'ended'"), 0, "no job is left behind");
    }
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_rows() {
    let mut world = World::playing(SLOW);
    for answers in [2, 5, 3, 6] {
        let (run, _) = ended_after(&world, answers, "KILL");
        assert_eq!(run.exit, 137);
        assert_nothing_is_half_published(&world);
        world = world.now_playing("rows = 250\nlatency_ms = 60");
    }
    world.run(EIGHT).exits(0);
    assert_all_true(&world);
}

#[test]
fn a_run_whose_time_is_over_lands_its_pages_and_is_deferred() {
    let world = World::playing(SLOW);
    let run = world.run(&format!("{EIGHT} --max-runtime 700ms")).exits(6);
    assert!(run.json()["took_ms"].as_u64().unwrap() < 2500);
    assert!(world.requests().iter().all(|line| line.answered == Some(200)));
    world.assert_ledger_tells_every_request(&run);
    assert_nothing_is_half_published(&world);
    let world = world.now_playing(QUICK);
    world.run(EIGHT).exits(0);
    assert_all_true(&world);
}

#[test]
fn a_run_with_its_calls_used_up_is_deferred() {
    let world = World::playing(QUICK);
    let run = world.run(&format!("{EIGHT} --max-calls 10")).exits(6);
    assert_eq!(world.requests().len(), 10);
    world.assert_ledger_tells_every_request(&run);
    assert_nothing_is_half_published(&world);
    world.run(EIGHT).exits(0);
    assert_all_true(&world);
}

#[test]
fn a_run_that_is_held_still_keeps_its_store_and_goes_on_where_it_was() {
    let world = World::playing(SLOW);
    let run = world.start(EIGHT);
    world.wait_for_answers(4);
    run.signal("STOP");
    // What was on its way when it was stopped may still arrive.
    let second = || {
        let second = world.run("collect apt_trade --partition 11140,2024-01").exits(4);
        assert!(second.stderr.contains("another run is collecting into this store"), "{}", second.stderr);
    };
    second();
    // As if it had been stopped within a write; if it really was, this lock is not to be had.
    let db = rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap();
    db.busy_timeout(std::time::Duration::ZERO).unwrap();
    db.execute_batch("begin immediate").ok();
    second();
    drop(db);
    assert!(world.requests().iter().all(|line| line.param("LAWD_CD") == Some("11110")), "the second run called nobody");
    run.signal("CONT");
    run.ended().exits(0);
    assert_all_true(&world);
}

#[test]
fn a_store_that_is_taken_away_during_a_run_is_told_and_never_counts_as_whole() {
    let check = |take_away: fn(&Path), said: &str| {
        let world = World::playing(SLOW);
        let run = world.start(EIGHT);
        world.wait_for_answers(4);
        take_away(&world.folder().join("gapless.db"));
        let run = run.ended().exits(7);
        assert!(run.json()["error"]["what"].as_str().unwrap().contains(said), "{}", run.stdout);
    };
    check(|store| fs::remove_file(store).unwrap(), "is not there any more");
    check(replace_by_a_copy, "is another file");
}

fn replace_by_a_copy(store: &Path) {
    let copy = store.with_extension("copy");
    fs::copy(store, &copy).unwrap();
    fs::rename(copy, store).unwrap();
}
