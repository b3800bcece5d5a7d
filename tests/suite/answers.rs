//! Answers that reach further than the partition they are given for, and what `Retry-After` does.

use std::time::Duration;

use crate::world::{Wire, World};

/// Twelve partitions, one call at a time.
const TWELVE: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-12 --create --concurrency 1 --format json";

/// Everything is answered so: how the run ends, after how many requests, and how many partitions are said to have failed.
/// The others are deferred, and nothing is published.
fn check(answer: &str, exit: i32, requests: usize, failed: u64) {
    for wire in [Wire::Xml, Wire::Json] {
        let world = World::speaking(wire, &format!("fault = [{{ answer = {answer} }}]"));
        let run = world.run(TWELVE).exits(exit);
        assert_eq!(world.requests().len(), requests, "{wire:?} {answer}");
        let partitions = &run.json()["partitions"];
        assert_eq!(
            (&partitions["failed"], &partitions["deferred"]),
            (&failed.into(), &(12 - failed).into()),
            "{wire:?} {answer}"
        );
        assert_eq!(world.count("select count(*) from apt_trade"), 0);
        world.assert_ledger_tells_every_request(&run);
    }
}

#[test]
fn a_refusal_is_asked_once_more_and_then_the_run_goes_no_further() {
    for code in ["20", "21", "29", "30", "31", "32", "33"] {
        check(&format!(r#"{{ kind = "gateway1", code = "{code}" }}"#), 5, 2, 0);
        check(&format!(r#"{{ kind = "gateway3", code = "{code}" }}"#), 5, 2, 0);
    }
    check(r#"{ kind = "agency", code = "030" }"#, 5, 2, 0);
    check(r#"{ kind = "gateway2", text = "unauthorized" }"#, 5, 2, 0);
    check(r#"{ kind = "gateway2", text = "forbidden", status = 200 }"#, 5, 2, 0);
    check(r#"{ kind = "bare", status = 401 }"#, 5, 2, 0);
    check(r#"{ kind = "html", status = 403 }"#, 5, 2, 0);
}

#[test]
fn a_service_that_is_not_there_fails_once() {
    check(r#"{ kind = "gateway1", code = "12" }"#, 3, 1, 1);
    check(r#"{ kind = "gateway2", text = "not_found" }"#, 3, 1, 1);
    check(r#"{ kind = "bare", status = 410 }"#, 3, 1, 1);
}

#[test]
fn a_spent_day_is_told_once() {
    check(r#"{ kind = "gateway1", code = "22" }"#, 6, 1, 0);
    check(r#"{ kind = "gateway3", code = "22", status = 403 }"#, 6, 1, 0);
    check(r#"{ kind = "gateway2", text = "quota" }"#, 6, 1, 0);
    check(r#"{ kind = "agency", code = "22" }"#, 6, 1, 0);
}

#[test]
fn a_wait_too_long_to_sit_out_defers_the_dataset() {
    check(r#"{ kind = "html", status = 503, retry_after = 3600 }"#, 6, 1, 0);
    check(r#"{ kind = "html", status = 503, retry_after = { date_in_s = 3600 } }"#, 6, 1, 0);
    check(r#"{ kind = "bare", status = 503, retry_after = 604800 }"#, 6, 1, 0);
}

#[test]
fn a_failing_partition_does_not_keep_the_others() {
    for answer in [r#"{ kind = "bare", status = 400 }"#, r#"{ kind = "bare", status = 500 }"#] {
        let world = World::playing(&format!(
            r#"rows = 5
            fault = [{{ month = "2024-12", answer = {answer} }}]"#
        ));
        let run = world.run(TWELVE).exits(3);
        assert_eq!((&run.json()["partitions"]["complete"], &run.json()["partitions"]["failed"]), (&11.into(), &1.into()));
        assert_eq!(world.count("select count(*) from apt_trade"), 11 * 5);
    }
}

/// A partition whose first answer asks to be left alone; says how long it was.
#[test]
fn a_long_wait_that_a_server_asked_for_is_kept_by_the_next_run() {
    let away = r#"fault = [{ answer = { kind = "html", status = 503, retry_after = 3600 } }]"#;
    let line = "collect apt_trade --months 2024-01 --regions 11110 --create --format json";
    let world = World::playing(away);
    world.run(line).exits(6);
    let world = world.now_playing("rows = 5");
    let told = world.run(line).exits(6).json();
    assert_eq!(world.requests().len(), 0, "the hour is not over");
    assert!(told["gaps"][0]["why"].as_str().unwrap().contains("503"), "{told}");
    let status = world.run("status").exits(0).stdout;
    assert!(status.contains("left alone until"), "{status}");
}

fn wait_after(retry_after: &str) -> Duration {
    let world = World::playing(&format!(
        r#"rows = 5
        fault = [{{ times = 1, answer = {{ kind = "html", status = 503, retry_after = {retry_after} }} }}]"#
    ))
    .set("retry.delay", "300ms");
    world.run("collect apt_trade --partition 11110,2024-01 --create").exits(0);
    let requests = world.requests();
    assert_eq!(requests.len(), 2, "{retry_after}");
    requests[1].at - requests[0].at
}

#[test]
fn retry_after_is_kept_in_seconds_and_as_a_date() {
    assert!(wait_after("2") >= Duration::from_secs(2));
    // A date has no fractions of a second.
    let as_date = wait_after("{ date_in_s = 3 }");
    assert!(as_date >= Duration::from_millis(1900) && as_date < Duration::from_secs(6), "{as_date:?}");
}

#[test]
fn a_retry_after_that_says_nothing_means_the_wait_of_our_own() {
    for retry_after in ["0", "{ date_in_s = -60 }", r#""soon""#, r#""-5""#, r#""""#, "9223372036854775807"] {
        let wait = wait_after(retry_after);
        assert!(wait >= Duration::from_millis(300) && wait < Duration::from_secs(2), "{retry_after}: {wait:?}");
    }
}

#[test]
fn a_portal_that_refuses_every_call_for_its_speed_is_tested_by_single_calls_and_then_left_alone() {
    for answer in
        [r#"{ kind = "gateway3", code = "23" }"#, r#"{ kind = "gateway2", text = "rate" }"#, r#"{ kind = "bare", status = 429 }"#]
    {
        let world = World::playing(&format!("fault = [{{ answer = {answer} }}]")).set("retry.throttle_patience", "1500ms");
        let run = world.run(&TWELVE.replace("--concurrency 1", "--concurrency 6")).exits(6);
        let requests = world.requests();
        // Six were on their way; then one after a second, and no other before two more have passed.
        assert!((2..=6 + 2).contains(&requests.len()), "{answer}: {} requests", requests.len());
        assert_eq!(run.json()["partitions"]["deferred"], 12);
        assert_eq!(run.json()["calls"]["by_outcome"]["slow_down"], requests.len());
        world.assert_ledger_tells_every_request(&run);
    }
}
