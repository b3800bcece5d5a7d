//! The commands beside `collect`.

use std::path::Path;

use crate::world::World;

#[track_caller]
fn assert_says(world: &World, line: &str, said: &[&str]) {
    let run = world.run(line).exits(0);
    for text in said {
        assert!(run.stdout.contains(text), "`{text}` is said by `{line}`: {}", run.stdout);
    }
    assert_eq!(world.requests().len(), 0);
    assert!(!world.has_store());
}

#[test]
fn a_stored_answer_is_tried_without_a_call() {
    let world = World::playing("");
    let check = |file: &str, said: &[&str]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/data_go_kr").join(file);
        assert_says(&world, &format!("datasets try apt_trade {}", path.display()), said);
    };
    check("trade_page.xml", &["outcome: page", "rows: ", "total: ", "code: 000"]);
    check("trade_page.json", &["outcome: page"]);
    check("trade_empty.json", &["outcome: empty", "rows: 0", "total: 0"]);
    check("gateway_22.xml", &["outcome: spent", "scope: this API", "code: 22", "hint: "]);
    check("gateway_30.xml", &["outcome: refused", "scope: this API", "code: 30"]);
    check("gateway_30_swapped.json", &["outcome: refused", "code: 30"]);
    check("gateway_32.xml", &["outcome: refused", "scope: this run"]);
    check("quota_99.json", &["outcome: spent"]);
    check("cut.xml", &["outcome: retry", "scope: this attempt", "ends before"]);
    check("cut.json", &["outcome: retry", "ends before"]);
    check("text_rate.txt", &["outcome: slow_down"]);
    check("nothing.txt", &["outcome: retry", "an empty body"]);
    check("page_504.html", &["outcome: garbled", "a page for people"]);
}

#[test]
fn the_datasets_can_be_listed_shown_and_checked() {
    let world = World::playing("");
    assert_says(&world, "datasets list", &["apt_trade ", "data_go_kr", "region × month", "next: "]);
    assert_says(&world, "datasets show apt_trade", &["page size: 100", "month, from 2006-01", "deal_amount", "10000 KRW"]);
    assert_says(&world, "datasets check", &["all valid", "gapless.d/datasets/apt_trade.toml stands in front"]);
    assert_says(&world, "datasets check gapless.d/datasets/apt_trade.toml", &["valid"]);
    world.file("broken.toml", "id = \"select\"\n");
    let run = world.run("datasets check broken.toml").exits(2);
    assert!(run.stderr.contains("broken.toml"), "{}", run.stderr);
    let shipped = include_str!("../../config/datasets/apt_trade.toml");
    let twice = shipped.replace("kind = \"region\"\nlist = \"lawd_cd\"", "kind = \"values\"\nvalues = [\"1\", \"2\", \"1\"]");
    assert_ne!(twice, shipped);
    world.file("apt_trade.toml", &twice);
    let run = world.run("datasets check apt_trade.toml").exits(2);
    assert!(run.stderr.contains("axis `region` has the value `1` twice"), "{}", run.stderr);
}

#[test]
fn completions_and_manual_name_what_there_is() {
    let world = World::playing("");
    assert_says(&world, "completions bash", &["_gapless()", "collect", "--concurrency"]);
    assert_says(&world, "completions zsh", &["#compdef gapless"]);
    assert_says(&world, "completions fish", &["complete -c gapless"]);
    assert_says(&world, "man", &[".TH gapless 1", "collect"]);
    assert_says(&world, "--help", &["collect", "demo", "datasets"]);
    assert_says(&world, "--version", &["gapless "]);
}

#[test]
fn the_settings_are_shown_with_their_origins() {
    let world = World::playing("");
    world.file("gapless.toml", "[retry]\nmax_retries = 3\n");
    assert_says(
        &world,
        "config show",
        &[
            "settings file: gapless.toml",
            "retry.max_retries = 3  # gapless.toml:2",
            "retry.delay = \"1ms\"  # environment variable GAPLESS__RETRY__DELAY",
            "retry.multiplier = 3.0  # default",
            "providers.data_go_kr.daily_calls = 10000  # definition",
        ],
    );
    assert_says(&world, "config check", &["every value is legal"]);
    assert_says(&world, "config default", &["Every setting of gapless with its default", "[retry]"]);
    world.file("gapless.toml", "[http]\ntotal_timeout = \"10s\"\n");
    let told = world.run("config check").exits(2).stderr;
    assert!(told.contains("gapless.toml:2: `http.read_timeout` (15s) must be shorter"), "{told}");
    world.file("gapless.toml", "[store]\nlease = \"0s\"\n");
    let told = world.run("config check").exits(2).stderr;
    assert!(told.contains("gapless.toml:2: `store.lease` (0ns) must be 1s or longer"), "{told}");
}

