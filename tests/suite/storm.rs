//! Every fault the portal can play, each at a partition of its own, in one run: what comes of it, and that nothing is ever
//! published wrongly, lost from the ledger or asked for without end.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::world::{Ended, Wire, World, month};

/// Of page 2, so that rows are there already that must not be published. A connection closed without a word is not among
/// them: it hits whoever comes next, not its own partition.
const ON_THE_WIRE: &[&str] = &[
    r#"wire = { kind = "reset_before_answer" }"#,
    r#"wire = { kind = "reset_after_head" }"#,
    r#"wire = { kind = "hang" }"#,
    r#"wire = { kind = "hang_after_head" }"#,
    r#"wire = { kind = "cut_body" }"#,
    r#"wire = { kind = "cut_body", share = 0.99 }"#,
    r#"wire = { kind = "cut_unframed" }"#,
    r#"wire = { kind = "cut_unframed", share = 0.99 }"#,
    r#"wire = { kind = "cut_unframed", share = 1.0 }"#,
    r#"wire = { kind = "cut_chunked", at = "mid_chunk" }"#,
    r#"wire = { kind = "cut_chunked", at = "chunk_edge" }"#,
    r#"wire = { kind = "chunked" }"#,
    r#"wire = { kind = "surplus" }"#,
    r#"wire = { kind = "trickle", bytes = 16384, every_ms = 1 }"#,
    r#"wire = { kind = "trickle", bytes = 1, every_ms = 40 }"#,
    r#"wire = { kind = "slow_head", bytes = 16, every_ms = 1 }"#,
    r#"wire = { kind = "slow_head", bytes = 1, every_ms = 100 }"#,
    r#"wire = { kind = "long_head", kib = 1024 }"#,
    r#"wire = { kind = "gzip_bomb", mib = 4 }"#,
    r#"wire = { kind = "gzip_label" }"#,
    r#"wire = { kind = "oversize", mib = 2, framing = "declared" }"#,
    r#"wire = { kind = "oversize", mib = 2, framing = "undeclared" }"#,
];

/// Of page 2. Those that reach further than their partition are in `answers.rs`.
const ANSWERED: &[&str] = &[
    r#"answer = { kind = "gateway1", code = "01" }"#,
    r#"answer = { kind = "gateway1", code = "02" }"#,
    r#"answer = { kind = "gateway1", code = "04" }"#,
    r#"answer = { kind = "gateway1", code = "05" }"#,
    r#"answer = { kind = "gateway1", code = "10" }"#,
    r#"answer = { kind = "gateway1", code = "77" }"#,
    r#"answer = { kind = "gateway1", code = "99" }"#,
    r#"answer = { kind = "gateway3", code = "01" }"#,
    r#"answer = { kind = "gateway3", code = "10" }"#,
    r#"answer = { kind = "gateway3", code = "11" }"#,
    r#"answer = { kind = "gateway3", code = "13" }"#,
    r#"answer = { kind = "gateway3", code = "77" }"#,
    r#"answer = { kind = "gateway3", code = "99" }"#,
    r#"answer = { kind = "agency", code = "01" }"#,
    r#"answer = { kind = "agency", code = "03" }"#,
    r#"answer = { kind = "agency", code = "10", shape = "null_body" }"#,
    r#"answer = { kind = "agency", code = "99", shape = "zero_body" }"#,
    r#"answer = { kind = "agency", code = "77", shape = "unwrapped" }"#,
    r#"answer = { kind = "agency", code = "000", shape = "zero_body" }"#,
    r#"answer = { kind = "agency", code = "000", shape = "header_only" }"#,
    r#"answer = { kind = "gateway2", text = "unexpected" }"#,
    r#"answer = { kind = "gateway2", text = "forwarding" }"#,
    r#"answer = { kind = "gateway2", text = "receiving" }"#,
    r#"answer = { kind = "html", status = 200 }"#,
    r#"answer = { kind = "html", status = 400 }"#,
    r#"answer = { kind = "html", status = 500 }"#,
    r#"answer = { kind = "html", status = 503 }"#,
    r#"answer = { kind = "html", status = 503, retry_after = 0 }"#,
    r#"answer = { kind = "html", status = 503, retry_after = "soon" }"#,
    r#"answer = { kind = "html", status = 503, retry_after = { date_in_s = -9 } }"#,
    r#"answer = { kind = "bare", status = 200 }"#,
    r#"answer = { kind = "bare", status = 204 }"#,
    r#"answer = { kind = "bare", status = 304 }"#,
    r#"answer = { kind = "bare", status = 400 }"#,
    r#"answer = { kind = "bare", status = 408 }"#,
    r#"answer = { kind = "bare", status = 502 }"#,
    r#"answer = { kind = "redirect", to = "http://127.0.0.1:1/elsewhere" }"#,
    r#"answer = { kind = "empty" }"#,
];

