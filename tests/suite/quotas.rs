//! The calls of a day: never more than granted, whoever is killed, and remembered from one run to the next.

use crate::world::World;

/// Twelve months of three pages each.
const TWELVE: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-12 --create --concurrency 1 --format json";
const TRADE: &str = "/1613000/RTMSDataSvcAptTrade/getRTMSDataSvcAptTrade";

#[test]
fn a_day_has_no_more_calls_than_granted_over_two_runs_and_a_kill() {
    let world = World::playing("rows = 250\nlatency_ms = 20").set("providers.data_go_kr.daily_calls", "45");
    let run = world.start(&TWELVE.replace("2024-12", "2025-12"));
    world.wait_for_answers(22);
    run.signal("KILL");
    assert_eq!(run.ended().exit, 137);
    world.assert_store_is_sound("killed with calls reserved");

    let result = world.run(&TWELVE.replace("2024-12", "2025-12")).exits(6).json();
    let requests = world.requests().len();
    assert!((23..=45).contains(&requests), "{requests} calls of 45");
    assert_eq!(world.query("select calls from api_state"), [["45"]], "what the kill lost counts as sent");
    let why = result["gaps"][0]["why"].as_str().unwrap();
    for said in ["not asked before", "the 45 calls of ", "are used up", "daily_calls"] {
        assert!(why.contains(said), "`{said}` is said in `{why}`");
    }

    let result = world.run(&TWELVE.replace("2024-12", "2025-12")).exits(6).json();
    assert_eq!(world.requests().len(), requests, "nothing is left of the day");
    assert_eq!(result["calls"]["attempts"], 0);
    assert_eq!(result["partitions"]["failed"], 0);
}

#[test]
fn a_run_that_ends_by_itself_gives_back_what_it_did_not_send() {
    let world = World::playing("rows = 250").set("providers.data_go_kr.daily_calls", "36");
    world.run(&TWELVE.replace("2024-12", "2024-04")).exits(0);
    assert_eq!(world.query("select calls from api_state"), [["12"]]);
    world.run(TWELVE).exits(0);
    assert_eq!(world.requests().len(), 36, "the day was enough to the last call");
}

#[test]
fn the_call_of_a_check_is_one_of_the_day() {
    let world = World::playing("rows = 250").set("providers.data_go_kr.daily_calls", "4");
    world.run("doctor apt_trade");
    assert_eq!(world.requests().len(), 1, "without a store there is nothing to count in");
    world.run(&TWELVE.replace("2024-12", "2024-01")).exits(0);
    world.run("doctor apt_trade").exits(0);
    assert_eq!(world.query("select calls from api_state"), [["4"]]);
    let told = world.run("doctor apt_trade").exits(6).stdout;
    assert!(told.contains("apt_trade was not asked") && told.contains("the 4 calls of"), "{told}");
    assert_eq!(world.requests().len(), 5);
}

#[test]
fn a_spent_quota_is_remembered_and_the_other_datasets_go_on() {
    let both = "collect apt_trade apt_rent --regions 11110 --months 2024-01..2024-06 --create --concurrency 1 --format json";
    let spent = r#"fault = [{ service = "RTMSDataSvcAptTrade", answer = { kind = "gateway1", code = "22" } }]"#;
    let world = World::playing(spent);
    let result = world.run(both).exits(6).json();
    let of_trade = |world: &World| world.requests().iter().filter(|line| line.path == TRADE).count();
    assert_eq!(of_trade(&world), 1, "one call was told that the day is spent");
    assert_eq!((&result["partitions"]["complete"], &result["partitions"]["deferred"]), (&6.into(), &6.into()));
    assert_eq!(world.count("select count(distinct month) from apt_rent"), 6);

    // It would answer now, but nobody asks.
    let world = world.now_playing("");
    let result = world.run(both).exits(6).json();
    assert_eq!(world.requests().len(), 0);
    assert_eq!(result["partitions"]["deferred"], 6);
    let why = result["gaps"][0]["why"].as_str().unwrap();
    assert!(why.contains("22"), "{why}");
    world.run("collect apt_rent --regions 11110 --months 2023-12 --format json").exits(0);
}

