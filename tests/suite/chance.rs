//! Faults drawn by lot at pages drawn by lot: what is published is what the portal holds, or it is not published.

use std::fmt::Write;

use fastrand::Rng;

use crate::world::{Wire, World};

/// Portals that each test tries, of six months each.
const CASES: usize = 30;
const MONTHS: [&str; 6] = ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06"];
const COLLECT: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-06 --create --format json";
/// Two tries after the first, so that a fault that plays twice heals.
const MAX_RETRIES: u32 = 2;

/// Those that are over when the same page is asked for again.
const HEALING: &[&str] = &[
    r#"answer = { kind = "gateway1", code = "01" }"#,
    r#"answer = { kind = "gateway1", code = "04" }"#,
    r#"answer = { kind = "gateway3", code = "99" }"#,
    r#"answer = { kind = "agency", code = "01" }"#,
    r#"answer = { kind = "agency", code = "000", shape = "header_only" }"#,
    r#"answer = { kind = "gateway2", text = "unexpected" }"#,
    r#"answer = { kind = "html", status = 200 }"#,
    r#"answer = { kind = "html", status = 503, retry_after = 0 }"#,
    r#"answer = { kind = "bare", status = 200 }"#,
    r#"answer = { kind = "bare", status = 408 }"#,
    r#"answer = { kind = "bare", status = 502 }"#,
    r#"wire = { kind = "reset_before_answer" }"#,
    r#"wire = { kind = "reset_after_head" }"#,
    r#"wire = { kind = "cut_body", share = 0.7 }"#,
    r#"wire = { kind = "cut_unframed", share = 0.99 }"#,
    r#"wire = { kind = "cut_chunked", at = "mid_chunk" }"#,
    r#"wire = { kind = "cut_chunked", at = "chunk_edge" }"#,
    r#"wire = { kind = "gzip_label" }"#,
    r#"content = { kind = "no_rows" }"#,
    r#"content = { kind = "total_is", text = "-1" }"#,
    r#"content = { kind = "foreign", region = "11140", rows = 1 }"#,
    r#"content = { kind = "foreign", month = "1999-12" }"#,
    r#"content = { kind = "page_echo", number = 9 }"#,
    r#"content = { kind = "broken", how = "half" }"#,
    r#"content = { kind = "broken", how = "unclosed_root" }"#,
    r#"content = { kind = "broken", how = "duplicate_field" }"#,
    r#"content = { kind = "broken", how = "invalid_utf8" }"#,
];

/// Those that may leave a gap, however often they play. One that tells the same lie on every page is not among them:
/// nobody could tell.
const STUBBORN: &[&str] = &[
    r#"answer = { kind = "agency", code = "10" }"#,
    r#"answer = { kind = "bare", status = 400 }"#,
    r#"content = { kind = "total_missing" }"#,
    r#"content = { kind = "total_off", by = 1 }"#,
    r#"content = { kind = "total_off", by = 100 }"#,
    r#"content = { kind = "row_missing" }"#,
    r#"content = { kind = "row_missing", at = 57 }"#,
    r#"content = { kind = "row_missing", at = 99 }"#,
    r#"content = { kind = "same_page" }"#,
    r#"content = { kind = "all_rows" }"#,
    r#"content = { kind = "cycle", pages = 1 }"#,
    r#"content = { kind = "cycle", pages = 2 }"#,
    r#"content = { kind = "last_page_again" }"#,
    r#"content = { kind = "slide", by = 1 }"#,
    r#"content = { kind = "slide", by = 37 }"#,
    r#"content = { kind = "slide", by = 100 }"#,
];

