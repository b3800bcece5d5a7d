//! A store behind pgbouncer, whose connections belong to nobody for longer than a transaction.

use crate::server::Server;
use crate::world::World;

/// 30 partitions of three pages each.
const NIGHT: &str = "collect apt_trade --months 2024-01..2024-06 --regions 11110,11140,11170,11200,11215 --create --format json";
const PORTAL: &str = "rows = 250\nlatency_ms = { from = 5, to = 30 }";

/// The server, and a world that reaches it through a pool of two connections.
fn pooled() -> Option<(Server, String, World)> {
    let server = Server::start(None)?;
    let pool = server.pool();
    let world = World::playing(PORTAL).storing_at(&pool).set("store.lease", "4s");
    Some((server, pool, world))
}

#[test]
fn hosts_with_more_connections_than_the_pool_share_the_work() {
    let Some((_server, pool, world)) = pooled() else { return };
    let hosts = ["a", "b", "c"].map(|host| world.start_on_host(host, NIGHT));
    for host in hosts {
        host.ended().exits(0);
    }
    assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 30);
    assert_eq!(world.count("select count(*) from job where verdict = 'complete'"), 30, "each once");
    world.assert_store_is_sound("behind a pool");
    for command in ["status", "audit", "why apt_trade 11110,2024-01", "replay apt_trade", "config check", "store migrate"] {
        world.run(command).exits(0);
    }
    let again = world.run(NIGHT).exits(0).json();
    assert_eq!(again["calls"]["attempts"], 0, "what is whole is not asked again");
    let told = world.run(&format!("store copy --from {pool} --to sqlite://copy.db")).exits(0).stdout;
    assert!(told.contains("every value of their rows is the same"), "{told}");
}

#[test]
fn a_run_goes_on_when_the_server_behind_the_pool_is_restarted() {
    let Some((server, _, world)) = pooled() else { return };
    let run = world.start(NIGHT);
    world.wait_for_answers(20);
    server.restart("immediate");
    let result = run.ended().exits(0).json();
    assert_eq!(result["partitions"]["complete"], 30);
    assert_eq!(result["calls"]["attempts"], 90, "no page is asked twice for a restart");
    assert_eq!(world.count("select count(*) from attempt"), 90, "every request has one line");
    world.assert_store_is_sound("after a restart");
}
