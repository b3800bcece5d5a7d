//! Real limiters as judges of the probe and of the pacer: their own logs say what was refused.

use std::io::{Read, Write};
use std::net::TcpStream;

use jiff::Timestamp;

use crate::limiter::{Seen, behind, most_in_flight, refused};
use crate::world::World;

const PATH: &str = "/1613000/RTMSDataSvcAptTrade/getRTMSDataSvcAptTrade?LAWD_CD=11110&DEAL_YMD=202401&numOfRows=100";

#[test]
fn each_limiter_refuses_what_comes_too_fast() {
    for (preset, status) in [
        ("nginx-leaky", 429),
        ("nginx-leaky-503", 503),
        ("nginx-burst", 429),
        ("nginx-conn", 503),
        ("haproxy-window", 429),
        ("haproxy-ban", 403),
        ("haproxy-envelope", 200),
    ] {
        let (_world, limiter) = behind(preset);
        let address = limiter.base_url().replace("http://", "");
        let ask = &|number: usize| {
            let mut stream = TcpStream::connect(&address).unwrap();
            write!(stream, "GET {PATH}&pageNo={number} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        };
        std::thread::scope(|scope| {
            for number in 1..=90 {
                scope.spawn(move || ask(number));
            }
        });
        let seen = limiter.seen();
        assert_eq!(seen.len(), 90, "{preset}");
        assert!((1..90).contains(&refused(&seen).count), "{preset}: {}", refused(&seen));
        assert!(seen.iter().all(|seen| !seen.is_refused || seen.status == status), "{preset}");
    }
}

/// A limiter, the rate that lasts behind it, and the least part of it that a probe must find.
struct Judged {
    preset: &'static str,
    truth: f64,
    share: f64,
    /// What it may be taken for.
    kinds: &'static [&'static str],
}

/// 4 in flight, at 113 ms each in the mean.
const FOUR_IN_FLIGHT: f64 = 4.0 / 0.113;

/// How long a probe's answer is used: 60 s when it is to be known for sure.
fn use_seconds() -> u64 {
    std::env::var("GAPLESS_TEST_USE_SECONDS").map_or(15, |seconds| seconds.parse().expect("a number of seconds"))
}

fn check(judged: &Judged) {
    let &Judged { preset, truth, share, kinds } = judged;
    let (world, limiter) = behind(preset);
    let probe = world.run("probe throughput apt_trade --partition 11110,2024-01 --format json --save");
    let report = probe.json();
    let probed = limiter.seen();
    let seconds = use_seconds();
    let used = world.run(&format!(
        "collect apt_trade --regions sido:11 --months 2010-01..{}-12 --create --max-runtime {seconds}s --format json",
        2010 + seconds / 5
    ));
    let seen = limiter.seen().split_off(probed.len());
    let (rps, concurrency) = (report["result"]["rps"].as_f64(), report["result"]["concurrency"].as_u64());
    let (rps, concurrency) = rps.zip(concurrency).unwrap_or_else(|| panic!("{preset}: no answer: {}", probe.stdout));
    println!(
        "{preset:<17} {:>3} calls, {} refused in {} events, {:>4.1} s -> {rps:>4.1}/s, {concurrency:>2} in flight, {:>3.0} %, {}, {}; \
         in use {} calls, {}",
        probed.len(),
        refused(&probed).count,
        events(&probed),
        report["tested"]["seconds"].as_f64().unwrap(),
        rps / truth * 100.0,
        report["kind"],
        report["result"]["confidence"],
        seen.len(),
        refused(&seen),
    );
    println!("{}", probe.stderr);
    // The probe was polite.
    assert_eq!(report["used"], probed.len(), "{preset}: every request is told");
    assert!(probed.len() <= 400, "{preset}: within the budget");
    assert!(events(&probed) <= 2, "{preset}: refused too often: {}", probe.stderr);
    assert!(most_in_flight(&probed) <= 16, "{preset}");
    // Useful.
    assert!(rps >= share * truth, "{preset}: {rps} of {truth}");
    assert!(kinds.contains(&report["kind"].as_str().unwrap()), "{preset}: {}", report["kind"]);
    // And safe.
    used.exits(6);
    assert_eq!(refused(&seen).count, 0, "{preset}: {}", refused(&seen));
    assert!(seen.len() as f64 > 0.75 * rps * seconds as f64, "{preset}: {} calls in {seconds} s", seen.len());
    assert!(most_in_flight(&seen) <= concurrency as usize, "{preset}: {} in flight", most_in_flight(&seen));
    assert_gaps(&world, rps);
}

/// No request leaves closer to the last than design allows: the interval less 1 ms, stamps being of whole milliseconds.
#[track_caller]
fn assert_gaps(world: &World, rps: f64) {
    let sent = world.query("select sent_at from attempt where sent order by sent_at");
    let sent: Vec<i64> = sent.iter().map(|line| line[0].parse::<Timestamp>().unwrap().as_millisecond()).collect();
    let closest = sent.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    let interval = 1000.0 / rps;
    assert!(closest as f64 >= interval - (interval / 10.0).min(1.0) - 1.0, "{closest} ms between two, at {rps}/s");
}

/// How often it was refused: refusals belong together unless something was let in between them, a while after.
fn events(seen: &[Seen]) -> usize {
    let mut events = 0;
    let mut last_refused: Option<i64> = None;
    let mut is_open = false;
    for one in seen {
        if one.is_refused {
            if last_refused.is_none() || is_open {
                events += 1;
            }
            (last_refused, is_open) = (Some(one.began_ms), false);
        } else if last_refused.is_some_and(|last| one.began_ms - last > 900) {
            is_open = true;
        }
    }
    events
}

/// All at once: they wait most of the time, each before a server of its own.
fn check_all(judged: &[Judged]) {
    std::thread::scope(|scope| {
        for judged in judged {
            scope.spawn(move || check(judged));
        }
    });
}

#[test]
fn a_probe_finds_what_nginx_bears() {
    check_all(&[
        Judged { preset: "nginx-leaky", truth: 40.0, share: 0.6, kinds: &["rate", "in_flight"] },
        Judged { preset: "nginx-leaky-503", truth: 40.0, share: 0.6, kinds: &["rate", "in_flight"] },
        // It answers more slowly instead of refusing.
        Judged { preset: "nginx-shape", truth: 40.0, share: 0.6, kinds: &["queue", "none"] },
        // So many calls are saved up that 400 may not use them up.
        Judged { preset: "nginx-burst", truth: 40.0, share: 0.6, kinds: &["rate", "in_flight", "none"] },
    ]);
}

#[test]
fn a_probe_finds_a_cap_on_calls_in_flight() {
    check(&Judged { preset: "nginx-conn", truth: FOUR_IN_FLIGHT, share: 0.6, kinds: &["in_flight", "rate"] });
}

#[test]
fn a_probe_finds_what_haproxy_bears_and_is_banned_once_at_most() {
    check_all(&[
        Judged { preset: "haproxy-window", truth: 40.0, share: 0.6, kinds: &["rate", "in_flight"] },
        Judged { preset: "haproxy-ban", truth: 40.0, share: 0.45, kinds: &["ban"] },
        // Refusals under status 200.
        Judged { preset: "haproxy-envelope", truth: 40.0, share: 0.6, kinds: &["rate", "in_flight"] },
    ]);
}

#[test]
fn a_ban_in_the_middle_of_a_run_is_waited_for_and_refuses_no_key() {
    let (world, limiter) = behind("haproxy-ban");
    let line = "collect apt_trade --regions sido:11,26110,26140 --months 2024-01..2024-02 --create --concurrency 8 --rps 60 \
                --format json";
    let run = world.run(line).exits(0);
    let seen = limiter.seen();
    assert!(seen.iter().any(|seen| seen.status == 403), "it was banned");
    assert_eq!(events(&seen), 1, "and the ban was not kept alive");
    let outcomes = &run.json()["calls"]["by_outcome"];
    assert_eq!((&outcomes["page"], &outcomes["refused"]), (&54.into(), &0.into()), "{}", run.stdout);
    assert!(refused(&seen).count <= 8 + 4, "those in flight and single canaries: {}", refused(&seen));
}