/// Of page 1 and of page 2.
const FALSIFIED: &[&str] = &[
    r#"content = { kind = "total_off", by = 50 }"#,
    r#"content = { kind = "total_off", by = -120 }"#,
    r#"content = { kind = "total_off", by = -250 }"#,
    r#"content = { kind = "total_off", by = 999999999999 }"#,
    r#"content = { kind = "total_is", text = "" }"#,
    r#"content = { kind = "total_is", text = "-1" }"#,
    r#"content = { kind = "total_is", text = "1.5" }"#,
    r#"content = { kind = "total_is", text = "NaN" }"#,
    r#"content = { kind = "total_is", text = " 250 " }"#,
    r#"content = { kind = "total_missing" }"#,
    r#"content = { kind = "size_off", by = 100 }"#,
    r#"content = { kind = "row_missing" }"#,
    r#"content = { kind = "no_rows" }"#,
    r#"content = { kind = "same_page" }"#,
    r#"content = { kind = "all_rows" }"#,
    r#"content = { kind = "cycle", pages = 1 }"#,
    r#"content = { kind = "last_page_again" }"#,
    r#"content = { kind = "slide", by = 1 }"#,
    r#"content = { kind = "slide", by = 100 }"#,
    r#"content = { kind = "foreign", region = "11140", rows = 1 }"#,
    r#"content = { kind = "foreign", month = "1999-12" }"#,
    r#"content = { kind = "page_echo", number = 3 }"#,
    r#"content = { kind = "broken", how = "unclosed_root" }"#,
    r#"content = { kind = "broken", how = "half" }"#,
    r#"content = { kind = "broken", how = "trailing_text" }"#,
    r#"content = { kind = "broken", how = "doctype" }"#,
    r#"content = { kind = "broken", how = "duplicate_field" }"#,
    r#"content = { kind = "broken", how = "invalid_utf8" }"#,
];

/// Of page 2 alone: of page 1 it is a portal that says "no rows" to whoever asks first, and nobody could tell.
const FALSIFIED_LATER: &str = r#"content = { kind = "size_off", by = -250 }"#;

/// A fault, the page it is played at, and how long.
struct Case {
    page: u64,
    play: &'static str,
    lasts: Lasts,
    /// No two cases have the same.
    month: String,
}

#[derive(Clone, Copy, Debug)]
enum Lasts {
    Always,
    Once,
}

/// Two tries after the first.
const TRIES: usize = 3;

/// Three reads, each of three pages; or, at one page, every try in every read; and two reads that verify.
const MOST_REQUESTS: usize = 3 * 3 + 3 * TRIES + 2;

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |page, play| {
        for lasts in [Lasts::Always, Lasts::Once] {
            let month = (0..cases.len()).fold(month("2006-01"), |month, _| month.next()).to_string();
            cases.push(Case { page, play, lasts, month });
        }
    };
    for play in FALSIFIED {
        add(1, play);
        add(2, play);
    }
    add(2, FALSIFIED_LATER);
    // The slow ones last: the newest months are asked for first.
    for play in ANSWERED.iter().chain(ON_THE_WIRE) {
        add(2, play);
    }
    cases
}

impl Case {
    fn fault(&self) -> String {
        let times = match self.lasts {
            Lasts::Always => "",
            Lasts::Once => "times = 1, ",
        };
        format!("{{ month = \"{}\", page = {}, {times}{} }}", self.month, self.page, self.play)
    }
}

/// What came of one case.
struct Outcome {
    verdict: String,
    requests: usize,
}

fn storm(wire: Wire) -> String {
    let cases = cases();
    let faults: Vec<String> = cases.iter().map(Case::fault).collect();
    let world = World::speaking(wire, &format!("rows = 250\nfault = [{}]", faults.join(", ")))
        .set("retry.max_retries", &(TRIES - 1).to_string())
        .set("providers.data_go_kr.concurrency", "24")
        .set("providers.data_go_kr.invalid_in_a_row", "1000000")
        .set("http.connect_timeout", "900ms")
        .set("http.read_timeout", "1s")
        .set("http.total_timeout", "2s")
        .set("http.max_body", "1MiB");
    let last = &cases.last().unwrap().month;
    let run = world.run(&format!("collect apt_trade --regions 11110 --months 2006-01..{last} --create --format json")).exits(3);
    let traces = traces(&world);
    let outcomes: Vec<Outcome> = cases.iter().map(|case| outcome(&world, case, &traces[&case.month])).collect();
    world.assert_ledger_tells_every_request(&run);
    assert_gaps_name_what_is_not_whole(&run, &cases, &outcomes);
    table(&cases, &outcomes)
}

