//! The program on PostgreSQL: the same commands, the same results.

use crate::server;
use crate::world::{CANARY, World};

const MONTHS: &str = "collect apt_trade --months 2024-01..2024-04 --regions 11110,11680,28720 --format json";
const NIGHT: &str = r#"
    rows = { from = 150, to = 320 }
    twins = 0.01
    [[fault]]
    times = 1
    share = 0.3
    answer = { kind = "html", status = 503 }
    [[fault]]
    region = "11680"
    month = "2024-03"
    answer = { kind = "agency", code = "10" }
"#;

/// Everything a store promises to show, but for what differs from run to run: instants and ids.
const PROMISED: [&str; 6] = [
    "select region, month, deal_amount, exclu_use_ar, deal_day, apt_nm, _row_hash from apt_trade
     order by region, month, _row_hash, apt_nm",
    "select dataset, partition, region, month, verdict, rows, promised, distinct_rows, why, held_rows, standing from coverage
     order by dataset, partition",
    "select * from columns order by dataset, \"column\"",
    "select * from regions order by list, code",
    "select p.key, j.verdict, j.why, j.received, j.distinct_rows, j.promised_first, j.promised_last from job j
     join partition p on p.id = j.partition order by p.key, j.id",
    "select p.key, a.read, a.page, a.try, a.sent, a.outcome, a.http_status, a.code, a.why, a.body_bytes from attempt a
     join job j on j.id = a.job join partition p on p.id = j.partition order by p.key, a.id",
];

/// A world whose store is on the throw-away server; `None` where there is none.
fn on_postgres(scenario: &str) -> Option<World> {
    server::place().map(|url| World::playing(scenario).storing_at(&url))
}

#[test]
fn the_same_run_leaves_the_same_on_both_engines() {
    let Some(there) = on_postgres(NIGHT) else { return };
    let dumps = [World::playing(NIGHT), there].map(|world| {
        // One worker, so that faults meet the same calls.
        let world = world.set("providers.data_go_kr.concurrency", "1");
        let run = world.run(&format!("{MONTHS} --create")).exits(3);
        world.assert_ledger_tells_every_request(&run);
        world.assert_store_is_sound("after the run");
        let result = run.json();
        let told = [&result["partitions"], &result["rows"], &result["calls"]].map(ToString::to_string);
        (told, PROMISED.map(|sql| world.query(sql)))
    });
    for (position, (here, there)) in dumps[0].1.iter().zip(&dumps[1].1).enumerate() {
        assert!(!here.is_empty(), "{}", PROMISED[position]);
        assert_eq!(here, there, "{}", PROMISED[position]);
    }
    assert_eq!(dumps[0].0, dumps[1].0);
}

#[test]
fn every_command_works_on_it() {
    let Some(world) = on_postgres("rows = 120") else { return };
    let refused = world.run(MONTHS).exits(7);
    assert!(refused.stdout.contains("there is no store at postgres://"), "{}", refused.stdout);
    world.run(&format!("{MONTHS} --dry-run")).exits(0);
    assert!(!world.has_store(), "a dry run makes nothing");
    world.run(&format!("{MONTHS} --create")).exits(0);
    let again = world.run(MONTHS).exits(0).json();
    assert_eq!(again["calls"]["attempts"], 0, "what is whole is not asked again");

    let status = world.run("status").exits(0).stdout;
    assert!(status.starts_with("store postgres://") && status.contains(" MB\n"), "{status}");
    assert!(world.run("status --format json").exits(0).json()["store_bytes"].as_u64().unwrap() > 100_000);
    assert!(world.run("why apt_trade 11680,2024-03").exits(0).stdout.contains("complete"));
    assert!(world.run("doctor apt_trade").exits(0).stdout.contains("is sound"));
    world.run("audit").exits(0);
    world.run("replay apt_trade").exits(0);
    world.run("accept apt_trade 11680,2024-03");
    let backup = world.run("store backup copy.db").exits(7).stderr;
    assert!(backup.contains("pg_dump"), "{backup}");
    world.assert_store_is_sound("after every command");
}

#[test]
fn a_replay_fills_a_column_that_was_mended() {
    let Some(world) = on_postgres("rows = 12") else { return };
    let definition = std::fs::read_to_string(world.folder().join("gapless.d/datasets/apt_trade.toml")).unwrap();
    assert!(definition.contains("field = \"aptNm\""));
    world.file("gapless.d/datasets/apt_trade.toml", &definition.replace("field = \"aptNm\"", "field = \"aptNn\""));
    world.run(&format!("{MONTHS} --create")).exits(0);
    assert_eq!(world.count("select count(apt_nm) from apt_trade"), 0);
    world.file("gapless.d/datasets/apt_trade.toml", &definition);
    world.run("replay apt_trade").exits(0);
    assert_eq!(world.count("select count(*) from apt_trade where apt_nm is null"), 0);
    world.assert_store_is_sound("after a replay");
}