#[test]
fn the_check_reckons_with_what_the_ledger_knows() {
    let world = World::playing("rows = 2500\nlatency_ms = 40").set("providers.data_go_kr.rps", "100");
    world.file("gapless.toml", "[collect.apt_trade]\nmonths = \"last:2\"\nregions = \"11110,11140\"\n");
    let night = "4 of 4 partitions: 4 calls (a page each, as long as none is known)";
    assert_says(&world, "config check", &[night, "none is known yet", "still to get  4 partitions: 4 calls"]);
    world.run("collect --create").exits(0);
    let calls = world.requests().len();
    let run = world.run("config check").exits(0);
    let told = format!("4 of 4 partitions: {calls} calls in ");
    for said in [told.as_str(), "bound by calls in flight", "good answers took", "never reach 100/s"] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("still to get"), "{}", run.stdout);
    world.file(
        "gapless.toml",
        "[collect.apt_trade]\nmonths = \"last:2\"\nregions = \"11110,11140\"\n[providers.data_go_kr]\ndaily_calls = 7\n",
    );
    let run = world.run("config check").exits(2);
    for said in ["gapless.toml:5: `daily_calls` (7) can never hold a usual night of `apt_trade`", &format!("{calls} calls")] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    assert_eq!(world.requests().len(), calls, "nothing is called");
}

#[test]
fn what_is_left_for_later_is_not_said_to_be_whole() {
    let world = World::playing("rows = 5");
    let run = world.run("collect apt_trade --months 2023-01..2024-12 --regions 11110 --create --max-calls 3 --deferred-ok");
    let run = run.exits(0);
    for said in ["partitions are left for later, as `--deferred-ok` allows", "next: the same command again later"] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("every partition"), "{}", run.stdout);
}

