//! The faults in which programs like this one lose rows without a word: 250 rows in three pages, in XML and in JSON.

use crate::world::{Ended, Wire, World};

const COLLECT: &str = "collect apt_trade --partition 11110,2024-01 --create --format json";
const AGAIN: &str = "collect apt_trade --partition 11110,2024-01 --only all --format json";

/// Collects once into a new store, and expects the true rows after so many calls.
fn check_whole(rows: u64, rest: &str, calls: usize) {
    for wire in [Wire::Xml, Wire::Json] {
        let world = World::speaking(wire, &format!("rows = {rows}\n{rest}"));
        let run = world.run(COLLECT).exits(0);
        assert_eq!(run.json()["partitions"]["complete"], 1, "{wire:?}");
        assert_eq!(world.requests().len(), calls, "{wire:?}");
        world.assert_rows_are_true("11110", "2024-01");
        world.assert_ledger_tells_every_request(&run);
    }
}

/// Collects a good snapshot, then once more under a fault that stays, and expects a gap that is named and nothing else to
/// have changed.
fn check_gap(rows: u64, fault: &str, exit: i32, verdict: &str, why: &str, calls: usize) {
    for wire in [Wire::Xml, Wire::Json] {
        let world = World::speaking(wire, &format!("rows = {rows}"));
        world.run(COLLECT).exits(0);
        let before = world.published_rows("11110", "2024-01");
        assert_eq!(before.len() as u64, rows);

        let world = world.now_playing(&format!("rows = {rows}\nfault = [{fault}]"));
        let run = world.run(AGAIN).exits(exit);

        assert_gap(&run, verdict, why);
        assert_eq!(world.requests().len(), calls, "{wire:?}");
        assert!(world.published_rows("11110", "2024-01") == before, "{wire:?}: the snapshot of before is untouched");
        world.assert_ledger_tells_every_request(&run);
    }
}

#[track_caller]
fn assert_gap(run: &Ended, verdict: &str, why: &str) {
    let result = run.json();
    let gap = &result["gaps"][0];
    assert_eq!(result["gaps_total"], 1);
    assert_eq!(gap["dataset"], "apt_trade");
    assert_eq!(gap["partition"], serde_json::json!({"region": "11110", "month": "2024-01"}));
    assert_eq!(gap["verdict"], verdict, "{gap}");
    assert!(gap["why"].as_str().unwrap().contains(why), "`{why}` is said in {gap}");
    assert_eq!(result["rows"]["published"], 0);
}

#[test]
fn a_clean_job_takes_as_many_calls_as_it_has_pages() {
    check_whole(250, "", 3);
}

#[test]
fn fault_2_a_quota_answer_under_status_200_defers() {
    check_gap(250, r#"{ page = 2, answer = { kind = "gateway1", code = "22" } }"#, 6, "deferred", "22", 2);
}

#[test]
fn fault_3_an_error_code_under_status_200_is_a_gap() {
    check_gap(250, r#"{ page = 2, answer = { kind = "agency", code = "99" } }"#, 3, "failed", "99", 6);
    check_whole(250, r#"fault = [{ page = 2, times = 4, answer = { kind = "agency", code = "99" } }]"#, 7);
}

#[test]
fn fault_4_a_body_cut_in_half_is_a_gap() {
    check_gap(250, r#"{ page = 2, content = { kind = "broken", how = "half" } }"#, 3, "failed", "", 6);
    check_whole(250, r#"fault = [{ page = 2, times = 4, content = { kind = "broken", how = "half" } }]"#, 7);
}

#[test]
fn fault_5_a_page_for_people_under_status_200_is_a_gap() {
    check_gap(250, r#"{ page = 2, answer = { kind = "html", status = 200 } }"#, 3, "failed", "", 6);
    check_whole(250, r#"fault = [{ page = 2, times = 4, answer = { kind = "html", status = 200 } }]"#, 7);
}

#[test]
fn fault_6_a_page_size_that_is_silently_capped_loses_nothing() {
    check_whole(250, "page_cap = 50", 5);
}

#[test]
fn fault_7_an_empty_page_between_full_ones_is_asked_again() {
    check_whole(250, r#"fault = [{ page = 2, times = 1, content = { kind = "no_rows" } }]"#, 4);
    check_gap(
        250,
        r#"{ page = 2, content = { kind = "no_rows" } }"#,
        3,
        "short",
        "hole: page 2 has no rows where 100 are due",
        6,
    );
}

#[test]
fn fault_8_a_page_one_row_short_is_asked_again() {
    check_whole(250, r#"fault = [{ page = 2, times = 1, content = { kind = "row_missing" } }]"#, 4);
    check_gap(
        250,
        r#"{ page = 2, content = { kind = "row_missing" } }"#,
        3,
        "short",
        "hole: page 4 has no rows where 1 are due",
        14,
    );
}

#[test]
fn fault_9_a_portal_that_repeats_its_last_page_past_the_end_is_not_asked_past_it() {
    check_whole(250, r#"fault = [{ content = { kind = "last_page_again" } }]"#, 3);
}

#[test]
fn fault_10_the_same_page_for_every_number_is_a_gap_after_two_calls() {
    check_gap(250, r#"{ content = { kind = "same_page" } }"#, 3, "short", "page 2 repeats the rows of page 1", 2);
}

#[test]
fn fault_11_pages_that_go_round_are_a_gap() {
    check_gap(250, r#"{ content = { kind = "cycle", pages = 2 } }"#, 3, "short", "surplus: page 3 has 100 rows where 50", 7);
    check_gap(300, r#"{ content = { kind = "cycle", pages = 2 } }"#, 3, "short", "page 3 repeats the rows of page 1", 3);
}

#[test]
fn fault_12_a_last_page_that_is_just_full_needs_no_call_more() {
    check_whole(200, "", 2);
}

#[test]
fn fault_13_a_total_that_grew_is_read_anew() {
    check_whole(350, r#"fault = [{ page = 1, read = 1, content = { kind = "size_off", by = -100 } }]"#, 2 + 4);
    let grows = r#"{ page = { from = 2 }, content = { kind = "size_off", by = 100 } }"#;
    check_gap(250, grows, 3, "short", "the total still moves after two new reads: 250 rows promised first, 350 last", 6);
}

#[test]
fn fault_14_a_total_that_fell_is_read_anew() {
    check_whole(130, r#"fault = [{ page = 1, read = 1, content = { kind = "size_off", by = 120 } }]"#, 2 + 2);
    let falls = r#"{ page = { from = 2 }, content = { kind = "total_off", by = -120 } }"#;
    check_gap(250, falls, 3, "short", "the total still moves after two new reads: 250 rows promised first, 130 last", 6);
}

#[test]
fn fault_14b_rows_that_slid_by_one_are_a_gap_though_their_number_is_right() {
    // Three pages, and one more that shows all rows at once.
    check_gap(300, r#"{ page = 2, content = { kind = "slide", by = 1 } }"#, 3, "short", "rows slid between pages", 4);
}

#[test]
fn true_twins_on_two_pages_cost_one_call_more_once() {
    for wire in [Wire::Xml, Wire::Json] {
        let world = World::speaking(wire, "rows = 1000\ntwins = 0.5");
        world.run(COLLECT).exits(0);
        assert_eq!(world.requests().len(), 10 + 1, "{wire:?}");
        world.assert_rows_are_true("11110", "2024-01");
        world.run(AGAIN).exits(0);
        assert_eq!(world.requests().len(), 11 + 10, "{wire:?}");
        world.assert_rows_are_true("11110", "2024-01");
    }
}
