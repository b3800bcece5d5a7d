//! How the program ends, and what it says then: what, on which thing, and what to do next.

use std::fs;

use crate::world::World;

/// A mistake of the user: nothing is called or made, and every one of the texts is said.
#[track_caller]
fn check_usage(world: &World, line: &str, said: &[&str]) {
    check_refused(world, line, 2, said);
    let run = world.run(&format!("{line} --format json"));
    if line.starts_with("collect") && !run.stdout.is_empty() {
        let told = run.json();
        assert_eq!(told["exit_code"], 2, "{line}");
        assert!(!told["error"]["what"].as_str().unwrap().is_empty());
    }
}

#[track_caller]
fn check_refused(world: &World, line: &str, exit: i32, said: &[&str]) {
    let run = world.run(line).exits(exit);
    for text in said {
        assert!(run.stderr.contains(text), "`{text}` is said of `{line}`: {}", run.stderr);
    }
    assert_eq!(run.stdout, "", "{line}");
    assert_eq!(world.requests().len(), 0, "{line}");
    assert!(!world.has_store(), "{line}");
}

#[test]
fn a_month_that_is_none_is_refused_with_how_to_write_it() {
    let world = World::playing("");
    let check = |months: &str, said: &[&str]| {
        check_usage(&world, &format!("collect apt_trade --regions 11110 --months {months} --create"), said);
    };
    check("202413", &["`202413` is not a span of months", "write `2024-01`"]);
    check("2024-1", &["`2024-1` is not a span of months"]);
    check("2024-13", &["`2024-13` is not a span of months"]);
    check("000000", &["`000000` is not a span of months"]);
    check("2024-05..2024-04", &["`2024-05..2024-04` ends before it begins"]);
    check("2024-01..2199-12", &["2199-12 is in the future"]);
    check("2150-01", &["2150-01 is in the future"]);
    check("1950-01..1950-12", &["before 2006-01"]);
    check("last:0", &["`last:0` is not a span of months"]);
}

#[test]
fn a_region_that_is_none_is_refused_with_what_to_ask_instead() {
    let world = World::playing("");
    let check = |regions: &str, said: &[&str]| {
        check_usage(&world, &format!("collect apt_trade --months 2024-01 --regions {regions} --create"), said);
    };
    check("11111", &["`11111` is no region"]);
    check("011110", &["`011110` is no region"]);
    check("41110", &["41110", "is divided into districts", "41111"]);
    check("42110", &["42110", "was retired", "51110"]);
    check("sido:99", &["no region", "`99`"]);
    check("sido:1", &["no region", "`1`"]);
    check("@nowhere.txt", &["nowhere.txt", "No such file"]);
    check(",", &["empty"]);
    check_usage(&world, "collect apt_trade --partition 42110,2024-01 --create", &["51110"]);
    check_usage(&world, "collect apt_trade --partition all,2024-01 --create", &["`all` is not the text of one"]);
    check_usage(&world, "collect apt_trade --partition 11110 --create", &["region=…,month=…"]);
}

