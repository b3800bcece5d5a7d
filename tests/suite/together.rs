//! Limits that several hosts keep together on PostgreSQL, judged from the portal's own log.

use std::time::Duration;

use gapless::sandbox::RequestLine;

use crate::limits::{assert_reaches, assert_within, busiest_second, wire_rate};
use crate::server;
use crate::world::World;

/// 405 partitions of one page each: 27 months of 15 regions.
const NIGHT: &str = "collect apt_trade --months 2022-01..2024-03 --format json --create --regions \
    11110,11140,11170,11200,11215,11230,11260,11290,11305,11320,11350,11380,11410,11440,11470";
const PARTITIONS: u64 = 405;

/// At 40 a second and six in flight, unless a test says otherwise.
fn world(scenario: &str) -> Option<World> {
    let url = server::place()?;
    let world = World::playing(scenario).storing_at(&url).set("store.lease", "30s");
    Some(world.set("providers.data_go_kr.rps", "40").set("providers.data_go_kr.concurrency", "6"))
}

/// A server that takes a while, and permits enough for a machine that is busy with all these hosts.
fn night() -> Option<World> {
    Some(world("rows = 10\nlatency_ms = 115")?.set("providers.data_go_kr.concurrency", "12"))
}

/// Runs the same line on several hosts to its end.
fn run_on(world: &World, hosts: &[&str], line: &str) {
    let hosts: Vec<_> = hosts.iter().map(|host| world.start_on_host(host, line)).collect();
    hosts.into_iter().for_each(|host| drop(host.ended().exits(0)));
}

#[track_caller]
fn assert_collected_once(world: &World, partitions: u64) {
    let counts = world.query("select count(*), count(distinct partition) from job where verdict in ('complete', 'empty')");
    assert_eq!(counts, [[partitions.to_string(), partitions.to_string()]]);
}

fn is_of<'a>(region: &'a str) -> impl Fn(&&RequestLine) -> bool + 'a {
    move |line| line.query.iter().any(|(_, value)| value == region)
}

#[test]
fn three_hosts_keep_the_rate_of_one_and_use_it_as_one_does() {
    let rate = |hosts: &[&str]| {
        let world = night()?;
        run_on(&world, hosts, NIGHT);
        assert_collected_once(&world, PARTITIONS);
        let requests = world.requests();
        assert_eq!(requests.len() as u64, PARTITIONS);
        assert_within(&requests, 40);
        assert!(requests.iter().all(|line| line.in_flight <= 12));
        eprintln!("{} hosts: {:.2} a second, {} in the busiest", hosts.len(), wire_rate(&requests), busiest_second(&requests));
        Some(wire_rate(&requests))
    };
    let Some(alone) = rate(&["a"]) else { return };
    assert_reaches(0.95, || rate(&["a", "b", "c"]).unwrap() / alone);
}

#[test]
fn hosts_that_look_for_a_pace_never_exceed_together_what_one_may() {
    let Some(world) = world("rows = 10\nlatency_ms = 60") else { return };
    let world = world.set("providers.data_go_kr.rps", "12");
    let line = format!("{} --concurrency auto", NIGHT.replace("2022-01..2024-03", "2024-01..2024-06"));
    let hosts = ["a", "b"].map(|host| world.start_on_host(host, &line));
    for host in hosts {
        let stderr = host.ended().exits(0).stderr;
        assert!(stderr.contains("each looks for its pace below them, and the slowest pace holds for all"), "{stderr}");
        assert!(stderr.contains("auto, from 5/s to at most 12/s"), "{stderr}");
    }
    let requests = world.requests();
    assert_eq!(requests.len(), 90);
    assert_within(&requests, 12);
    eprintln!("{:.2} a second, {} in the busiest", wire_rate(&requests), busiest_second(&requests));
}

#[test]
fn a_host_that_is_killed_costs_the_others_no_more_than_its_batch() {
    let Some(world) = night() else { return };
    let world = world.set("store.lease", "2s");
    let [victim, b, c] = ["victim", "b", "c"].map(|host| world.start_on_host(host, NIGHT));
    world.wait_for_answers(150);
    victim.signal("KILL");
    assert_eq!(victim.ended().exit, 137);
    for host in [b, c] {
        assert_eq!(host.ended().exits(0).json()["partitions"]["complete"], PARTITIONS);
    }
    let requests = world.requests();
    assert_within(&requests, 40);
    assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), PARTITIONS);
    // Its partitions come last: they are waited for until its lease is over.
    let gap = requests[150..370].windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap();
    assert!(gap < Duration::from_millis(700), "nobody asked for {gap:?}");
    world.assert_store_is_sound("when the others have ended");
}

#[test]
fn hosts_that_keep_their_limits_for_themselves_ask_too_often_together() {
    let Some(world) = night() else { return };
    let world = world.set("limits.shared", "false");
    run_on(&world, &["a", "b", "c"], NIGHT);
    assert_collected_once(&world, PARTITIONS);
    let busiest = busiest_second(&world.requests());
    assert!(busiest > 60, "{busiest} in the busiest second: the test of the shared limit would see nothing");
}

