//! What stands between a bad day of the source and the rows of a good one.

use rusqlite::Connection;

use crate::world::World;

const ONE: &str = "collect apt_trade --partition 11110,2024-01 --only all --create --format json";
const TWELVE: &str =
    "collect apt_trade --regions 11110 --months 2024-01..2024-12 --only all --create --concurrency 1 --format json";

impl World {
    /// As if a day had passed since.
    fn a_day_later(&self) {
        let db = Connection::open(self.folder().join("gapless.db")).unwrap();
        let moved = db.execute(
            "update job set held_on = date(held_on, '-1 day'),
             ended_on = date(ended_on, '-1 day'),
             ended_at = strftime('%Y-%m-%dT%H:%M:%fZ', ended_at, '-1 day')",
            [],
        );
        assert!(moved.unwrap() > 0, "something was done that day");
    }
}

#[test]
fn a_month_that_shrinks_too_much_is_held_and_what_was_published_stays() {
    let check = |rows: u64, why: Option<&str>| {
        let world = World::playing("rows = 250");
        world.run(ONE).exits(0);
        let before = world.published_rows("11110", "2024-01");
        let world = world.now_playing(&format!("rows = {rows}"));
        let run = world.run(ONE);
        match why {
            None => {
                run.exits(0);
                world.assert_rows_are_true("11110", "2024-01");
            }
            Some(why) => {
                let result = run.exits(3).json();
                let gap = &result["gaps"][0];
                assert_eq!((&gap["verdict"], &gap["why"]), (&"held".into(), &why.into()));
                assert_eq!(gap["partition"]["month"], "2024-01");
                assert_eq!(result["rows"]["published"], 0);
                assert!(world.published_rows("11110", "2024-01") == before, "{rows}: untouched");
                assert_eq!(world.query("select verdict, rows, held_rows from coverage"), [["held", "250", &rows.to_string()]]);
            }
        }
        world.assert_store_is_sound(why.unwrap_or("published"));
    };
    check(400, None);
    check(247, None);
    check(246, Some("246 of 250 rows came: more than 3 are missing"));
    check(1, Some("1 of 250 rows came: more than 3 are missing"));
    check(0, Some("no row came, after 250 the last time"));
}

#[test]
fn the_same_fewer_rows_on_three_days_are_published_with_a_trace_but_never_zero() {
    for (rows, exit) in [(200, 0), (0, 3)] {
        let world = World::playing("rows = 250");
        world.run(ONE).exits(0);
        let world = world.now_playing(&format!("rows = {rows}"));
        world.run(ONE).exits(3);
        // Twice on one day is one day.
        world.run(ONE).exits(3);
        world.a_day_later();
        world.run(ONE).exits(3);
        world.a_day_later();
        world.run(ONE).exits(exit);
        if exit == 0 {
            world.assert_rows_are_true("11110", "2024-01");
            let trace = world.query("select who, why, held_why from decision");
            assert_eq!(
                trace,
                [["gapless", "the same rows were read on 3 days", "200 of 250 rows came: more than 3 are missing"]]
            );
        } else {
            assert_eq!(world.count("select count(*) from apt_trade"), 250);
        }
        world.assert_store_is_sound("after three days");
    }
}

#[test]
fn a_source_whose_months_fall_to_zero_is_asked_no_more() {
    let months: Vec<String> = (1..=12).map(|month| format!("\"2024-{month:02}\"")).collect();
    // The newest are asked first. Those that fell, and how many are asked: two workers have begun before it is known.
    let check = |fallen: &[String], exit: i32, asked: std::ops::RangeInclusive<usize>| {
        let world = World::playing("rows = 50");
        world.run(TWELVE).exits(0);
        let world = world.now_playing(&format!("rows = 50\nempty_months = [{}]", fallen.join(", ")));
        let result = world.run(TWELVE).exits(exit).json();
        let requests = world.requests().len();
        assert!(asked.contains(&requests), "{requests} requests of {asked:?}, {fallen:?}");
        let partitions = &result["partitions"];
        assert_eq!(partitions["deferred"].as_u64().unwrap() as usize, 12 - requests, "{fallen:?}");
        assert_eq!(world.count("select count(*) from apt_trade"), 12 * 50, "{fallen:?}: nothing that was there went");
        if requests < 12 {
            let told = result["gaps"].to_string();
            assert!(told.contains("partitions fell to zero rows: the source is in trouble, or the request"), "{told}");
        } else {
            assert_eq!(partitions["held"].as_u64().unwrap() as usize, fallen.len());
        }
    };
    check(&months, 3, 5..=7);
    check(&months[7..], 3, 5..=7);
    // Four are too few, and five of twelve too small a share.
    check(&months[8..], 3, 12..=12);
    check(&months[..5], 3, 12..=12);
}