#[test]
fn a_name_that_is_none_is_refused_with_the_nearest() {
    let world = World::playing("");
    let rest = "--months 2024-01 --regions 11110 --create";
    check_usage(&world, &format!("collect apt_trad {rest}"), &["apt_trad", "apt_trade", "gapless datasets list"]);
    check_usage(&world, &format!("collect APT_TRADE {rest}"), &["APT_TRADE", "apt_trade"]);
    check_usage(&world, &format!("collect apt_trade {rest} --rps kma=3"), &["--rps", "kma", "data_go_kr"]);
    check_usage(&world, &format!("collect apt_trade {rest} --axis station=1"), &["`station`", "region, month"]);
    check_usage(&world, &format!("collect {rest}"), &["no dataset is named", "gapless collect apt_trade"]);
    check_refused(&world, "colect apt_trade", 2, &["collect"]);
    check_refused(&world, "collect apt_trade --month 2024-01", 2, &["--months"]);
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused_with_its_range() {
    let world = World::playing("");
    let check = |flag: &str, said: &[&str]| {
        check_usage(&world, &format!("collect apt_trade --months 2024-01 --regions 11110 --create {flag}"), said);
    };
    for rps in ["0", "NaN", "inf", "-1", "1e9", "fast"] {
        check(&format!("--rps={rps}"), &["--rps", "calls a second"]);
    }
    for concurrency in ["0", "-1", "1e6", "1001", "many"] {
        check(&format!("--concurrency={concurrency}"), &["--concurrency", "from 1 to 1000"]);
    }
    check("--max-runtime soon", &["--max-runtime"]);
    check("--max-calls 0", &["--max-calls"]);
}

#[test]
fn a_setting_that_is_none_is_refused_with_its_place() {
    let line = "collect apt_trade --months 2024-01 --regions 11110 --create";
    let world = World::playing("");
    world.file("gapless.toml", "[retry]\n\nmax_retires = 3\n");
    check_usage(&world, line, &["gapless.toml:3", "max_retires", "max_retries"]);
    world.file("gapless.toml", "[retry]\nmax_retries = 99\n");
    check_usage(&world, line, &["gapless.toml:2", "from 0 to 20"]);
    world.file("gapless.toml", "[retry]\nmax_retries = 3\nmax_retries = 4\n");
    check_usage(&world, line, &["gapless.toml:3"]);
    world.file("gapless.toml", "[retry]\nmax_retries = \"3\"\n");
    check_usage(&world, line, &["gapless.toml:2", "without quotes"]);
    world.file("gapless.toml", "[retry]\n\n[http\n");
    check_usage(&world, line, &["gapless.toml:3"]);
    fs::write(world.file("gapless.toml", ""), b"[retry]\n# \xb9\xce\n").unwrap();
    check_usage(&world, line, &["gapless.toml", "line 2 is not UTF-8 text"]);
    world.file("gapless.toml", &"a".repeat(10_000_000));
    check_usage(&world, line, &["gapless.toml:1"]);
    assert!(world.run(line).stderr.len() < 1000, "what is told of a huge file is short");
    fs::remove_file(world.folder().join("gapless.toml")).unwrap();

    check_usage(&world, &format!("{line} --config nowhere.toml"), &["nowhere.toml"]);
    let world = world.variable("GAPLESS__RETRY__DEALY", "2s");
    check_usage(&world, line, &["GAPLESS__RETRY__DEALY", "did you mean GAPLESS__RETRY__DELAY?"]);
    let world = World::playing("").set("providers.data_go_kr.base_url", "ftp://127.0.0.1");
    check_usage(&world, line, &["ftp://127.0.0.1", "https://"]);
    let world = World::playing("").set("providers.data_go_kr.base_url", "http://me:cAnArY@127.0.0.1");
    check_usage(&world, line, &["must not hold a user or password"]);
    assert!(!world.run(line).stderr.contains("cAnArY"));
    let world = World::playing("").set("http.connect_timeout", "1m");
    check_usage(&world, line, &["connect_timeout", "read_timeout"]);
}

#[test]
fn files_of_any_editor_are_read() {
    let world = World::playing("rows = 5");
    world.file("gapless.toml", "\u{feff}[retry]\r\n\tmax_retries = 3\r\n");
    world.file("codes.txt", "\u{feff}11110\r\n\t11140 # Jung-gu\r\n\r\n11110, 11170");
    let run = world.run("collect apt_trade --months 2024-01 --regions @codes.txt --create").exits(0);
    assert!(run.stderr.contains("3 retries") && run.stderr.contains("gapless.toml:2"), "{}", run.stderr);
    let asked: Vec<_> = world.requests().iter().map(|line| line.param("LAWD_CD").unwrap().to_owned()).collect();
    assert_eq!(asked.len(), 3, "each once: {asked:?}");
    fs::write(world.file("codes.txt", ""), b"11110\n\xff\n").unwrap();
    let run = world.run("collect apt_trade --months 2024-01 --regions @codes.txt").exits(2);
    assert!(run.stderr.contains("region file `codes.txt` cannot be read: line 2 is not UTF-8 text"), "{}", run.stderr);
}

#[test]
fn a_missing_key_is_refused_with_where_to_put_it() {
    let world = World::playing("").without_variable("GAPLESS_KEY_DATA_GO_KR");
    let line = "collect apt_trade --months 2024-01 --regions 11110 --create";
    check_usage(&world, line, &["no key for `data_go_kr`", "GAPLESS_KEY_DATA_GO_KR", "key_file"]);
}

#[test]
fn a_missing_store_is_not_made_off_a_terminal_unless_asked_for() {
    let world = World::playing("rows = 5");
    let line = "collect apt_trade --partition 11110,2024-01";
    check_refused(&world, line, 7, &["there is no store at", "gapless.db", "--create"]);
    let run = world.run(&format!("{line} --format json")).exits(7);
    assert_eq!(run.json()["exit_code"], 7);
    assert!(run.json()["error"]["hint"].as_str().unwrap().contains("--create"));
    world.run(&format!("{line} --store sqlite://gapless.db")).exits(0);
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_as_it_is() {
    for text in ["this is a diary, not a database, and longer than a header of one is: one hundred bytes and some more", ""] {
        let world = World::playing("rows = 5");
        let path = world.file("gapless.db", text);
        world.run("collect apt_trade --partition 11110,2024-01 --create").exits(7);
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        assert_eq!(world.requests().len(), 0);
    }
}

/// Twelve partitions, one call at a time.
const TWELVE: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-12 --create --concurrency 1 --format json";

#[test]
fn a_refused_key_is_confirmed_once_and_then_left_alone() {
    for answer in [r#"{ kind = "gateway1", code = "30" }"#, r#"{ kind = "gateway3", code = "30" }"#] {
        let world = World::playing(&format!("rows = 5\nfault = [{{ answer = {answer} }}]"));
        let run = world.run(TWELVE).exits(5);
        assert_eq!(world.requests().len(), 2, "the refusal and one more call to be sure");
        assert_eq!(run.json()["partitions"]["deferred"], 12);
        assert!(run.json()["gaps"][0]["why"].as_str().unwrap().contains("30"));
        world.assert_ledger_tells_every_request(&run);
        // It is not remembered: the next run asks again.
        world.run(TWELVE).exits(5);
        assert_eq!(world.requests().len(), 4);
    }
}

#[test]
fn a_spent_quota_defers_the_rest_unasked() {
    for kind in ["gateway1", "gateway3"] {
        let world =
            World::playing(&format!("rows = 5\nquota = {{ daily_calls = 4, answer = {{ kind = \"{kind}\", code = \"22\" }} }}"));
        let run = world.run(TWELVE).exits(6);
        assert_eq!(world.requests().len(), 5);
        assert_eq!(run.json()["partitions"]["complete"], 4);
        assert_eq!(run.json()["partitions"]["deferred"], 8);
        assert_eq!(run.json()["calls"]["by_outcome"]["spent"], 1);
        world.assert_ledger_tells_every_request(&run);
    }
}

#[test]
fn a_service_that_is_no_more_is_asked_once() {
    let world = World::playing(r#"fault = [{ answer = { kind = "gateway3", code = "12" } }]"#);
    let run = world.run(TWELVE).exits(3);
    assert_eq!(world.requests().len(), 1);
    assert_eq!(run.json()["partitions"]["failed"], 1);
    assert_eq!(run.json()["partitions"]["deferred"], 11);
}

#[test]
fn requests_refused_as_invalid_in_a_row_stop_their_dataset() {
    let world = World::playing(r#"fault = [{ answer = { kind = "agency", code = "10" } }]"#);
    let run = world.run(TWELVE).exits(3);
    assert_eq!(world.requests().len(), 5);
    assert_eq!(run.json()["partitions"]["failed"], 5);
    assert_eq!(run.json()["partitions"]["deferred"], 7);

    // One page between them, and they are not in a row.
    let world = World::playing(
        r#"rows = 5
        fault = [{ month = ["2024-12", "2024-11", "2024-10", "2024-09", "2024-07"], answer = { kind = "agency", code = "10" } }]"#,
    );
    let run = world.run(TWELVE).exits(3);
    assert_eq!(run.json()["partitions"]["failed"], 5);
    assert_eq!(run.json()["partitions"]["complete"], 7);
}

#[test]
fn a_second_run_on_a_store_is_told_of_the_first_and_calls_nobody() {
    let world = World::playing("rows = 5\nlatency_ms = 100");
    let first = world.start(TWELVE);
    world.wait_for_answers(1);
    let second = world.run("collect apt_trade --partition 11140,2024-01").exits(4);
    assert!(second.stderr.contains("another run is collecting into this store: process"), "{}", second.stderr);
    first.ended().exits(0);
    assert!(world.requests().iter().all(|line| line.param("LAWD_CD") == Some("11110")), "the second run called nobody");
    world.run("collect apt_trade --partition 11140,2024-01").exits(0);
}

#[test]
fn a_run_that_cannot_call_anybody_ends_in_the_ledger_all_the_same() {
    let world = World::playing("rows = 5");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    let broken = world.file("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    let world = world.variable("GAPLESS__HTTP__CA_FILE", &broken.display().to_string());
    let run = world.run("collect apt_trade --partition 11140,2024-01").exits(2);
    assert!(run.stderr.contains("broken.pem"), "{}", run.stderr);
    assert_eq!(world.count("select count(*) from run where ended_at is null"), 0);
    assert_eq!((world.count("select count(*) from run where exit_code = 2"), world.requests().len()), (1, 1));
}

#[test]
fn what_was_there_already_is_not_made_again() {
    let world = World::playing("rows = 5");
    world.run("init").exits(0);
    world.file("gapless.toml", "# mine\n");
    world.run("collect apt_trade --partition 11110,2024-01").exits(0);
    let run = world.run("init").exits(2);
    assert!(run.stderr.contains("`gapless.toml` is there already"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(world.folder().join("gapless.toml")).unwrap(), "# mine\n");
    fs::remove_file(world.folder().join("gapless.toml")).unwrap();
    world.run("init").exits(0);
    assert_eq!(world.count("select count(*) from apt_trade"), 5, "a store that is there is used as it is");
}

#[test]
fn with_nothing_to_do_a_command_says_so() {
    let world = World::playing("rows = 5");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    let check = |line: &str, exit: i32, said: &str| {
        let run = world.run(line).exits(exit);
        assert!(run.stdout.contains(said), "{line}: {}", run.stdout);
    };
    check("collect apt_trade --partition 11110,2024-01", 0, "nothing was due");
    check("collect apt_trade --months 2024-01..2024-03 --regions 11110 --only failed", 0, "nothing was due");
    check("replay apt_trade", 0, "0 partitions read again");
    check("accept apt_trade 11110,2024-01", 3, "nothing of it is held");
    check("why apt_trade 11110,2024-02", 0, "never asked for");
    assert_eq!(world.requests().len(), 1);
}