#[test]
fn what_was_written_while_the_clock_was_wrong_keeps_nobody_waiting() {
    let spent = r#"fault = [{ answer = { kind = "gateway1", code = "22" } }]"#;
    let world = World::playing(spent).set("providers.data_go_kr.daily_calls", "45");
    world.run(TWELVE).exits(6);
    let in_a_year = rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap().execute(
        "update api_state set day = date(day, '+1 year'), calls = 45,
         blocked_until = strftime('%Y-%m-%dT%H:%M:%fZ', blocked_until, '+1 year')",
        [],
    );
    assert_eq!(in_a_year.unwrap(), 1);
    let world = world.now_playing("rows = 250");
    let status = world.run("status").exits(0);
    assert!(!status.stdout.contains("left alone"), "{}", status.stdout);
    world.run(TWELVE).exits(0);
    assert_eq!(world.requests().len(), 36);
    assert_eq!(world.query("select calls, day < date('now', '+3 days') from api_state"), [["36", "1"]]);
}

#[test]
fn calls_are_kept_back_from_old_months_for_fresh_ones() {
    let world = World::playing("rows = 250")
        .set("providers.data_go_kr.daily_calls", "60")
        .set("providers.data_go_kr.reserve_calls", "20");
    let old = "collect apt_trade --regions 11110 --months 2022-01..2024-12 --create --concurrency 1 --format json";
    let result = world.run(old).exits(6).json();
    let requests = world.requests().len();
    assert_eq!(requests, 39, "13 months of three pages; one more would take of the 20 that are kept back");
    let why = result["gaps"][0]["why"].as_str().unwrap();
    assert!(why.contains("of the day's 60 calls are used, and 20 are kept back for fresh months"), "{why}");

    let fresh = world.run("collect apt_trade --regions 11110 --months last:3 --format json").exits(0);
    assert_eq!(fresh.json()["partitions"]["complete"], 3);
    assert_eq!(world.requests().len(), requests + 9);
}

#[test]
fn the_reserve_is_kept_to_the_call() {
    let world = World::playing("rows = 5\nlatency_ms = 5").set("providers.data_go_kr.daily_calls", "30");
    let old = "collect apt_trade --regions 11110 --months 2022-01..2024-12 --create --concurrency 4 --format json";
    let world = world.set("providers.data_go_kr.reserve_calls", "1000");
    world.run(old).exits(6);
    assert_eq!(world.requests().len(), 0, "more are kept back than there are");
    let world = world.set("providers.data_go_kr.reserve_calls", "10");
    let dry = world.run(&old.replace("--format json", "--dry-run")).exits(0).stdout;
    assert!(dry.contains("36 calls expected") && dry.contains("2 nights"), "{dry}");
    let result = world.run(old).exits(6).json();
    assert_eq!(world.requests().len(), 20, "all but the reserve");
    let why = result["gaps"][0]["why"].as_str().unwrap();
    assert!(why.contains("20 of the day's 30 calls are used, and 10 are kept back"), "{why}");
    world.run("collect apt_trade --regions 11110 --months last:3").exits(0);
    assert_eq!(world.requests().len(), 23);
    assert_eq!(world.query("select calls from api_state"), [["23"]]);
}

#[test]
fn a_dry_run_tells_of_a_quota_that_is_spent() {
    let world = World::playing("rows = 5\n[quota]\ndaily_calls = 1");
    world.run("collect apt_trade --regions 11110 --months 2024-01..2024-03 --create").exits(6);
    let told = world.run("collect apt_trade --regions 11110 --months 2024-01..2024-03 --dry-run").exits(0);
    assert!(told.stderr.contains("apt_trade is left alone until "), "{}", told.stderr);
}