/// What a month is to go through.
struct Trial {
    month: &'static str,
    rows: u64,
    faults: Vec<String>,
    prospect: Prospect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prospect {
    /// All its faults heal within the tries.
    Whole,
    /// It may be a gap in the end, or not.
    Open,
}

/// What came of all trials together, so that a lot that draws nothing does not pass.
#[derive(Debug, Default)]
struct Tally {
    healed: usize,
    whole_all_the_same: usize,
    gaps: usize,
}

#[test]
fn whatever_goes_wrong_in_xml_what_is_published_is_true_and_what_heals_is_published() {
    try_out(Wire::Xml);
}

#[test]
fn whatever_goes_wrong_in_json_what_is_published_is_true_and_what_heals_is_published() {
    try_out(Wire::Json);
}

fn try_out(wire: Wire) {
    let seed = std::env::var("CHANCE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    eprintln!("CHANCE_SEED={seed}");
    let mut lot = Rng::with_seed(seed);
    let mut tally = Tally::default();
    for _ in 0..CASES {
        try_once(wire, &mut lot, &mut tally);
    }
    eprintln!("{tally:?}");
    assert!(tally.healed > CASES && tally.gaps > 5 && tally.whole_all_the_same > 0, "{tally:?}");
}

fn try_once(wire: Wire, lot: &mut Rng, tally: &mut Tally) {
    let trials = MONTHS.map(|month| trial(month, lot));
    let twins = if lot.bool() { "0.0" } else { "0.1" };
    let pages_ahead = if lot.bool() { "0" } else { "4" };
    let (honest, faulty) = (scenario(&trials, twins, Play::Honestly), scenario(&trials, twins, Play::WithFaults));
    let world = World::speaking(wire, &faulty)
        .set("collect.pages_ahead", pages_ahead)
        .set("retry.max_retries", &MAX_RETRIES.to_string())
        .set("providers.data_go_kr.invalid_in_a_row", "1000000");
    let run = world.run(COLLECT);
    assert!([0, 3].contains(&run.exit), "exit {}: {}\n{faulty}", run.exit, run.stderr);
    world.assert_ledger_tells_every_request(&run);
    world.assert_store_is_sound(&faulty);

    let gaps = run.json()["gaps"].to_string();
    let mut published = world.published_rows_by_month("11110");
    for trial in &trials {
        let published = published.remove(trial.month).unwrap_or_default();
        let truth = world.true_rows("11110", trial.month);
        let is_gap = gaps.contains(trial.month);
        let what = || format!("{wire:?}, {pages_ahead} ahead, {}: {gaps}\n{faulty}", trial.month);
        match (is_gap, trial.prospect) {
            (false, _) => assert!(published == truth, "{} of {} rows, {}", published.len(), truth.len(), what()),
            (true, Prospect::Open) => assert!(published.is_empty(), "{} rows of a gap, {}", published.len(), what()),
            (true, Prospect::Whole) => panic!("its faults heal: {}", what()),
        }
        *match (is_gap, trial.prospect) {
            (true, _) => &mut tally.gaps,
            (false, Prospect::Whole) => &mut tally.healed,
            (false, Prospect::Open) => &mut tally.whole_all_the_same,
        } += 1;
    }

    let world = world.now_playing(&honest);
    world.run(COLLECT).exits(0);
    let published = world.published_rows_by_month("11110");
    MONTHS.iter().for_each(|month| assert!(published[*month] == world.true_rows("11110", month), "{month} in the end\n{faulty}"));
}

fn trial(month: &'static str, lot: &mut Rng) -> Trial {
    // Two to five pages: of a page alone there is nothing beside it that would show a lie.
    let rows = lot.u64(101..=450);
    let mut pages: Vec<u64> = (1..=rows.div_ceil(100)).collect();
    lot.shuffle(&mut pages);
    pages.truncate(lot.usize(0..=3));
    let is_stubborn = lot.bool();
    let mut faults = Vec::new();
    for (position, page) in pages.iter().enumerate() {
        let (play, times) = match (position, is_stubborn) {
            (0, true) => (lot.choice(STUBBORN).unwrap(), if lot.bool() { String::new() } else { "times = 1, ".to_owned() }),
            _ => (lot.choice(HEALING).unwrap(), format!("times = {}, ", lot.u32(1..=MAX_RETRIES))),
        };
        faults.push(format!("{{ month = \"{month}\", page = {page}, {times}{play} }}"));
    }
    let prospect = if is_stubborn && !pages.is_empty() { Prospect::Open } else { Prospect::Whole };
    Trial { month, rows, faults, prospect }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Play {
    Honestly,
    WithFaults,
}

fn scenario(trials: &[Trial], twins: &str, play: Play) -> String {
    let mut text = format!("twins = {twins}\n");
    if play == Play::WithFaults {
        let faults: Vec<&str> = trials.iter().flat_map(|trial| &trial.faults).map(String::as_str).collect();
        writeln!(text, "fault = [{}]", faults.join(",\n  ")).unwrap();
    }
    for Trial { month, rows, .. } in trials {
        writeln!(text, "[[size]]\nmonth = \"{month}\"\nrows = {rows}").unwrap();
    }
    text
}