#[test]
fn the_advice_leaves_nothing_out() {
    let world = World::playing("rows = 5\n[[fault]]\nmonth = \"2024-12\"\nanswer = { kind = \"agency\", code = \"10\" }");
    let line = "collect apt_trade --months 2024-01..2024-12 --regions 11110 --create --max-calls 3 --concurrency 1";
    let run = world.run(line).exits(3);
    for said in
        ["next: gapless collect apt_trade --only failed", "next: the same command again: 9 partitions deferred or not begun"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    let skipped = run.stdout.lines().filter(|line| line.contains("2024-") && line.contains("  skipped  ")).count();
    assert_eq!(skipped, 3, "those with one reason are not listed one by one: {}", run.stdout);
    assert!(run.stdout.contains(" more of apt_trade, skipped: the run was stopped before it was begun"), "{}", run.stdout);
    assert!(run.stdout.find("failed").unwrap() < run.stdout.find("deferred").unwrap(), "what needs a person comes first");
}

#[test]
fn the_state_of_things_shows_what_is_outside_the_target_and_fails_where_it_is_asked_to() {
    let world = World::playing("rows = 5\n[[fault]]\nmonth = \"2024-12\"\nanswer = { kind = \"agency\", code = \"10\" }");
    world.run("collect apt_trade --months 2024-11..2024-12 --regions 11110 --create").exits(3);
    world.file("gapless.toml", "[collect.apt_trade]\nmonths = \"2024-11\"\nregions = \"11110\"\n");
    let told = world.run("status --fail-if-incomplete").exits(0).stdout;
    assert!(told.contains("apt_trade: 1 partition outside its target, 1 with a gap"), "{told}");
    world.file("gapless.toml", "[collect.apt_trade]\nmonths = \"2024-10..2024-11\"\nregions = \"11110\"\n");
    let told = world.run("status --fail-if-incomplete --format json").exits(3).json();
    assert_eq!(told["datasets"][0]["outside_target"]["gap"], 1);
    assert_eq!(told["exit_code"], 3);
    world.run("status").exits(0);
}

#[test]
fn a_demo_takes_the_place_of_demos_alone() {
    let world = World::playing("rows = 5").set("store.url", "sqlite://gapless-demo.db");
    world.run("collect apt_trade --months 2024-11 --regions 11110 --create").exits(0);
    let refused = world.run("demo").exits(2);
    assert!(refused.stderr.contains("holds more than a demo"), "{}", refused.stderr);
    assert_eq!(
        std::fs::read_dir(world.folder())
            .unwrap()
            .filter(|file| { file.as_ref().unwrap().file_name().to_string_lossy().ends_with("demo.db") })
            .count(),
        1
    );
    world.run("status").exits(0);
}

#[test]
fn a_clock_that_is_behind_the_store_is_warned_of() {
    let world = World::playing("rows = 5");
    world.run("collect apt_trade --months 2024-11 --regions 11110 --create").exits(0);
    let quiet = world.run("collect apt_trade --months 2024-10 --regions 11110").exits(0);
    assert!(!quiet.stderr.contains("a wrong clock"), "{}", quiet.stderr);
    let store = rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap();
    store.execute("update partition set checked_at = '2199-01-01T00:00:00.000Z'", []).unwrap();
    drop(store);
    let told = world.run("collect apt_trade --months 2024-09 --regions 11110").exits(0);
    assert!(told.stderr.contains("but the store was written at 2199-01-01"), "{}", told.stderr);
}

#[test]
fn the_file_alone_is_whole_when_a_run_has_ended() {
    let world = World::playing("rows = 120\n[[fault]]\nregion = \"11140\"\nanswer = { kind = \"html\", status = 500 }");
    let line = "collect apt_trade --months 2024-01..2024-03 --create --regions";
    for (regions, exit, whole) in [("11110", 0, 3), ("11110,11140,11170", 3, 6)] {
        world.run(&format!("{line} {regions}")).exits(exit);
        let copy = world.folder().join(format!("copy_{whole}.db"));
        std::fs::copy(world.folder().join("gapless.db"), &copy).unwrap();
        let told = world.run(&format!("status --store sqlite://{} --format json", copy.display())).exits(0).json();
        assert_eq!(told["datasets"][0]["rows"], whole * 120, "{told}");
    }
}

#[test]
fn the_demo_tells_the_whole_story_in_an_empty_environment() {
    let world = World::playing("").without_variable("GAPLESS_KEY_DATA_GO_KR");
    let run = world.run("demo").exits(0);
    for said in ["exit 3", "region=11680,month=2024-03", "exit 0", "complete | ", "next: "] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(world.folder().join("gapless-demo.db").exists());
    assert_eq!(world.requests().len(), 0);
}

#[test]
fn no_definitions_folder_is_not_the_folder_of_the_program() {
    let world = World::playing("").set("paths.definitions", "");
    world.file("datasets/apt_trade.toml", "this is somebody else's file");
    assert_says(&world, "datasets show apt_trade", &["page size: 1000"]);
}

#[test]
fn a_definition_in_the_users_folder_stands_in_front_of_the_shipped_one() {
    let world = World::playing("rows = 250");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    assert_eq!(world.requests().len(), 3);
    std::fs::remove_file(world.folder().join("gapless.d/datasets/apt_trade.toml")).unwrap();
    world.run("collect apt_trade --partition 11110,2024-02 --create").exits(0);
    assert_eq!(world.requests().len(), 4);
    world.assert_rows_are_true("11110", "2024-01");
    world.assert_rows_are_true("11110", "2024-02");
    assert_eq!(world.count("select count(*) from apt_trade_rows where _unparsed is not null or _extra is not null"), 0);
}

const TWO_MONTHS: &str = "collect apt_trade --months 2024-01..2024-02 --regions 11110 --create --format json";

#[test]
fn replay_fills_a_new_column_from_kept_answers_and_calls_nobody() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let definition = std::fs::read_to_string(world.folder().join("gapless.d/datasets/apt_trade.toml")).unwrap();
    let column = "\n[[column]]\nid = \"dong_as_sent\"\nfield = \"umdNm\"\ntype = \"text\"\n";
    let without = definition.replace("id = \"umd_nm\"\nfield = \"umdNm\"", "id = \"umd_nm\"\nfield = \"umdNmOld\"");
    world.file("gapless.d/datasets/apt_trade.toml", &format!("{without}{column}"));
    let asked = world.requests().len();

    let run = world.run("replay apt_trade").exits(3);

    assert!(run.stdout.contains("2 not published"), "a column that lost its values is held: {}", run.stdout);
    world.file("gapless.d/datasets/apt_trade.toml", &format!("{definition}{}", column.replace("umdNm", "aptNm2")));
    world.run("audit").exits(0);
    assert_eq!(world.requests().len(), asked, "nobody was called");
}

