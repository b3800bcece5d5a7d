//! `gapless probe throughput`: the real program against the practice portal.

use gapless::sandbox::RequestLine;
use serde_json::Value;

use crate::world::{Ended, World};

const PROBE: &str = "probe throughput apt_trade --partition 11110,2024-01 --format json";

fn behind(limit: &str) -> World {
    World::playing(&format!("rows = 20\nlatency_ms = 60\n{limit}"))
        .set("providers.data_go_kr.documented_rps", "none")
        .without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__RPS")
        .without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__CONCURRENCY")
}

fn kinds(run: &Ended) -> Vec<String> {
    let steps = run.json()["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| step["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_probe_finds_what_a_source_bears_and_saves_it_below_the_settings() {
    let world = behind("limit = { per_second = 30 }");
    let run = world.run(&format!("{PROBE} --save --plot bears.svg --max-calls 350")).exits(0);
    let report = run.json();
    let requests = world.requests().len();
    assert!(requests <= 350 && report["used"] == requests, "{requests} calls of 350, {} told", report["used"]);
    let (rps, concurrency) = (report["result"]["rps"].as_f64().unwrap(), report["result"]["concurrency"].as_u64().unwrap());
    assert!((18.0..=30.0).contains(&rps), "{rps} of 30");
    assert!(!world.has_store(), "nothing is stored");
    let picture = std::fs::read_to_string(world.folder().join("bears.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(&format!("{rps}/s, {concurrency} in flight")), "{picture}");

    let before = world.requests().len();
    let run = world.run("collect apt_trade --regions sido:11 --months 2024-01..2024-06 --create").exits(0);
    assert!(run.stderr.contains(&format!("{concurrency} in flight (gapless.probed.toml:")), "{}", run.stderr);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let refused = world.requests()[before..].iter().filter(|line| line.answered != Some(200)).count();
    assert_eq!(refused, 0, "it bears what was found");

    // The user's own settings win.
    world.file("gapless.toml", "[providers.data_go_kr]\nrps = 7\n");
    let run = world.run("collect apt_trade --partition 11110,2024-01").exits(0);
    assert!(run.stderr.contains("7/s (gapless.toml:2)"), "{}", run.stderr);
    let run = world.run(&format!("{PROBE} --save --max-calls 60 --max-rps 20"));
    assert!(run.stderr.contains("but     your own `rps` goes before it: gapless.toml:2"), "{}", run.stderr);
    assert!(!run.stderr.contains("your own `concurrency`"), "{}", run.stderr);
}

#[test]
fn a_saved_probe_that_is_old_or_of_another_place_is_doubted() {
    let world = behind("");
    let saved = "[providers.data_go_kr]\nrps = 9.0\nprobed_at = \"2025-01-31T00:00:00Z\"\nprobed_url = \"https://elsewhere\"\n";
    world.file("gapless.probed.toml", saved);
    let run = world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    assert!(run.stderr.contains("warning: data_go_kr: its 9/s were found on 2025-01-31;"), "{}", run.stderr);
    assert!(run.stderr.contains("warning: data_go_kr: its 9/s were found at https://elsewhere, not at http"), "{}", run.stderr);
    // A rate of one's own is not.
    let run = world.run("collect apt_trade --partition 11110,2024-02 --rps 5").exits(0);
    assert!(!run.stderr.contains("were found"), "{}", run.stderr);
}

#[test]
fn what_a_probe_costs_is_said_before_and_much_of_a_day_needs_leave() {
    let world = behind("").set("providers.data_go_kr.daily_calls", "1000");
    let run = world.run(&format!("{PROBE} --dry-run --max-calls 100")).exits(0);
    assert_eq!(run.json()["plan"]["calls"], 100);
    assert!(run.stderr.contains("up to 100 calls, 10 % of the day's 1,000"), "{}", run.stderr);
    let run = world.run(PROBE).exits(2);
    assert_eq!(run.json()["error"]["what"], "400 calls are more than a tenth of the day's 1,000");
    assert_eq!(world.requests().len(), 0);
    // Never faster than nine tenths of what is documented.
    let world = world.set("providers.data_go_kr.documented_rps", "20");
    let run = world.run(&format!("{PROBE} --yes --max-calls 60")).exits(0);
    assert!(run.stderr.contains("at most 18/s (nine tenths of the documented 20)"), "{}", run.stderr);
    assert!(run.json()["steps"].as_array().unwrap().iter().all(|step| step["offered"].as_f64().unwrap() <= 18.0));
}

#[test]
fn what_is_no_limit_ends_a_probe_at_once_and_never_with_an_answer() {
    let check = |fault: &str, exit: i32, ended: &str, most: usize| {
        let world = behind(fault);
        let run = world.run(PROBE).exits(exit);
        assert_eq!((&run.json()["ended"], &run.json()["result"]), (&ended.into(), &Value::Null), "{fault}");
        let requests = world.requests().len();
        assert!(requests <= most, "{requests} requests: {fault}");
    };
    let always = |answer: &str| format!("fault = [{{ answer = {answer} }}]");
    check(&always(r#"{ kind = "gateway1", code = "30" }"#), 5, "barred", 2);
    check(&always(r#"{ kind = "gateway1", code = "22" }"#), 6, "quota", 2);
    check(&always(r#"{ kind = "agency", code = "99" }"#), 6, "trouble", 8);
    check(&always(r#"{ kind = "gateway3", code = "23" }"#), 6, "blocked", 2);
    // In the middle of the ladder: barred from now on, and no further call.
    let blacklisted = r#"fault = [{ from_ms = 3500, answer = { kind = "gateway1", code = "29" } }]"#;
    let world = behind(blacklisted);
    world.run(PROBE).exits(5);
    let last: Vec<RequestLine> = world.requests();
    let barred = last.iter().filter(|line| line.played.to_string() != "page").count();
    assert!((1..=6).contains(&barred), "those in flight, and no more: {barred}");
    let world = behind("quota = { daily_calls = 60 }");
    assert_eq!(world.run(PROBE).exits(6).json()["ended"], "quota");
    assert!(world.requests().len() <= 66);
}

#[test]
fn one_stray_failure_changes_nothing() {
    let world = behind(r#"fault = [{ from_ms = 3000, times = 1, wait_ms = 5, answer = { kind = "html", status = 503 } }]"#);
    let run = world.run(&format!("{PROBE} --max-rps 30 --max-calls 200")).exits(0);
    assert_eq!(world.requests().iter().filter(|line| line.answered == Some(503)).count(), 1);
    assert_eq!(run.json()["kind"], "none", "{}", run.stdout);
    assert!(run.json()["result"]["rps"].as_f64().unwrap() > 15.0, "{}", run.stdout);
    assert!(!kinds(&run).contains(&"refine".to_owned()));
}

#[test]
fn the_plain_table_has_a_row_for_each_pair() {
    let world = behind("");
    let run = world.run("probe throughput apt_trade --partition 11110,2024-01 --ladder 2:20,4:40 --calls 60").exits(0);
    let rows: Vec<&str> = run.stdout.lines().filter(|line| line.trim_start().starts_with("row ")).collect();
    assert_eq!(rows.len(), 2, "{}", run.stdout);
    assert_eq!(world.requests().len(), 120);
    assert!(world.requests().iter().all(|line| line.in_flight <= 4));
    let report = behind("").run(&format!("{PROBE} --ladder 2:20 --calls 60")).exits(0).json();
    let achieved = report["steps"][0]["sent"].as_f64().unwrap();
    assert!((19.0..=20.1).contains(&achieved), "{achieved}");
    world.run("probe throughput apt_trade --ladder 2-40").exits(2);
    // What bounds a search does not bound the table, and is not passed over either.
    for bound in ["--max-calls 30", "--max-rps 5", "--max-concurrency 1", "--max-wait 1s", "--refine 0"] {
        let run = world.run(&format!("probe throughput apt_trade --ladder 2:20 --dry-run {bound}")).exits(2);
        assert!(run.stderr.contains("cannot be used with"), "{bound}: {}", run.stderr);
    }
    let run = world.run("probe throughput apt_trade --ladder").exits(2);
    assert!(run.stderr.contains("1,620 calls are more than a tenth of the day's 10,000"), "{}", run.stderr);
}

#[test]
fn a_probe_that_is_interrupted_tells_what_it_knows() {
    let world = behind("");
    let run = world.start(PROBE);
    world.wait_for_answers(20);
    run.signal("INT");
    let run = run.ended().exits(130);
    assert_eq!(run.json()["ended"], "interrupted");
    assert!(!kinds(&run).is_empty());
}

#[test]
fn the_calls_of_a_probe_are_calls_of_the_day() {
    let world = behind("").set("providers.data_go_kr.daily_calls", "600");
    world.create_store();
    let run = world.run(&format!("{PROBE} --max-calls 60")).exits(0);
    assert_eq!(world.query("select calls from api_state"), [[run.json()["used"].to_string()]]);
    assert_eq!(world.count("select count(*) from attempt"), 0);
}

#[test]
fn what_a_probe_learns_of_its_source_is_told_and_nothing_is_guessed() {
    let check = |scenario: &str, facts: [&str; 5]| {
        let world = World::playing(&format!("{scenario}\nlatency_ms = 20"));
        let report = world.run(&format!("{PROBE} --max-calls 60")).exits(0).json();
        let told = ["page_size", "before_first", "past_end", "same_page", "format"];
        let told = told.map(|name| report["learned"][name]["verdict"].as_str().unwrap().to_owned());
        assert_eq!(told, facts, "{scenario}: {}", report["learned"]);
        assert!(world.requests().len() <= 60 && report["used"] == world.requests().len(), "at no extra call");
    };
    check("rows = 20", ["not_seen", "first_page", "no_rows", "same", "as_said"]);
    check("rows = 250", ["as_asked", "first_page", "no_rows", "same", "as_said"]);
    check("rows = 250\npage_cap = 60", ["capped", "first_page", "no_rows", "same", "as_said"]);
    let plays = |fault: &str| format!("rows = 250\nfault = [{{ {fault} }}]");
    check(&plays(r#"content = { kind = "same_page" }"#), ["as_asked", "first_page", "first_page", "same", "as_said"]);
    check(&plays(r#"content = { kind = "last_page_again" }"#), ["as_asked", "first_page", "other_rows", "same", "as_said"]);
    // What it says of a page that nobody has stops nothing.
    let error = plays(r#"page = 9999, answer = { kind = "agency", code = "10" }"#);
    check(&error, ["as_asked", "first_page", "error", "same", "as_said"]);
    let changes = plays(r#"page = 1, from_ms = 2500, times = 1, content = { kind = "slide", by = 1 }"#);
    check(&changes, ["as_asked", "first_page", "no_rows", "same", "as_said"]);
    // Of many partitions in turn, one is asked for twice.
    let report = World::playing("rows = 20").run("probe throughput apt_trade --format json --max-calls 60").exits(0).json();
    assert_eq!(report["learned"]["same_page"]["told"], "the same rows in the same order (repeats: 1)");
    // The plain table asks for page 1 alone.
    let world = World::playing("rows = 20");
    let report = world.run(&format!("{PROBE} --ladder 2:40 --calls 20")).exits(0).json();
    assert_eq!(report["learned"]["before_first"]["verdict"], "not_seen");
    assert!(world.requests().iter().all(|line| line.param("pageNo") == Some("1")));
}