#[test]
fn comments_say_what_columns_mean() {
    let Some(world) = on_postgres("rows = 1") else { return };
    world.run(&format!("{MONTHS} --create")).exits(0);
    let comment = "select col_description('apt_trade'::regclass, attnum) from pg_attribute
        where attrelid = 'apt_trade'::regclass and attname = 'deal_amount'";
    let comment = &world.query(comment)[0][0];
    assert!(comment.contains("[10000 KRW]") && comment.contains("(field dealAmount)"), "{comment}");
}

#[test]
fn a_password_is_refused_on_the_command_line_and_printed_nowhere() {
    let secret = "sEcReT123";
    let url = format!("postgres://me:{secret}@127.0.0.1:1/db");
    let world = World::playing("rows = 1");
    for line in ["collect apt_trade --months 2024-01 --regions 11110", "status", "init", "audit", "doctor"] {
        let ended = world.run(&format!("{line} --store {url}")).exits(2);
        assert!(ended.stderr.contains("with a password on the command line"), "{}", ended.stderr);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains(secret), "{line}");
    }
    assert!(!world.folder().join("gapless.toml").exists());
    let world = world.set("store.url", &url);
    for line in ["config show", "status", "doctor", "-vv collect apt_trade --months 2024-01 --regions 11110 --create"] {
        let ended = world.run(line);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(told.contains("postgres://me") && !told.contains(secret), "{line}: {told}");
        assert!(line == "config show" || ended.exit == 7, "{line} exits {}", ended.exit);
    }
    let world = world.set("store.url", &format!("postgres://me:{secret}@host:port/db"));
    let told = world.run("status").exits(2).stderr;
    assert!(!told.contains(secret), "{told}");
}

#[test]
fn a_password_in_a_settings_file_is_used() {
    let Some(place) = server::place() else { return };
    let world = World::playing("rows = 1");
    let with_password = place.replacen("gapless@", "gapless:any@", 1);
    world.file("gapless.toml", &format!("[store]\nurl = \"{with_password}\"\n"));
    world.run(&format!("{MONTHS} --create")).exits(0);
    let status = world.run("status").exits(0).stdout;
    assert!(!status.contains("gapless:any"), "{status}");
    let command = world.storing_at(&place).query("select command from run");
    assert!(!command[0][0].contains(CANARY));
}

#[test]
fn what_others_can_read_on_its_way_is_warned_about() {
    let world = World::playing("rows = 1").set("store.url", "postgres://me@192.0.2.1:5432/db?sslmode=prefer");
    let child = world.start("collect apt_trade --months 2024-01 --regions 11110 --create");
    let mut child = child;
    child.wait_to_say("can be read on its way: add `sslmode=verify-full`");
    child.signal("KILL");
    child.ended();
}

#[test]
fn a_store_is_carried_over_and_nothing_whole_is_asked_again() {
    let Some(place) = server::place() else { return };
    let world = World::playing(NIGHT).set("providers.data_go_kr.concurrency", "1");
    world.run(&format!("{MONTHS} --create")).exits(3);
    let before = PROMISED.map(|sql| world.query(sql));
    let asked = world.requests().len();
    let told = world.run(&format!("store copy --from sqlite://gapless.db --to {place}")).exits(0).stdout;
    assert!(told.contains("every value of their rows is the same"), "{told}");
    let world = world.storing_at(&place);
    assert_eq!(PROMISED.map(|sql| world.query(sql)), before);
    world.assert_store_is_sound("after the copy");
    let again = world.run(MONTHS).exits(3).json();
    assert_eq!((again["partitions"]["planned"].as_u64(), world.requests().len()), (Some(1), asked + 1), "the gap alone");
    // And back again, to a file.
    world.run(&format!("store copy --from {place} --to sqlite://back.db")).exits(0);
    world.run(&format!("store copy --from {place} --to sqlite://back.db")).exits(7);
    world.run("status --store sqlite://back.db").exits(0);
    world.run("audit --store sqlite://back.db").exits(0);
    let with_password = "store copy --from sqlite://back.db --to postgres://me:sEcReT@h/d";
    assert!(!world.run(with_password).exits(2).stderr.contains("sEcReT"));
}

#[test]
fn a_copy_beside_which_a_run_writes_is_not_taken_for_whole() {
    let Some(place) = server::place() else { return };
    let world = World::playing("rows = 60").storing_at(&place);
    let night = "collect apt_trade --months 2023-01..2024-12 --regions 11110,11140,11170,11200,11215";
    world.run(&format!("{night} --create")).exits(0);
    let line = format!("store copy --from {place} --to sqlite://copy.db");
    let copy = world.start(&line);
    let log = world.folder().join("copy.db-wal");
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 300_000 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    copy.signal("STOP");
    world.run("collect apt_trade --months 2024-01 --regions 11110 --only all").exits(0);
    copy.signal("CONT");
    let told = copy.ended().exits(7).stderr;
    assert!(told.contains("somebody wrote to the store while it was copied"), "{told}");
    let told = world.run("status --store sqlite://copy.db").exits(7).stderr;
    assert!(told.contains("it is not whole yet") && told.contains("gapless store copy"), "{told}");
    world.run(&line).exits(0);
    let told = PROMISED.map(|sql| world.query(sql));
    let copy = World::playing("rows = 60").storing_at(&format!("sqlite://{}", world.folder().join("copy.db").display()));
    assert_eq!(PROMISED.map(|sql| copy.query(sql)), told);
    assert_eq!(copy.query("select calls from api_state"), world.query("select calls from api_state"));
}

