//! Several hosts that share one store on PostgreSQL.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::server;
use crate::world::{Ended, World};

/// 405 partitions of one page each: 27 months of 15 regions.
const NIGHT: &str = "collect apt_trade --months 2022-01..2024-03 --format json --create --regions \
    11110,11140,11170,11200,11215,11230,11260,11290,11305,11320,11350,11380,11410,11440,11470";
const PARTITIONS: u64 = 405;

fn world(scenario: &str, lease: &str) -> Option<World> {
    let url = server::place()?;
    let world = World::playing(scenario).storing_at(&url).set("store.lease", lease);
    Some(world.set("providers.data_go_kr.rps", "60"))
}

/// How often each partition was collected, by the jobs of the ledger.
fn assert_collected_once(world: &World) {
    let counts = world.query("select count(*), count(distinct partition) from job where verdict in ('complete', 'empty')");
    assert_eq!(counts, [[PARTITIONS.to_string(), PARTITIONS.to_string()]]);
    world.assert_store_is_sound("when all hosts have ended");
}

/// How often each page was asked for.
fn asked(world: &World) -> BTreeMap<String, u64> {
    let mut asked = BTreeMap::new();
    for request in world.requests() {
        *asked.entry(format!("{:?}", request.query)).or_insert(0) += 1;
    }
    asked
}

fn number(result: &Value, path: &str) -> u64 {
    result.pointer(path).unwrap().as_u64().unwrap()
}

#[test]
fn three_hosts_share_the_work_and_collect_each_partition_once() {
    let Some(world) = world("rows = 10\nlatency_ms = 20", "30s") else { return };
    let hosts = ["a", "b", "c"].map(|host| world.start_on_host(host, NIGHT));
    let results = hosts.map(|host| host.ended().exits(0).json());
    assert_collected_once(&world);
    let asked = asked(&world);
    assert_eq!(asked.len() as u64, PARTITIONS);
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    let own = results.iter().map(|result| number(result, "/partitions/planned") - number(result, "/elsewhere"));
    assert_eq!(own.clone().sum::<u64>(), PARTITIONS);
    assert!(own.clone().all(|own| own > 40), "{:?}", own.collect::<Vec<_>>());
    for result in &results {
        assert_eq!(number(result, "/partitions/complete"), number(result, "/partitions/planned"));
    }
}

#[test]
fn a_host_that_is_killed_in_the_middle_is_taken_over() {
    let Some(world) = world("rows = 250\nlatency_ms = 20", "2s") else { return };
    let line = NIGHT.replace("2022-01..", "2023-10..");
    let victim = world.start_on_host("victim", &line);
    world.wait_for_answers(40);
    let others = ["a", "b"].map(|host| world.start_on_host(host, &line));
    world.wait_for_answers(60);
    victim.signal("KILL");
    assert_eq!(victim.ended().exit, 137);
    let results = others.map(|host| host.ended().exits(0).json());
    let whole = world.count("select count(*) from coverage where verdict = 'complete'");
    assert_eq!(whole, 90);
    assert_eq!(world.count("select count(*) from job where verdict = 'complete'"), 90, "each once");
    assert!(world.count("select count(*) from job where claims > 1") > 0, "what the victim was at was gone on with");
    assert!(results.iter().all(|result| number(result, "/partitions/complete") == number(result, "/partitions/planned")));
    world.assert_store_is_sound("after the takeover");
}

#[test]
fn what_one_host_puts_off_another_takes_up_in_the_same_night() {
    let Some(world) = world("rows = 10\nlatency_ms = 150", "30s") else { return };
    let line = NIGHT.replace("2022-01..", "2023-10..");
    let stopped = world.start_on_host("stopped", &line);
    world.wait_for_answers(10);
    let short = world.start_on_host("short", &format!("{line} --max-runtime 1s"));
    let other = world.start_on_host("other", &line);
    world.wait_for_answers(30);
    stopped.signal("INT");
    assert_eq!(stopped.ended().exit, 130);
    assert!(number(&short.ended().exits(6).json(), "/partitions/deferred") > 0);
    let other = other.ended().exits(0).json();
    assert_eq!(number(&other, "/partitions/complete"), number(&other, "/partitions/planned"));
    assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 90);
    world.assert_store_is_sound("when all hosts have ended");
}

#[test]
fn a_host_that_was_stopped_beyond_its_lease_changes_nothing() {
    let Some(world) = world("rows = 250\nlatency_ms = 60", "1s") else { return };
    let line = "collect apt_trade --months 2024-01..2024-03 --regions 11110,11140 --format json --create";
    let late = world.start_on_host("late", line);
    world.wait_for_answers(4);
    late.signal("STOP");
    std::thread::sleep(Duration::from_millis(1500));
    let other = world.start_on_host("other", line).ended().exits(0).json();
    assert_eq!(number(&other, "/partitions/complete"), number(&other, "/partitions/planned"));
    let promised =
        "select region, month, apt_nm, _row_hash, _published_at from apt_trade order by region, month, _row_hash, apt_nm";
    let ledger = "select id, run, verdict, claims, token, ended_at from job order by id";
    let before = (world.query(promised), world.query(ledger), world.count("select count(*) from attempt"));
    late.signal("CONT");
    let Ended { exit, stdout, stderr } = late.ended();
    assert_eq!(exit, 7, "{stdout}\n{stderr}");
    assert!(stdout.contains("its jobs are free for others"), "{stdout}\n{stderr}");
    assert_eq!((world.query(promised), world.query(ledger), world.count("select count(*) from attempt")), before);
    assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 6);
    world.assert_store_is_sound("after the late host has ended");
}