#[test]
fn a_definition_that_only_grows_is_replayed_and_published() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let file = world.folder().join("gapless.d/datasets/apt_trade.toml");
    let definition = std::fs::read_to_string(file).unwrap();
    let label = definition.replacen("label = \"", "label = \"the ", 1);
    let column = "\n[[column]]\nid = \"nobody_sends_it\"\nfield = \"nobodySendsIt\"\ntype = \"text\"\n";
    world.file("gapless.d/datasets/apt_trade.toml", &format!("{label}{column}"));

    let run = world.run("replay apt_trade").exits(0);

    assert!(run.stdout.starts_with("apt_trade: 2 partitions read again"), "{}", run.stdout);
    assert_eq!(world.count("select count(*) from apt_trade where nobody_sends_it is null"), 500);
    assert!(world.run("replay apt_trade").exits(0).stdout.starts_with("apt_trade: 0 partitions read again"));
}

#[test]
fn audit_names_the_partition_that_was_changed_by_hand() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    assert!(world.run("audit").exits(0).stdout.contains("fit together"));
    let by_hand = rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap();
    let sql = "delete from apt_trade_rows where region = '11110' and month = '2024-02' and _ordinal = 7";
    assert_eq!(by_hand.execute(sql, []).unwrap(), 3);
    drop(by_hand);

    let run = world.run("audit").exits(7);

    assert!(run.stdout.contains("apt_trade region=11110,month=2024-02: "), "{}", run.stdout);
    assert!(!run.stdout.contains("month=2024-01"), "{}", run.stdout);
}

#[test]
fn audit_names_the_page_whose_values_were_changed_by_hand() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let job = world.count("select published_job from partition where month = '2024-02'");
    let by_hand = |sql: &str| rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap().execute(sql, []).unwrap();
    let of = "where region = '11110' and month = '2024-02' and _page = 2 and _ordinal in (3, 100)";
    for column in ["deal_amount = deal_amount + 1", "apt_nm = 'another'", "exclu_use_ar = null", "_extra = '{}'"] {
        let (name, _) = column.split_once(" = ").unwrap();
        by_hand(&format!("create table before as select _ordinal as o, {name} as v from apt_trade_rows {of}"));
        assert_eq!(by_hand(&format!("update apt_trade_rows set {column} {of}")), 2);

        let run = world.run("audit").exits(7);

        let expected = format!("of page 2 of job {job} have other values than its kept answer\n");
        assert!(
            run.stdout.starts_with(&format!("apt_trade region=11110,month=2024-02: 2 rows {expected}")),
            "{column}: {}",
            run.stdout
        );
        assert!(run.stdout.contains("1 fault found"), "{column}: {}", run.stdout);
        by_hand(&format!("update apt_trade_rows set {name} = (select v from before where o = _ordinal) {of}"));
        by_hand("drop table before");
        world.run("audit").exits(0);
    }
}

#[test]
fn audit_says_which_values_it_could_not_compare() {
    let world = World::playing("rows = 250").set("store.keep_bodies", "false");
    world.run(TWO_MONTHS).exits(0);
    let run = world.run("audit").exits(0);
    assert!(
        run.stdout.starts_with("apt_trade: values of 2 partitions not compared, whose answers are not kept\n"),
        "{}",
        run.stdout
    );
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let definition = world.folder().join("gapless.d/datasets/apt_trade.toml");
    let grown =
        std::fs::read_to_string(&definition).unwrap() + "\n[[column]]\nid = \"more\"\nfield = \"more\"\ntype = \"text\"\n";
    std::fs::write(&definition, grown).unwrap();
    let run = world.run("audit").exits(0);
    let expected =
        "apt_trade: values of 2 partitions not compared, collected by an earlier definition; `gapless replay apt_trade` reads";
    assert!(run.stdout.starts_with(expected), "{}", run.stdout);
}