#[test]
fn a_role_without_rights_to_alter_collects_what_another_made_tables_for() {
    let Some(place) = server::place() else { return };
    let role = format!("collector_p{}", std::process::id());
    let world = World::playing("rows = 20").storing_at(&place);
    let options = place.split_once('?').unwrap().1;
    let run_as = |line: &str| world.run(&format!("{line} --store postgres://{role}@localhost/postgres?{options}"));
    server::administered(&format!("create role {role} login; create role {role}_reader login"));
    let refused = run_as(MONTHS).exits(7);
    assert!(refused.stdout.contains("gapless store migrate"), "{}", refused.stdout);
    let world = world.set("store.reader_role", &format!("{role}_reader"));
    let told = world.run("store migrate apt_trade --collector nobody_of_this_name").exits(7).stderr;
    assert!(told.contains("create role"), "{told}");
    let told = world.run(&format!("store migrate apt_trade --collector {role}")).exits(0).stdout;
    assert!(told.contains("may collect"), "{told}");
    let run_as = |line: &str| world.run(&format!("{line} --store postgres://{role}@localhost/postgres?{options}"));
    run_as(MONTHS).exits(0);
    let reading = World::playing("rows = 1").storing_at(&format!("postgres://{role}_reader@localhost/postgres?{options}"));
    assert_eq!(reading.count("select count(*) from apt_trade"), world.count("select count(*) from apt_trade"));
    assert_eq!(reading.count("select count(*) from coverage"), 12);
    reading.run(MONTHS).exits(7);

    // Somebody else reads as well, and a column comes to the definition.
    server::administered(&format!("create role {role}_guest login"));
    let schema = place.split_once("schema=").unwrap().1;
    server::administered(&format!(
        "grant usage on schema {schema} to {role}_guest; grant select on {schema}.apt_trade to {role}_guest; \
         create view {schema}.mine as select region from {schema}.apt_trade"
    ));
    let definition = std::fs::read_to_string(world.folder().join("gapless.d/datasets/apt_trade.toml")).unwrap();
    let grown = format!("{definition}\n[[column]]\nid = \"new\"\nfield = \"newField\"\ntype = \"text\"\n");
    world.file("gapless.d/datasets/apt_trade.toml", &grown);
    let refused = world.run("store migrate").exits(7).stderr;
    assert!(refused.contains("view mine depends on view apt_trade"), "{refused}");
    server::administered(&format!("drop view {schema}.mine"));
    // One that is named later reads what was there before.
    server::administered(&format!("create role {role}_late login"));
    let world = world.set("store.reader_role", &format!("{role}_late"));
    world.run("store migrate").exits(0);
    for reader in ["", "_guest", "_reader", "_late"] {
        server::administered(&format!("set role {role}{reader}; select new from {schema}.apt_trade"));
    }
    server::administered(&format!("set role {role}_late; select * from {schema}.coverage"));
}

#[test]
fn a_database_that_keeps_text_otherwise_is_refused_before_any_call() {
    let Some(place) = server::place() else { return };
    let database = format!("latin_p{}", std::process::id());
    server::administered(&format!("create database {database} encoding 'LATIN1' locale 'C' template template0"));
    let world = World::playing("rows = 1").storing_at(&place.replacen("/postgres?", &format!("/{database}?"), 1));
    let refused = world.run(&format!("{MONTHS} --create")).exits(7).json()["error"].to_string();
    assert!(refused.contains("LATIN1") && refused.contains("encoding 'UTF8'"), "{refused}");
    assert_eq!(world.requests().len(), 0);
    server::administered(&format!("drop database {database}"));
}

#[test]
fn what_the_environment_says_of_tls_is_obeyed_and_its_spelling_checked() {
    let world = World::playing("rows = 1").set("store.url", "postgres://me@127.0.0.1:1/db");
    let world = world.variable("PGSSLMODE", "verify_full");
    let told = world.run("status").exits(2).stderr;
    assert!(told.contains("PGSSLMODE: `verify_full` is no `sslmode`"), "{told}");
    let world = world.set("store.url", "postgres://me@192.0.2.1:5432/db").variable("PGSSLMODE", "verify-full");
    let mut child = world.start("collect apt_trade --months 2024-01 --regions 11110 --create");
    child.wait_to_say("settings");
    child.signal("KILL");
    assert!(!child.ended().stderr.contains("can be read on its way"));
}