#[test]
fn an_audit_online_keeps_the_limits_together_with_those_who_collect() {
    let Some(world) = night() else { return };
    let line = NIGHT.replace("2022-01..", "2023-07..");
    world.run(&format!("{line} --rps none")).exits(0);
    let before = world.requests().len();
    assert_eq!(before, 135);
    let audit = world.start_on_host("auditing", "audit --online");
    let collect = world.start_on_host("collecting", &format!("{line} --only all"));
    let (audit, collect) = (audit.ended().exits(0), collect.ended().exits(0));
    assert!(audit.stdout.contains("apt_trade: 135 partitions asked, 0 changed, 0 not told"), "{}", audit.stdout);
    assert_eq!(collect.json()["partitions"]["complete"], 135);
    let requests = &world.requests()[before..];
    assert_eq!(requests.len(), 270);
    assert_within(requests, 40);
    assert!(requests.iter().all(|line| line.in_flight <= 12));
    let last_of_one_row = |is_wanted: bool| {
        let of_one_row = |line: &&RequestLine| (line.param("numOfRows") == Some("1")) == is_wanted;
        requests.iter().filter(of_one_row).map(|line| line.at).max().unwrap()
    };
    let both = last_of_one_row(true).min(last_of_one_row(false)) - requests[0].at;
    assert!(both > Duration::from_secs(2), "they were at work at the same time for {both:?} only");
    assert_eq!(world.count("select count(*) from run where ended_at is null"), 0);
}

#[test]
fn a_probe_is_refused_while_another_host_asks() {
    let Some(world) = night() else { return };
    let collect = world.start_on_host("collecting", &NIGHT.replace("2022-01..", "2023-10.."));
    world.wait_for_answers(10);
    let line = "probe throughput apt_trade --partition 11110,2024-01 --max-calls 60 --yes";
    let probe = world.start_on_host("probing", line).ended().exits(4);
    assert!(probe.stderr.contains("run 1 asks data_go_kr with the same key at this moment"), "{}", probe.stderr);
    collect.ended().exits(0);
    assert_eq!(world.requests().len(), 90, "the probe asked for nothing");
    let probe = world.start_on_host("probing", line).ended().exits(0);
    assert!(probe.stdout.contains("rps"), "{}", probe.stdout);
}

#[test]
fn permits_are_divided_among_the_hosts_that_are_alive() {
    let most = |shared: &str| {
        let world = world("rows = 10\nlatency_ms = 80")?.set("limits.shared", shared).set("providers.data_go_kr.rps", "none");
        run_on(&world, &["a", "b", "c"], &NIGHT.replace("2022-01..", "2023-04.."));
        Some(world.requests().iter().map(|line| line.in_flight).max().unwrap())
    };
    let Some(together) = most("true") else { return };
    assert_eq!(together, 6);
    assert!(most("false") > Some(10), "the test of the shared limit would see nothing");
}

#[test]
fn the_lowest_limit_of_all_hosts_holds_and_is_said() {
    let Some(world) = world("rows = 10\nlatency_ms = 50") else { return };
    let line = NIGHT.replace("2022-01..", "2023-10..");
    let slow = world.start_on_host("slow", &format!("{line} --rps 20 --concurrency 2"));
    world.wait_for_answers(5);
    let fast = world.start_on_host("fast", &line).ended().exits(0);
    slow.ended().exits(0);
    assert_within(&world.requests(), 20);
    assert!(world.requests().iter().all(|line| line.in_flight <= 2));
    let said = "data_go_kr: another host allows 20.000/s and 2 in flight, which holds for all";
    assert!(fast.stderr.contains(said), "{}", fast.stderr);
    assert!(fast.stderr.contains("limits: kept together with the other hosts"), "{}", fast.stderr);
}

#[test]
fn a_refusal_that_one_host_hears_pauses_all_and_one_canary_goes_at_a_time() {
    let refused = "[[fault]]\nfrom_ms = 3000\nuntil_ms = 6000\nanswer = { kind = \"bare\", status = 429 }";
    let Some(world) = world(&format!("rows = 10\nlatency_ms = 50\n{refused}")) else { return };
    run_on(&world, &["a", "b", "c"], NIGHT);
    assert_collected_once(&world, PARTITIONS);
    let requests = world.requests();
    assert_within(&requests, 40);
    let first = requests.iter().find(|line| line.answered == Some(429)).expect("it was refused").at;
    let heard = first + Duration::from_millis(400);
    let dark: Vec<_> = requests.iter().filter(|line| line.at > heard && line.answered == Some(429)).map(|line| line.at).collect();
    assert!((1..=2).contains(&dark.len()), "after 1 s and 2 s more, one canary each: {first:?}, {dark:?}");
    let well = requests.iter().find(|line| line.at > heard && line.answered != Some(429)).unwrap().at;
    let after = requests.iter().filter(|line| line.at > well && line.at < well + Duration::from_secs(2)).count();
    assert!((20..=60).contains(&after), "{after} in two seconds: all go on, at the lower pace of the one that was refused");
}

