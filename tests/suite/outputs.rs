//! What is printed, and where to.

use std::fs::File;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::world::World;

const SIX: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-06 --create";

/// Some of everything: whole, empty, short, failed, retried.
const MIXED: &str = r#"
    rows = 150
    empty_months = ["2024-02"]
    latency_ms = 20
    fault = [
        { month = "2024-03", answer = { kind = "agency", code = "10" } },
        { month = "2024-04", page = 2, content = { kind = "same_page" } },
        { month = "2024-05", page = 1, times = 2, answer = { kind = "agency", code = "99" } },
    ]
"#;

#[test]
fn the_json_of_a_run_has_every_key_and_its_sums_are_right() {
    let world = World::playing(MIXED);
    let run = world.run(&format!("{SIX} --concurrency 3 --rps 50 --format json")).exits(3);
    let json = run.json();

    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let top = "bound_by calls elsewhere exit_code gaps gaps_total latency_ms partitions rate rows run started_at took_ms";
    assert_eq!(keys(&json), top);
    let verdicts = "complete deferred empty failed held planned short skipped unverified";
    assert_eq!(keys(&json["partitions"]), verdicts);
    assert_eq!(keys(&json["rows"]), "promised published received");
    assert_eq!(keys(&json["calls"]), "attempts by_outcome pages retries");
    let outcomes = "empty garbled invalid later page refused restart retry slow_down spent too_big";
    assert_eq!(keys(&json["calls"]["by_outcome"]), outcomes);
    assert_eq!(keys(&json["rate"]), "achieved_rps concurrency found rps_cap");
    assert_eq!(keys(&json["latency_ms"]), "max p50 p95");
    assert_eq!(keys(&json["gaps"][0]), "dataset hint page partition promised received verdict why");

    let number = |value: &Value| value.as_f64().unwrap();
    let sum = |value: &Value| value.as_object().unwrap().values().map(number).sum::<f64>();
    let partitions = &json["partitions"];
    assert_eq!(sum(partitions), 2.0 * number(&partitions["planned"]), "every partition has one verdict");
    assert_eq!(
        [&partitions["planned"], &partitions["complete"], &partitions["empty"], &partitions["short"], &partitions["failed"]]
            .map(number),
        [6.0, 3.0, 1.0, 1.0, 1.0]
    );
    assert_eq!(json["rows"]["published"], 3 * 150);
    assert_eq!(world.count("select count(*) from apt_trade"), 3 * 150);
    assert_eq!(json["gaps_total"], 2);
    assert_eq!(json["exit_code"], 3);

    let attempts = world.requests().len();
    assert_eq!(number(&json["calls"]["attempts"]), attempts as f64);
    assert_eq!(sum(&json["calls"]["by_outcome"]), attempts as f64);
    // Two of the page that healed, four of the one that did not.
    assert_eq!(json["calls"]["retries"], 2 + 4);
    assert_eq!(json["calls"]["pages"], 8);
    assert_eq!(attempts, 8 + 2 + 5 + 1, "pages, tries of the page that healed and of the one that did not, invalid");
    world.assert_ledger_tells_every_request(&run);

    let sent = world.query("select min(sent_at), max(sent_at) from attempt");
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let seconds = at(&sent[0][1]).duration_since(at(&sent[0][0])).as_secs_f64();
    let expected = (attempts - 1) as f64 / seconds;
    let achieved = number(&json["rate"]["achieved_rps"]);
    assert!((achieved - expected).abs() < 0.02 * expected, "{achieved} told, {expected} by the ledger");
    assert_eq!(json["rate"]["rps_cap"], 50.0);
    assert_eq!(json["rate"]["concurrency"], 3);
}

#[test]
fn a_run_without_a_rate_says_null_and_a_run_without_work_says_zero() {
    let world = World::playing("rows = 5");
    assert_eq!(world.run(&format!("{SIX} --format json")).exits(0).json()["rate"]["rps_cap"], Value::Null);
    let json = world.run(&format!("{SIX} --format json")).exits(0).json();
    assert_eq!(json["partitions"]["planned"], 0);
    assert_eq!(json["calls"]["attempts"], 0);
    assert_eq!(json["rate"]["achieved_rps"], 0.0);
    assert_eq!(world.requests().len(), 6, "what is whole is not asked again");
}

#[test]
fn quiet_is_silent_when_all_is_well_and_not_when_it_is_not() {
    let world = World::playing(
        r#"rows = 5
        fault = [{ month = "2024-03", answer = { kind = "agency", code = "10" } }]"#,
    );
    let run = world.run("collect apt_trade --partition 11110,2024-01 --create -q").exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let run = world.run("collect apt_trade --partition 11110,2024-03 -q").exits(3);
    assert!(run.stdout.contains("region=11110,month=2024-03") && run.stdout.contains("INVALID_REQUEST"), "{}", run.stdout);
}