#[test]
fn a_first_collection_of_twenty_partitions_without_a_row_is_held() {
    let world = World::playing("rows = 0");
    let line = |months: &str| format!("collect apt_trade --regions 11110 --months {months} --create --format json");
    let run = world.run(&line("2022-01..2023-08")).exits(3);
    let result = run.json();
    assert_eq!(run.stderr.matches("is held").count(), 20, "{}", run.stderr);
    assert_eq!((&result["partitions"]["held"], &result["partitions"]["planned"]), (&20.into(), &20.into()));
    let why = "no partition of this dataset has ever had a row: a wrong parameter is answered like this too";
    assert_eq!(result["gaps"][0]["why"], why);
    assert_eq!(world.count("select count(*) from partition where published_job is not null"), 0);
    world.assert_store_is_sound("held for ever");

    let world = World::playing("rows = 0");
    let result = world.run(&line("2022-01..2023-07")).exits(0).json();
    assert_eq!((&result["partitions"]["empty"], &result["gaps_total"]), (&19.into(), &0.into()));
    assert_eq!(world.count("select count(*) from coverage where verdict = 'empty'"), 19);
    world.assert_store_is_sound("few and empty");
}

#[test]
fn the_first_zeros_are_believed_once_another_partition_has_rows() {
    // The oldest month, which is asked for last.
    let world = World::playing("rows = 0\n[[size]]\nmonth = \"2022-01\"\nrows = 30");
    let line = "collect apt_trade --regions 11110 --months 2022-01..2023-12 --create --concurrency 1 --format json";
    let run = world.run(line).exits(0);
    let result = run.json();
    assert_eq!((&result["partitions"]["empty"], &result["partitions"]["complete"]), (&23.into(), &1.into()));
    assert!(!run.stderr.contains("is held"), "nobody has to act: {}", run.stderr);
    assert_eq!(world.count("select count(*) from coverage where verdict = 'empty'"), 23);
    world.assert_rows_are_true("11110", "2022-01");
    world.assert_store_is_sound("believed");
}

#[test]
fn a_partition_that_failed_on_three_days_is_named_and_not_asked_for_a_week() {
    let world = World::playing(
        r#"rows = 50
        fault = [{ month = "2024-02", answer = { kind = "agency", code = "10" } }]"#,
    );
    let line =
        |only: &str| format!("collect apt_trade --regions 11110 --months 2024-01..2024-02 --only {only} --create --format json");
    for _ in 0..3 {
        world.run(&line("all")).exits(3);
        world.a_day_later();
    }
    let before = world.requests().len();
    let result = world.run(&line("due")).exits(3).json();
    assert_eq!(world.requests().len(), before, "nobody is asked");
    let gap = &result["gaps"][0];
    assert_eq!((&gap["verdict"], &gap["partition"]["month"]), (&"failed".into(), &"2024-02".into()));
    let why = gap["why"].as_str().unwrap();
    assert!(why.starts_with("failed on 3 days while others of its dataset came; asked again after "), "{why}");
    assert_eq!(result["partitions"]["failed"], 1);

    (0..6).for_each(|_| world.a_day_later());
    world.run(&line("due")).exits(3);
    assert_eq!(world.requests().len(), before + 1, "a week is over");
}