#[test]
fn a_breaker_that_opened_at_one_host_holds_the_others() {
    let down = "[[fault]]\nregion = \"11110\"\nanswer = { kind = \"html\", status = 504 }";
    let Some(world) = world(&format!("rows = 10\nlatency_ms = 20\n{down}")) else { return };
    // Half of all calls fail, those of one host, which opens it. Nobody asks again before the end.
    let world = world.set("breaker.counts", "attempts").set("breaker.open_for", "4s");
    let world = world.set("providers.data_go_kr.rps", "20").set("breaker.failures_in_a_row", "1000");
    let line =
        |region: &str, months: &str| format!("collect apt_trade --create --format json --regions {region} --months {months}");
    let well = world.start_on_host("well", &line("11140", "2006-01..2024-12"));
    world.wait_for_answers(20);
    let ill = world.start_on_host("ill", &format!("{} --max-runtime 12s", line("11110", "2024-01..2024-12")));
    ill.ended();
    well.signal("INT");
    well.ended().exits(130);
    let requests = world.requests();
    let sent: Vec<Duration> = requests.iter().filter(is_of("11110")).map(|line| line.at).collect();
    let (pause, opened) = sent.windows(2).map(|pair| (pair[1] - pair[0], pair[0])).max().unwrap();
    assert!(pause > Duration::from_millis(3500), "the host whose breaker it is finds out whether the server is back: {pause:?}");
    let last = requests.iter().rfind(is_of("11140")).unwrap().at;
    assert!(last + Duration::from_millis(200) > opened, "the other had work: {opened:?}, {last:?}");
    assert!(last < opened + Duration::from_millis(1500), "the other waits as well: {opened:?}, {last:?}");
}

#[test]
fn hosts_judge_a_server_by_the_calls_of_all() {
    let dead_requests = |shared: &str| {
        let world = world("latency_ms = 2500\nfault = [{ answer = { kind = \"html\", status = 504 } }]")?;
        let world = world.set("breaker.counts", "attempts").set("breaker.failures_in_a_row", "12").set("retry.delay", "100ms");
        let world = world.set("limits.shared", shared).set("retry.error_pause", "0s");
        // Two permits each, whether they share them or not.
        let world = world.set("providers.data_go_kr.concurrency", if shared == "true" { "6" } else { "2" });
        let line = "collect apt_trade --months 2024-01..2024-12 --regions 11110,11140 --create --format json --max-runtime 60s";
        let hosts = ["a", "b", "c"].map(|host| world.start_on_host(host, line));
        hosts.into_iter().for_each(|host| drop(host.ended().exits(6)));
        let requests = world.requests().len();
        eprintln!("limits.shared = {shared}: {requests} dead requests");
        Some(requests)
    };
    let Some(together) = dead_requests("true") else { return };
    // Those in flight, and what was sent until the others had told of theirs.
    assert!(together <= 12 + 6 + 6, "{together} dead requests");
    let alone = dead_requests("false").unwrap();
    assert!(alone >= 36, "{alone} dead requests: the test of the shared breaker would see nothing");
}

#[test]
fn a_refusal_for_good_and_a_spent_day_reach_all_hosts() {
    for (answer, exit, said) in [
        (r#"{ kind = "gateway1", code = "30" }"#, 5, "SERVICE_KEY_IS_NOT_REGISTERED"),
        (r#"{ kind = "gateway1", code = "22" }"#, 6, "LIMITED_NUMBER"),
    ] {
        let Some(world) = world(&format!("rows = 10\nlatency_ms = 20\nfault = [{{ region = \"11110\", answer = {answer} }}]"))
        else {
            return;
        };
        let world = world.set("providers.data_go_kr.rps", "20");
        let line =
            |region: &str| format!("collect apt_trade --create --format json --regions {region} --months 2006-01..2012-12");
        let other = world.start_on_host("other", &line("11140"));
        world.wait_for_answers(20);
        world.start_on_host("told", &line("11110")).ended().exits(exit);
        let before = world.requests().len();
        let run = other.ended().exits(6);
        assert!(world.requests().len() < before + 40, "{} more requests", world.requests().len() - before);
        assert!(run.stdout.contains(said), "{}", run.stdout);
        // Of a key that was refused the next run finds out for itself; a day is over when it is over.
        let again = world.start_on_host("other", &line("11140")).ended();
        assert_eq!(again.exit, if exit == 5 { 0 } else { 6 }, "{}", again.stdout);
    }
}

#[test]
fn nothing_is_sent_while_no_slot_can_be_reserved() {
    let Some(own) = server::Server::start(None) else {
        assert!(std::env::var_os("CI").is_none(), "PostgreSQL can not be had here");
        return;
    };
    let world = World::playing("rows = 10\nlatency_ms = 50").storing_at(&own.url).set("providers.data_go_kr.rps", "40");
    let run = world.start(NIGHT);
    world.wait_for_answers(80);
    own.stop();
    std::thread::sleep(Duration::from_secs(1));
    let before = world.requests().len();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(world.requests().len(), before, "no call without a slot");
    own.start_again();
    run.ended().exits(0);
    assert_within(&world.requests(), 40);
    assert_collected_once(&world, PARTITIONS);
}
