//! Runs that are killed at one call to the system after the other by which a store is written: each leaves a sound store,
//! and the next run ends with the rows of an unbroken one.

use std::process::{Command, Stdio};

use crate::soundness::Hashes;
use crate::world::World;

/// Three partitions of three pages each.
const THREE: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-03 --create --format json";
const MONTHS: [&str; 3] = ["2024-01", "2024-02", "2024-03"];
const OLD: &str = "rows = 250\nseed = 1";
const NEW: &str = "rows = 250\nseed = 2";

/// The calls a run is killed at: its first, and then each so many further. Writes are many and alike; a stride that shares
/// no factor with their number in a page meets all kinds of them.
///
/// A count is of one thread: the first to come so far is meant.
const CALLS: &[(&str, usize)] =
    &[("pwrite64", 7), ("fsync", 1), ("fdatasync", 1), ("ftruncate", 1), ("unlink", 1), ("rename", 1)];
/// A run with more of one call is not meant to be swept in a test.
const MOST_CALLS: usize = 2_000;

#[test]
fn a_first_run_survives_a_kill_at_each_call_that_writes() {
    if !strace_is_there() {
        return;
    }
    let rows = unbroken(OLD).visible();
    let world = || playing(OLD);
    sweep(&world, THREE, &Hashes::new(), &rows);
}

#[test]
fn a_run_that_replaces_a_snapshot_survives_a_kill_at_each_call_that_writes() {
    if !strace_is_there() {
        return;
    }
    let (old, rows) = (unbroken(OLD), unbroken(NEW).visible());
    let world = || playing(NEW).with_the_store_of(&old);
    sweep(&world, &format!("{THREE} --only all"), &old.visible(), &rows);
}

/// `before` is what the view shows at first, `after` what it shows in the end: each month is one or the other.
fn sweep(world: &dyn Fn() -> World, line: &str, before: &Hashes, after: &Hashes) {
    let mut told = Vec::new();
    for (call, stride) in CALLS {
        let kills = (1..MOST_CALLS).step_by(*stride).take_while(|nth| is_killed_at(&world(), call, *nth, line, before, after));
        told.push((*call, kills.count()));
    }
    eprintln!("kills: {told:?}");
    let kills = |wanted: &str| told.iter().find(|(call, _)| *call == wanted).map_or(0, |(_, kills)| *kills);
    // The writer waits for the disk once for all that came meanwhile: at the least for the start, the pages and the end.
    assert!(kills("pwrite64") > 5 && kills("fsync") + kills("fdatasync") > 2, "the program writes and syncs: {told:?}");
}

/// Whether the program came as far as the nth call. It is killed there, and the next run goes on.
fn is_killed_at(world: &World, call: &str, nth: usize, line: &str, before: &Hashes, after: &Hashes) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    let trace = format!("trace={call}");
    let run = world.run_under(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject], line);
    if run.exit == 0 {
        return false;
    }
    let when = format!("killed at {call} {nth}");
    assert_eq!(run.exit, 137, "{when}: {}", run.stderr);
    world.assert_store_is_sound(&when);
    let visible = if world.has_its_tables() { world.visible() } else { Hashes::new() };
    for month in MONTHS {
        let rows = visible.get(month);
        assert!(rows == before.get(month) || rows == after.get(month), "{when}: {month} is the old one or the new one");
    }
    world.run(line).exits(0);
    world.assert_store_is_sound(&format!("{when}, after the next run"));
    assert!(world.visible() == *after, "{when}: the rows of an unbroken run");
    assert_eq!(world.count("select count(*) from job where state <> 'ended' or verdict = 'lost'"), 0, "{when}");
    true
}

fn playing(scenario: &str) -> World {
    // What SQLite spills is left behind by a kill: here, and not where others find it.
    World::playing(scenario).set("collect.pages_ahead", "4").variable("SQLITE_TMPDIR", ".")
}

fn unbroken(scenario: &str) -> World {
    let world = playing(scenario);
    world.run(THREE).exits(0);
    for month in MONTHS {
        world.assert_rows_are_true("11110", month);
    }
    world
}

/// Where it is missing the sweep is named as left out, but not under CI.
fn strace_is_there() -> bool {
    let found =
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    assert!(is_there || std::env::var_os("CI").is_none(), "strace is needed: `scripts/tools.sh strace`");
    if !is_there {
        eprintln!("left out, since strace is missing: `scripts/tools.sh strace`");
    }
    is_there
}
