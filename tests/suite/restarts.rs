//! Runs whose PostgreSQL server is restarted under them, and that are killed themselves.

use std::time::Duration;

use fastrand::Rng;

use crate::server::Server;
use crate::world::World;

/// Six partitions of three pages each.
const SIX: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-06 --create --format json";
const PORTAL: &str = "rows = 250\nlatency_ms = { from = 5, to = 30 }";
const MODES: [&str; 3] = ["fast", "immediate", "kill"];
/// Rounds in which the run is killed, the server restarted, or both, at moments drawn by lot. More with this variable.
const ROUNDS: usize = 8;
const MORE_ROUNDS: &str = "GAPLESS_TEST_ROUNDS";

/// A server of its own, and a world that stores on it.
fn world_on_its_server() -> Option<(Server, World)> {
    let server = Server::start(None)?;
    let world = World::playing(PORTAL).storing_at(&server.url).set("store.lease", "4s");
    Some((server, world))
}

#[test]
fn a_run_goes_on_when_its_server_is_restarted_in_the_middle() {
    let Some((server, world)) = world_on_its_server() else { return };
    let rows = unbroken();
    for (position, mode) in MODES.into_iter().enumerate() {
        let world = World::playing(PORTAL).storing_at(&format!("{}&schema=restart_{position}", server.url));
        let run = world.start(SIX);
        world.wait_for_answers(5);
        server.restart(mode);
        let result = run.ended().exits(0).json();
        assert_eq!(result["partitions"]["complete"], 6, "{mode}");
        assert_eq!(result["calls"]["attempts"], 18, "{mode}: no page is asked twice for a restart");
        assert_eq!(world.visible(), rows, "{mode}");
        assert_eq!(world.count("select count(*) from job"), 6, "{mode}");
        assert_eq!(world.count("select count(*) from attempt"), 18, "{mode}: every request has one line");
        world.assert_store_is_sound(mode);
    }
    drop(world);
}

#[test]
fn runs_and_servers_that_are_killed_over_and_over_lose_nothing() {
    let Some((server, mut world)) = world_on_its_server() else { return };
    let rows = unbroken();
    let rounds = std::env::var(MORE_ROUNDS).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let seed = fastrand::u64(..);
    let mut lots = Rng::with_seed(seed);
    let (mut killed, mut restarted, mut schemas) = (0, 0, 0);
    for round in 0..rounds {
        let when = format!("seed {seed}, round {round}");
        let run = world.start(SIX);
        let (kills, restarts) = [(true, false), (false, true), (true, true)][round % 3];
        // A run that is not held up by a restart has ended soon.
        std::thread::sleep(Duration::from_millis(lots.u64(20..if restarts { 600 } else { 250 })));
        if restarts {
            server.restart(MODES[lots.usize(..3)]);
            restarted += 1;
        }
        if kills {
            run.signal("KILL");
        }
        let ended = run.ended();
        killed += usize::from(ended.exit == 137);
        assert!(ended.exit == 137 || ended.exit == 0, "{when}: {}\n{}", ended.stdout, ended.stderr);
        if !world.has_its_tables() {
            continue;
        }
        world.assert_store_is_sound(&when);
        for (month, hashes) in world.visible() {
            assert_eq!(hashes, rows[&month], "{when}: {month} is published, so it is whole");
        }
        if ended.exit == 0 {
            assert_eq!(world.visible(), rows, "{when}");
            schemas += 1;
            world = world.storing_at(&format!("{}&schema=round_{schemas}", server.url));
        }
    }
    world.run(SIX).exits(0);
    assert_eq!(world.visible(), rows, "seed {seed}");
    world.assert_store_is_sound("at the end");
    assert!(killed > 0 && restarted > 0, "seed {seed}: {killed} kills and {restarted} restarts in {rounds} rounds");
}

fn unbroken() -> crate::soundness::Hashes {
    let world = World::playing(PORTAL);
    world.run(SIX).exits(0);
    world.visible()
}
