//! Machines a night job really meets: full, poor, read only, without home or locale, in any time zone, with a disk that fails.

use std::fs;
use std::process::{Command, Stdio};

use gapless::model::month::Month;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::world::World;

const SIX: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-06 --create --format json";

fn assert_all_true(world: &World) {
    (1..=6).for_each(|month| world.assert_rows_are_true("11110", &format!("2024-{month:02}")));
}

/// Whether a script can do on this machine what a test needs; else the test is named as left out, but not under CI.
fn is_possible(script: &str) -> bool {
    let tried = Command::new("sh").args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_possible = tried.is_ok_and(|status| status.success());
    assert!(is_possible || std::env::var_os("CI").is_none(), "needed: `{script}`");
    if !is_possible {
        eprintln!("left out, since this fails here: `{script}`");
    }
    is_possible
}

/// Runs a script on a file system of its own that is mounted at `disk`; `"$@"` is the program and its line.
fn on_a_disk(world: &World, options: &str, script: &str, line: &str) -> Option<crate::world::Ended> {
    let mount = |at: &str| format!("mount -t tmpfs -o {options} none {at}");
    if !is_possible(&format!("unshare -m sh -c '{}'", mount("/mnt"))) {
        return None;
    }
    fs::create_dir_all(world.folder().join("disk")).unwrap();
    let script = format!("{} && {script}", mount("disk"));
    Some(
        world
            .run_under(&["/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "unshare", "-m", "sh", "-c", &script, "sh"], line),
    )
}

#[test]
fn a_disk_that_fills_up_ends_a_run_and_the_next_one_goes_on_when_there_is_room() {
    let world = World::playing("rows = 900");
    let script = r#"
        head -c 400000 /dev/zero > disk/ballast
        "$@"; echo "first ended with $?" >&2
        "$1" status --store sqlite://disk/gapless.db >&2 || exit 90
        "$1" audit --store sqlite://disk/gapless.db >&2 || exit 91
        mount -o remount,size=40m none disk
        "$@" >&2; echo "second ended with $?" >&2
        "$1" store backup gapless.db --store sqlite://disk/gapless.db >&2"#;
    let Some(run) = on_a_disk(&world, "size=2m", script, &format!("{SIX} --store sqlite://disk/gapless.db")) else { return };
    let run = run.exits(0);
    assert_eq!(run.json()["exit_code"], 8, "{}", run.stdout);
    let error = &run.json()["error"];
    assert!(error["what"].as_str().unwrap().contains("disk/gapless.db`: the disk is full"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("free some space"), "{error}");
    assert!(run.stderr.contains("first ended with 8") && run.stderr.contains("second ended with 0"), "{}", run.stderr);
    assert_all_true(&world);
    // Of each of the four partitions in flight at most the pages that were not on the disk.
    let asked = world.requests().len();
    assert!(asked < 2 * 6 * 9, "{asked} requests for 54 pages: a full disk is not asked against");
}

#[test]
fn a_disk_without_any_room_or_that_takes_no_writes_is_told_before_any_call() {
    let check = |options: &str, said: &str| {
        let world = World::playing("rows = 5");
        let Some(run) = on_a_disk(&world, options, r#""$@""#, &format!("{SIX} --store sqlite://disk/gapless.db")) else { return };
        let run = run.exits(8);
        let error = run.json()["error"].to_string();
        assert!(error.contains(said) && error.contains("disk/gapless.db") && run.json()["error"]["hint"].is_string(), "{error}");
        assert_eq!(world.requests().len(), 0, "{options}");
    };
    check("size=16k", "the disk is full");
    check("ro", "Read-only file system");
}

#[test]
fn a_disk_that_fails_once_ends_a_run_and_the_next_one_goes_on() {
    if !is_possible("strace -qq -o /dev/null true") {
        return;
    }
    for nth in ["2", "4"] {
        let world = World::playing("rows = 250");
        let inject = format!("inject=fdatasync,fsync:error=EIO:when={nth}");
        let tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", &inject];
        world.create_store();
        let run = world.run_under(&tracer, SIX).exits(7);
        let error = &run.json()["error"];
        assert!(error["what"].as_str().unwrap().contains("the disk failed"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("check the disk"), "{error}");
        world.assert_store_is_sound(&format!("after sync {nth} failed"));
        world.run(SIX).exits(0);
        assert_all_true(&world);
    }
}

#[test]
fn few_descriptors_slow_a_run_down_and_too_few_are_told_before_any_call() {
    let limited = |count: u32| {
        let world = World::playing("rows = 250").set("retry.delay", "20ms");
        let script = format!(r#"ulimit -n {count} && exec "$@""#);
        let run = world.run_under(&["/bin/sh", "-c", &script, "sh"], &format!("{SIX} --concurrency 30"));
        (world, run)
    };
    let (world, run) = limited(24);
    run.exits(0);
    assert_all_true(&world);
    let (world, run) = limited(12);
    let run = run.exits(8);
    assert!(run.json()["error"]["hint"].as_str().unwrap().contains("ulimit -n"), "{}", run.stdout);
    assert_eq!(world.requests().len(), 0);
}

#[test]
fn streams_that_are_closed_or_full_change_nothing_of_the_work() {
    for streams in [">&- 2>&- <&-", "2>/dev/full", "2>&-", ">&-", "<&-", "< /dev/zero"] {
        let world = World::playing("rows = 5");
        let script = format!(r#"exec "$@" {streams}"#);
        world.run_under(&["/bin/sh", "-c", &script, "sh"], &format!("{SIX} -vv")).exits(0);
        assert_eq!(world.count("select count(*) from apt_trade"), 6 * 5, "{streams}");
        world.assert_store_is_sound(streams);
    }
}

#[test]
fn a_run_needs_no_home_no_locale_and_no_folder_to_stand_in() {
    // The environment of a world has no HOME, USER, PATH or LANG.
    for (name, value) in [("LANG", "C"), ("LC_ALL", "POSIX"), ("LC_ALL", "nonsense"), ("HOME", "/nonexistent")] {
        let world = World::playing("rows = 5").variable(name, value);
        world.run(SIX).exits(0);
        let shown = world.run("datasets show apt_trade").exits(0).stdout;
        assert!(shown.contains("아파트 매매"), "{name}={value}: {shown}");
        let names = "select count(*) from apt_trade where umd_nm glob '*[가-힣]*'";
        assert_eq!(world.count(names), 6 * 5, "{name}={value}");
    }
    let world = World::playing("rows = 5");
    let store = world.folder().join("gapless.db").display().to_string();
    let script = r#"mkdir gone && cd gone && rmdir ../gone && exec "$@""#;
    let line = |store: &str| format!("{SIX} --store sqlite://{store}");
    let elsewhere =
        world.run_under(&["/usr/bin/env", "PATH=/usr/bin:/bin", "sh", "-c", script, "sh"], &line("gapless.db")).exits(8);
    assert!(elsewhere.json()["error"]["what"].as_str().unwrap().contains("No such file or directory"), "{}", elsewhere.stdout);
    assert_eq!(world.requests().len(), 0);
    world.run_under(&["/usr/bin/env", "PATH=/usr/bin:/bin", "sh", "-c", script, "sh"], &line(&store)).exits(0);
}

#[test]
fn months_are_those_of_the_provider_in_whatever_zone_the_machine_is() {
    let here = || Month::containing(Timestamp::now().to_zoned_datetime(TimeZone::get("Asia/Seoul").unwrap()).date());
    for zone in ["", "UTC", "Pacific/Kiritimati", "America/Los_Angeles", "<+2359>-23:59", "nonsense", ":/etc/passwd"] {
        let world = World::playing("rows = 5").variable("TZ", zone);
        let before = here();
        world.run("collect apt_trade --regions 11110 --months last:2 --create").exits(0);
        if here() != before {
            // The month turned while it ran.
            continue;
        }
        let asked = world.query("select month from coverage order by month desc");
        assert_eq!(asked, [[before.to_string()], [before.back(1).to_string()]], "TZ={zone}");
    }
}

#[test]
fn a_lock_file_that_a_dead_run_left_locks_nobody_out() {
    let world = World::playing("rows = 5");
    world.file("gapless.db.lock", "process 1, begun 2020-01-01T00:00:00Z");
    world.run(SIX).exits(0);
    world.file("gapless.db.lock", &"\0".repeat(5000));
    world.run(&format!("{SIX} --only all")).exits(0);
    assert_eq!(world.requests().len(), 2 * 6);
}
