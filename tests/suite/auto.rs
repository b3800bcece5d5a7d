//! `--concurrency auto` before the practice portal and before real limiters: their logs say what it wasted.

use serde_json::Value;

use crate::limiter::{PAGES, behind, refused};
use crate::world::{Ended, World};

/// 600 partitions of one page each.
const SIX_HUNDRED: &str = "--regions sido:11 --months 2022-01..2023-12 --create --format json";

/// A source whose limit nobody knows.
fn unknown(world: World) -> World {
    world.set("providers.data_go_kr.documented_rps", "none").set("providers.data_go_kr.rps", "none")
}

fn told(name: &str, run: &Ended, wasted: usize) -> Value {
    let json = run.json();
    let seconds = json["took_ms"].as_f64().unwrap() / 1000.0;
    eprintln!("{name:<20} {} pages, {wasted} wasted, {seconds:.1} s, {}", json["calls"]["pages"], json["rate"]);
    json
}

/// Runs cold before a real limiter: every page comes, few calls are wasted, and the pace found is within the truth.
fn cold(preset: &str, wasted_at_most: usize, found: std::ops::RangeInclusive<f64>) {
    let (world, limiter) = behind(preset);
    let run = unknown(world).run(&format!("collect apt_trade --concurrency auto {SIX_HUNDRED}")).exits(0);
    let seen = limiter.seen();
    let wasted = refused(&seen);
    let json = told(preset, &run, wasted.count);
    assert_eq!(json["calls"]["pages"], 600, "{preset}");
    assert!(wasted.count <= wasted_at_most, "{preset}: {wasted}");
    let rps = json["rate"]["found"]["rps"].as_f64().unwrap();
    assert!(found.contains(&rps), "{preset}: found {rps}/s\n{json}");
}

/// Runs with what a probe found: nothing is wasted.
fn seeded(preset: &str, rps: f64, concurrency: u32) {
    let (world, limiter) = behind(preset);
    let world = unknown(world);
    let saved = format!(
        "[providers.data_go_kr]\nrps = {rps:.1}\nconcurrency = {concurrency}\nprobed_at = \"2026-11-29T18:00:00Z\"\nprobed_url = \"{}\"\n",
        limiter.base_url()
    );
    world.file("gapless.probed.toml", &saved);
    let run = world.run(&format!("collect apt_trade --concurrency auto {SIX_HUNDRED}")).exits(0);
    let wasted = refused(&limiter.seen());
    told(preset, &run, wasted.count);
    assert_eq!(wasted.count, 0, "{preset}: {wasted}");
    assert!(run.stderr.contains(&format!("auto, from {rps}/s that a probe found to at most ")), "{}", run.stderr);
}

#[test]
fn a_search_that_begins_cold_wastes_few_calls_of_six_hundred() {
    std::thread::scope(|scope| {
        for (preset, found) in [
            ("nginx-leaky", 18.0..=40.0),
            ("nginx-leaky-503", 18.0..=40.0),
            ("nginx-burst", 24.0..=50.0),
            ("nginx-conn", 20.0..=50.0),
            ("haproxy-envelope", 24.0..=45.0),
            ("haproxy-ban", 18.0..=36.0),
        ] {
            scope.spawn(move || cold(preset, 8, found));
        }
    });
}

#[test]
fn a_search_that_begins_with_what_a_probe_found_wastes_nothing() {
    std::thread::scope(|scope| {
        // What probes of these found, as measured.
        for (preset, rps, concurrency) in
            [("nginx-leaky", 28.1, 5), ("nginx-burst", 24.0, 6), ("nginx-conn", 27.1, 4), ("haproxy-ban", 22.0, 5)]
        {
            scope.spawn(move || seeded(preset, rps, concurrency));
        }
    });
}

#[test]
fn a_ban_in_the_middle_loses_no_page() {
    // Seven seconds of it, begun anew by whoever asks meanwhile.
    let limit = r#"limit = { per_second = 35, ban_ms = 7000 }"#;
    let world = unknown(World::playing(&format!("{PAGES}\n{limit}"))).set("retry.error_pause", "500ms");
    let line = "collect apt_trade --concurrency auto --regions sido:11 --months 2023-01..2023-12 --create --format json";
    let run = world.run(line).exits(0);
    let requests = world.requests();
    let refused = requests.iter().filter(|line| line.played.to_string() != "page").count();
    let json = told("portal, ban of 7 s", &run, refused);
    assert_eq!(json["partitions"]["complete"], 300);
    assert!((2..=8).contains(&refused), "{refused} refused");
    let silence = requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
    assert!(silence > std::time::Duration::from_secs(7), "it was let out when nobody asked: {silence:?}");
    let rps = json["rate"]["found"]["rps"].as_f64().unwrap();
    let refused_rps = json["rate"]["found"]["refused_rps"].as_f64().unwrap();
    assert!(rps <= 0.79 * refused_rps, "{rps} of {refused_rps}");
    world.assert_ledger_tells_every_request(&run);
}

#[test]
fn the_pace_is_said_with_its_bounds_before_and_as_it_was_found() {
    let line = "collect apt_trade --concurrency auto --regions 11110 --months 2023-01..2023-12 --create";
    let world = World::playing(PAGES).without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__RPS");
    let run = world.run(line).exits(0);
    let bounds = "data_go_kr: auto, from 5/s to at most 27/s (nine tenths of the documented 30), at most 16 in flight";
    assert!(run.stderr.contains(bounds), "{}", run.stderr);
    assert!(run.stdout.contains("found ") && run.stdout.contains("; nothing was refused\n"), "{}", run.stdout);
    let run = world.run(&line.replace("--concurrency auto", "--concurrency 2 --rps 20")).exits(0);
    assert!(!run.stdout.contains("found ") && !run.stderr.contains("auto"), "{}\n{}", run.stdout, run.stderr);
    // The same from a file, with bounds of its own.
    world.file("gapless.toml", "[limits]\nconcurrency = \"auto\"\nmax_concurrency = 3\n[providers.data_go_kr]\nrps = 8\n");
    let world = world.without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__CONCURRENCY");
    let run = world.run(&line.replace("--concurrency auto", "--only all")).exits(0);
    assert!(run.stderr.contains("auto, from 5/s to at most 8/s (gapless.toml:5), at most 3 in flight"), "{}", run.stderr);
    assert!(world.requests().iter().all(|line| line.in_flight <= 3));
}
