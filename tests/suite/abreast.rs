//! Pages of one partition that are asked for side by side.

use std::time::Duration;

use crate::world::World;

const TWENTY_PAGES: &str = "rows = 2000\nlatency_ms = 50";
const COLLECT: &str = "collect apt_trade --partition 11110,2024-01 --create --concurrency 5 --format json";

fn world(scenario: &str, pages_ahead: &str) -> World {
    World::playing(scenario).set("collect.pages_ahead", pages_ahead)
}

/// The page numbers the portal was asked for, in order of arrival.
fn pages(world: &World) -> Vec<u32> {
    world.requests().iter().map(|line| line.param("pageNo").unwrap().parse().unwrap()).collect()
}

/// From the first request of a whole collection to the last.
fn time_of_twenty_pages(pages_ahead: &str) -> Duration {
    let world = world(TWENTY_PAGES, pages_ahead);
    let run = world.run(COLLECT).exits(0);
    world.assert_rows_are_true("11110", "2024-01");
    world.assert_ledger_tells_every_request(&run);
    let mut asked = pages(&world);
    asked.sort_unstable();
    assert_eq!(asked, (1..=20).collect::<Vec<_>>(), "each page once");
    let requests = world.requests();
    let most = requests.iter().map(|line| line.in_flight).max();
    assert_eq!(most, Some(if pages_ahead == "0" { 1 } else { 5 }), "{pages_ahead} ahead");
    requests[19].at - requests[0].at
}

#[test]
fn twenty_pages_side_by_side_take_about_a_fifth_of_the_time() {
    let (one_by_one, abreast) = (time_of_twenty_pages("0"), time_of_twenty_pages("4"));
    let share = abreast.as_secs_f64() / one_by_one.as_secs_f64();
    eprintln!("one by one {one_by_one:?}, four ahead {abreast:?}: {share:.2}");
    assert!(share < 0.35, "one by one {one_by_one:?}, four ahead {abreast:?}");
}

#[test]
fn after_a_page_that_cannot_be_had_no_further_page_of_its_job_is_asked() {
    // Known long before the page in front of it comes, or long after those behind it.
    let check = |wait_ms: u64, concurrency: u32, error_pause: &str, last: u32| {
        let scenario = format!(
            r#"rows = 2000
            latency_ms = 150
            fault = [{{ page = 3, wait_ms = {wait_ms}, answer = {{ kind = "agency", code = "10" }} }}]"#
        );
        let world = world(&scenario, "4").set("retry.error_pause", error_pause);
        let run = world.run(&COLLECT.replace("--concurrency 5", &format!("--concurrency {concurrency}"))).exits(3);
        let what = format!("{wait_ms} ms, {concurrency} at once, a rest of {error_pause}");
        let (pages, requests) = (pages(&world), world.requests());
        let third = pages.iter().position(|page| *page == 3).unwrap();
        let failed_at = requests[third].at + Duration::from_millis(wait_ms);
        let after: Vec<_> = pages.iter().zip(&requests).filter(|(page, line)| **page > 3 && line.at > failed_at).collect();
        assert!(after.is_empty(), "{what}: {after:?}");
        assert!(pages.iter().all(|page| *page <= last), "{what}: {pages:?}");
        world.assert_ledger_tells_every_request(&run);
        let gap = &run.json()["gaps"][0];
        assert_eq!((&gap["verdict"], &gap["page"], &gap["received"]), (&"failed".into(), &3.into(), &200.into()));
        assert_eq!(world.count("select count(*) from apt_trade"), 0);
    };
    check(5, 5, "0s", 6);
    // With more pages begun than there are permits: one waits for the permit of the page that fails.
    check(5, 3, "0s", 5);
    check(5, 3, "300ms", 5);
    check(400, 5, "0s", 7);
}