#[test]
fn a_backup_has_all_that_the_store_has_and_overwrites_nothing() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    world.run("store backup copy.db").exits(0);
    assert!(world.run("status --store sqlite://copy.db").exits(0).stdout.contains("500"));
    assert_ne!(world.run("store backup copy.db").exit, 0, "it is there already");
}

#[test]
fn status_tells_cron_when_a_dataset_was_not_checked_for_too_long() {
    let world = World::playing("rows = 250");
    world.create_store();
    assert_eq!(world.run("status --fail-if-older 36h").exit, 3, "nothing was ever checked");
    world.run("status").exits(0);

    world.run(TWO_MONTHS).exits(0);
    world.run("status --fail-if-older 36h").exits(0);

    let by_hand = rusqlite::Connection::open(world.folder().join("gapless.db")).unwrap();
    by_hand.execute("update partition set checked_at = '2024-05-01T00:00:00Z'", []).unwrap();
    drop(by_hand);
    let run = world.run("status --fail-if-older 36h").exits(3);
    assert!(run.stdout.contains("apt_trade is too old: last checked 2024-05-01T00:00:00Z"), "{}", run.stdout);
    world.run("status").exits(0);
}

#[test]
fn what_is_held_is_published_on_a_persons_word_with_a_trace() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let world = world.now_playing("rows = 100");
    let run = world.run(&format!("{TWO_MONTHS} --only all")).exits(3);
    assert_eq!(run.json()["partitions"]["held"], 2);
    assert_eq!(world.count("select count(*) from apt_trade"), 500, "what is published is untouched");

    world.run("accept apt_trade 11110,2024-01 --why seen").exits(0);
    assert_eq!(world.count("select count(*) from apt_trade"), 350);
    world.run(&format!("accept --run {}", run.json()["run"])).exits(0);

    assert_eq!(world.count("select count(*) from apt_trade"), 200);
    assert_eq!(world.count("select count(*) from decision where why = 'seen'"), 1);
    world.run("accept apt_trade 11110,2024-01").exits(3);
    world.run("accept").exits(2);
}

#[test]
fn a_second_run_with_the_same_key_is_refused_whatever_its_store() {
    let world = World::playing("rows = 250\nlatency_ms = 300");
    let first = world.start("collect apt_trade --months 2024-01..2024-06 --regions 11110 --store sqlite://a.db --format json");
    world.wait_for_answers(1);
    let second = world.run("collect apt_trade --months 2024-01 --regions 11140 --store sqlite://b.db --format json").exits(4);
    assert!(second.stdout.contains("with the same key"), "{}", second.stdout);
    assert_eq!(first.ended().exit, 0);
    assert!(world.requests().iter().all(|line| line.param("LAWD_CD") == Some("11110")));
}

#[test]
fn the_lock_of_a_key_does_not_depend_on_the_folder_a_run_is_begun_in() {
    for folder in ["", "temporary"] {
        let world = World::playing("rows = 5").variable("TMPDIR", folder);
        world.run("collect apt_trade --months 2024-01 --regions 11110 --store sqlite://a.db").exits(0);
        let is_lock = |name: &String| name.ends_with(".lock") && name != "a.db.lock";
        let names = std::fs::read_dir(world.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(is_lock).collect::<Vec<_>>(), [""; 0], "TMPDIR={folder}");
    }
}

#[test]
fn what_is_left_for_later_of_old_months_may_end_well() {
    let world = World::playing("rows = 250");
    let line = "collect apt_trade --months 2024-01..2024-06 --regions 11110 --create --format json --max-calls 4";
    world.run(line).exits(6);
    world.run(&format!("{line} --deferred-ok")).exits(0);
}