/// What a partition left in the store, by its month.
struct Trace {
    verdict: String,
    why: String,
    sent: u64,
    rows: Vec<Vec<String>>,
}

fn traces(world: &World) -> BTreeMap<String, Trace> {
    let lines = world.query(
        "select coverage.month, coverage.verdict, coverage.why,
         (select count(*) from attempt join job on job.id = attempt.job join partition on partition.id = job.partition
          where partition.key = coverage.partition and attempt.sent)
         from coverage",
    );
    let mut rows = world.published_rows_by_month("11110");
    let trace = |line: Vec<String>| {
        let [month, verdict, why, sent] = line.try_into().expect("four cells");
        let rows = rows.remove(&month).unwrap_or_default();
        (month, Trace { verdict, why, sent: sent.parse().unwrap(), rows })
    };
    lines.into_iter().map(trace).collect()
}

fn outcome(world: &World, case: &Case, trace: &Trace) -> Outcome {
    let compact = case.month.replace('-', "");
    let requests = world.requests().iter().filter(|line| line.param("DEAL_YMD") == Some(&compact)).count();
    let what = case.fault();
    assert_eq!(trace.sent, requests as u64, "ledger and portal differ: {what}");
    assert!(requests <= MOST_REQUESTS, "{requests} requests: {what}");
    match trace.verdict.as_str() {
        "complete" => assert!(trace.rows == world.true_rows("11110", &case.month), "wrong rows are published: {what}"),
        "short" | "failed" => {
            assert_ne!(trace.why, "-", "no reason is given: {what}");
            assert_eq!(trace.rows.len(), 0, "rows are published: {what}");
        }
        // Never, for instance, "empty": each partition has 250 rows.
        other => panic!("{other}: {what}"),
    }
    Outcome { verdict: trace.verdict.clone(), requests }
}

fn assert_gaps_name_what_is_not_whole(run: &Ended, cases: &[Case], outcomes: &[Outcome]) {
    let result = run.json();
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for gap in result["gaps"].as_array().unwrap() {
        named.insert(gap["partition"]["month"].as_str().unwrap(), gap["verdict"].as_str().unwrap());
    }
    let missing = cases.iter().zip(outcomes).filter(|(_, outcome)| outcome.verdict != "complete");
    let missing: BTreeMap<&str, &str> = missing.map(|(case, outcome)| (&*case.month, &*outcome.verdict)).collect();
    assert_eq!(named, missing);
}

fn table(cases: &[Case], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for (pair, outcomes) in cases.chunks(2).zip(outcomes.chunks(2)) {
        let [Outcome { verdict, requests }, once] = outcomes else { panic!("each fault is played in two ways") };
        let always = format!("{verdict} {requests}");
        let once = format!("{} {}", once.verdict, once.requests);
        writeln!(text, "{always:<11} | {once:<11} | page {}, {}", pair[0].page, pair[0].play).unwrap();
    }
    text
}

#[test]
fn no_fault_publishes_a_wrong_row_or_asks_without_end_in_xml() {
    insta::assert_snapshot!(storm(Wire::Xml));
}

#[test]
fn no_fault_publishes_a_wrong_row_or_asks_without_end_in_json() {
    insta::assert_snapshot!(storm(Wire::Json));
}

#[test]
fn a_connection_reset_before_every_answer_is_asked_once_and_four_times_more() {
    for wire in [Wire::Xml, Wire::Json] {
        let world = World::speaking(wire, r#"fault = [{ wire = { kind = "reset_before_answer" } }]"#);
        let run = world.run("collect apt_trade --partition 11110,2024-01 --create --format json").exits(3);
        assert_eq!(world.requests().len(), 5);
        assert_eq!(run.json()["calls"]["attempts"], 5);
        assert_eq!(run.json()["calls"]["retries"], 4);
        world.assert_ledger_tells_every_request(&run);
    }
}

#[test]
fn a_connection_closed_between_two_requests_costs_neither_a_page_nor_a_wait() {
    let world = World::playing(
        r#"rows = 250
        fault = [{ wire = { kind = "close_after" } }]"#,
    )
    .set("providers.data_go_kr.concurrency", "1")
    // Would be seen: a test is ended before.
    .set("retry.delay", "60s");
    let run = world.run("collect apt_trade --regions 11110 --months 2024-01..2024-06 --create --format json").exits(0);
    assert_eq!(world.requests().len(), 6 * 3, "those that the portal could still read");
    let unread = "select count(*) from attempt where sent and outcome = 'retry' and http_status is null";
    assert_eq!(run.json()["calls"]["attempts"].as_u64().unwrap() - world.count(unread), 6 * 3);
}