#[test]
fn a_dry_run_counts_and_neither_calls_nor_makes_anything() {
    let world = World::playing("rows = 5");
    let before = std::fs::read_dir(world.folder()).unwrap().count();
    let run = world.run(&format!("{SIX} --dry-run --rps 2 --format json")).exits(0);
    let plan = &run.json()["plan"];
    assert_eq!((&plan["partitions"], &plan["calls"]), (&6.into(), &6.into()));
    for key in ["by_reason", "seconds", "quota_share", "nights"] {
        assert!(!plan[key].is_null(), "{key} is in {plan}");
    }
    assert!(world.run(&format!("{SIX} --dry-run")).exits(0).stdout.contains("6 partitions"));
    assert_eq!(world.requests().len(), 0);
    assert_eq!(std::fs::read_dir(world.folder()).unwrap().count(), before, "nothing is made");

    world.run("collect apt_trade --regions 11110 --months 2024-01..2024-02 --create").exits(0);
    let run = world.run(&format!("{SIX} --dry-run --format json")).exits(0);
    assert_eq!(run.json()["plan"]["partitions"], 4, "what is whole is left out");
}

#[test]
fn a_closed_pipe_changes_nothing() {
    for line in [SIX.to_owned(), format!("{SIX} --format json")] {
        let world = World::playing("rows = 5\nlatency_ms = 50");
        let mut run = world.start(&line);
        drop(run.take_stdout());
        run.ended().exits(0);
        assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 6);
    }
    let world = World::playing("");
    for line in ["datasets list", "man", "completions bash", "config show", "--help"] {
        let mut run = world.start(line);
        drop(run.take_stdout());
        run.ended().exits(0);
    }
}

#[test]
fn a_full_disk_under_stdout_is_told_after_the_work_is_done() {
    for line in [SIX.to_owned(), format!("{SIX} --format json")] {
        let world = World::playing("rows = 5");
        let run = world.start_writing_to(&line, File::options().write(true).open("/dev/full").unwrap()).ended().exits(8);
        assert!(run.stderr.contains("stdout"), "{}", run.stderr);
        assert_eq!(world.count("select count(*) from coverage where verdict = 'complete'"), 6);
        for line in
            ["status", "why apt_trade 11110,2024-01", "audit", "config show", "datasets list", "man", "--help", "--version"]
        {
            let full = File::options().write(true).open("/dev/full").unwrap();
            world.start_writing_to(line, full).ended().exits(8);
        }
    }
}

#[test]
fn nothing_is_coloured_or_redrawn_off_a_terminal() {
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "TERM"] {
        let world = World::playing(MIXED).variable(variable, "1");
        for format in ["text", "json"] {
            let run = world.run(&format!("{SIX} --only all -vv --format {format}")).exits(3);
            let is_plain = |text: &str| !text.contains(['\u{1b}', '\r']);
            assert!(is_plain(&run.stdout) && is_plain(&run.stderr), "{variable}");
            assert!(run.stderr.contains("attempt ended"), "the log is there: {}", run.stderr);
        }
    }
}

#[test]
fn what_a_portal_sends_cannot_act_on_the_terminal() {
    // An escape in a message would clear the screen of whoever reads the log.
    let world = World::playing(r#"fault = [{ answer = { kind = "redirect", to = "http://x/\u009b2J\u202e" } }]"#);
    let run = world.run(&format!("{SIX} -vv")).exits(3);
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.chars().any(|c| c == '\u{9b}' || c == '\u{202e}'), "{text}");
    }
}

#[test]
fn a_run_begins_with_its_limits_and_ends_with_what_to_do_next() {
    let world = World::playing(MIXED);
    let run = world.run(&format!("{SIX} --rps 25")).exits(3);
    let first = run.stderr.lines().take(2).collect::<Vec<_>>().join("\n");
    for said in ["no settings file", "sqlite://gapless.db"] {
        assert!(run.stderr.contains(said), "{said}: {first}");
    }
    let limits = BufReader::new(run.stderr.as_bytes()).lines().map(Result::unwrap).find(|line| line.starts_with("data_go_kr:"));
    let limits = limits.expect("the limits are stated");
    for said in ["4 in flight", "GAPLESS__PROVIDERS__DATA_GO_KR__CONCURRENCY", "25", "--rps", "4 retries", "default"] {
        assert!(limits.contains(said), "{said}: {limits}");
    }
    for said in
        ["region=11110,month=2024-03", "region=11110,month=2024-04", "exit 3", "next: gapless collect apt_trade --only failed"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
}