#[test]
fn an_audit_online_lists_what_has_grown_or_shrunk_with_one_call_each() {
    let world = World::playing("rows = 250");
    world.run(TWO_MONTHS).exits(0);
    let world = world.now_playing("rows = 250\n[[size]]\nmonth = '2024-01'\nrows = 260\n");
    let run = world.run("audit --online").exits(3);
    let grown = "apt_trade region=11110,month=2024-01 has grown: 250 rows stored, 260 there now";
    assert!(run.stdout.contains(grown), "{}", run.stdout);
    assert!(run.stdout.contains("apt_trade: 2 partitions asked, 1 changed, 0 not told"), "{}", run.stdout);
    assert_eq!(world.requests().len(), 2);
    assert_eq!(world.count("select count(*) from apt_trade"), 500, "nothing was changed");
}

#[test]
fn an_audit_online_calls_nobody_while_another_asks_with_the_same_key() {
    let world = World::playing("rows = 3\nlatency_ms = 300");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    let store = "--store sqlite://another.db";
    let other = world
        .start(&format!("collect apt_trade --months 2023-01..2023-12 --regions 11110 --create --format json --rps 5 {store}"));
    world.wait_for_answers(3);
    let run = world.run("audit --online").exits(4);
    assert!(run.stderr.contains("another run on this host asks data_go_kr with the same key"), "{}", run.stderr);
    other.ended().exits(0);
    assert_eq!(world.requests().len(), 1 + 12);
    world.run("audit --online").exits(0);
}

#[test]
fn a_check_of_the_settings_finds_what_a_run_would_stumble_over() {
    let check = |settings: &str, said: &str| {
        let world = World::playing("");
        world.file("gapless.toml", settings);
        let run = world.run("config check").exits(2);
        assert!(run.stderr.contains(said), "{settings}: {}", run.stderr);
        assert!(run.stderr.contains("hint: mend"), "{}", run.stderr);
    };
    check("[collect.apt_trade]\nregions = \"all\"\nmonths = \"2006-13..\"\n", "`2006-13..` is not a span of months");
    check("[collect.apt_trade]\nregions = \"sido:99\"\nmonths = \"2024-01\"\n", "no region of `lawd_cd` is in province `99`");
    check("[collect.apt_trade]\nmonths = \"2024-01\"\n", "apt_trade: needs regions");
    check("[http]\nca_file = \"nowhere.pem\"\n", "nowhere.pem");
    check("[providers.data_go_kr]\nzone = \"Mars\"\n", "gapless.toml:2: `Mars` is no time zone");
}

#[test]
fn a_run_with_nothing_to_ask_does_not_call_everything_whole() {
    let world = World::playing("rows = 3");
    let run = world.run("collect apt_trade --partition 11110,2024-01 --only failed --create").exits(0);
    assert!(run.stdout.contains("exit 0: nothing had to be asked"), "{}", run.stdout);
    assert!(!run.stdout.contains("whole"), "{}", run.stdout);
    assert_eq!(world.requests().len(), 0);
}

#[test]
fn a_partition_that_cannot_be_asked_for_is_not_told_as_waiting() {
    let world = World::playing("rows = 3");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    let run = world.run("why apt_trade 99999,2024-01").exits(2);
    assert!(run.stderr.contains("`99999` is no region"), "{}", run.stderr);
    let run = world.run("why apt_trade 11140,2024-01").exits(0);
    assert!(run.stdout.contains("next: gapless collect apt_trade --partition region=11140,month=2024-01"), "{}", run.stdout);
}

#[test]
fn values_of_an_axis_that_are_given_twice_are_never_dropped() {
    let world = World::playing("");
    let check = |flags: &str, said: &str| {
        let run = world.run(&format!("collect apt_trade {flags} --create")).exits(2);
        assert!(run.stderr.contains(said), "`{said}` is said for `{flags}`: {}", run.stderr);
        assert_eq!(world.requests().len(), 0);
        assert!(!world.has_store());
    };
    check("--months 2024-01 --axis region=11110 --axis region=26110", "--axis region is given twice");
    check("--months 2024-01 --regions 11110 --axis region=26110", "--regions and --axis region both");
    check("--months 2024-01 --regions 11110 --axis month=2024-02", "--months and --axis month both");
}
