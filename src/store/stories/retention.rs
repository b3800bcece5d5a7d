use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::stories;
use super::world::{World, apartments_page, attempt, end, partition_of};
use crate::model::job::PageNumber;
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;
use crate::store::job::{JobEnd, Superseded};

const SEOUL: &str = "11110,2024-01";

stories![
    attempts_go_when_they_are_old_and_nothing_else_does,
    many_old_attempts_go_as_well,
    times_of_answers_are_those_of_the_newest_good_ones,
    snapshots_that_were_kept_go_when_they_are_no_longer_to_be,
    what_was_published_comes_back_page_by_page,
    pages_without_bodies_are_told_as_such,
];

async fn attempts_go_when_they_are_old_and_nothing_else_does(mut world: World) {
    let job = world.start(SEOUL).await;
    let sent: [Timestamp; 4] = [1, 2, 3, 4].map(|day| format!("2026-11-0{day}T12:00:00Z").parse().unwrap());
    let attempts = sent.map(|sent_at| {
        let mut attempt = attempt(&job, 1, 1, 1, Outcome::Retry);
        attempt.sent_at = sent_at;
        attempt
    });
    world.store.record_attempts(&attempts).await.unwrap();
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    world.end(&job, Verdict::Complete, 1).await;
    let days = "select substr(sent_at, 1, 10) from attempt order by id";
    assert_eq!(world.store.prune_attempts(sent[0]).await.unwrap(), 0);
    assert_eq!(world.store.prune_attempts(sent[2]).await.unwrap(), 2);
    world.assert_select(days, &["2026-11-03", "2026-11-04", "2026-11-29"]).await;
    let later = world.after(SignedDuration::from_hours(24));
    assert_eq!(world.store.prune_attempts(later).await.unwrap(), 3);
    assert_eq!(world.store.prune_attempts(later).await.unwrap(), 0);
    world.assert_select("select count(*) from attempt", &["0"]).await;
    world.assert_select("select apt from apt_trade", &["a"]).await;
    assert_eq!(world.store.audit().await.unwrap(), []);
}

async fn times_of_answers_are_those_of_the_newest_good_ones(mut world: World) {
    let job = world.start(SEOUL).await;
    let outcomes = [Outcome::Page, Outcome::Retry, Outcome::Empty, Outcome::SlowDown, Outcome::Page];
    let attempts = outcomes.iter().zip([100, 200, 300, 400, 500]).map(|(outcome, milliseconds)| {
        let mut attempt = attempt(&job, 1, 1, 1, *outcome);
        attempt.took = Duration::from_millis(milliseconds);
        attempt
    });
    world.store.record_attempts(&attempts.collect::<Vec<_>>()).await.unwrap();
    let dataset = Name::literal("apt_trade");
    assert_eq!(world.store.latencies(&dataset, 9).await.unwrap(), [500, 300, 100]);
    assert_eq!(world.store.latencies(&dataset, 2).await.unwrap(), [500, 300]);
    assert_eq!(world.store.latencies(&Name::literal("other"), 9).await.unwrap(), [0_u64; 0]);
}

async fn many_old_attempts_go_as_well(mut world: World) {
    let job = world.start(SEOUL).await;
    let attempts = vec![attempt(&job, 1, 1, 1, Outcome::Retry); 10_000];
    for _ in 0..2 {
        world.store.record_attempts(&attempts).await.unwrap();
    }
    world.store.record_attempts(&attempts[..1]).await.unwrap();
    let later = world.after(SignedDuration::from_hours(24));
    assert_eq!(world.store.prune_attempts(later).await.unwrap(), 20_001);
}

async fn snapshots_that_were_kept_go_when_they_are_no_longer_to_be(mut world: World) {
    for apartment in ["first", "second", "third"] {
        let job = world.start(SEOUL).await;
        world.page(&job, 1, 1, &apartments_page(&[apartment])).await;
        let end = JobEnd { superseded: Superseded::Kept, ..end(&job, Verdict::Complete, 1, world.now()) };
        world.store.end_job(end).await.unwrap();
    }
    world.assert_select("select apt from apt_trade_rows order by _job", &["first", "second", "third"]).await;
    assert_eq!(world.store.audit().await.unwrap(), []);
    world.collected(SEOUL, &["fourth"], Verdict::Complete).await;
    world.assert_select("select apt from apt_trade_rows", &["fourth"]).await;
    world.assert_select("select count(*) from body", &["1"]).await;
}

async fn what_was_published_comes_back_page_by_page(mut world: World) {
    let partition = partition_of(SEOUL);
    assert!(world.store.kept_pages(&world.declared, &partition).await.unwrap().is_none());
    let job = world.start(SEOUL).await;
    for number in [3, 1, 2] {
        world.page(&job, 1, number, &apartments_page(&["a"])).await;
    }
    world.end(&job, Verdict::Complete, 3).await;
    world.collected(SEOUL, &["not published"], Verdict::Failed).await;
    let mut pages = world.store.kept_pages(&world.declared, &partition).await.unwrap().unwrap();
    assert_eq!((pages.job, pages.left()), (job.id(), 3));
    for number in 1..=3 {
        let page = pages.next().await.unwrap().unwrap();
        assert_eq!(page.number, PageNumber(number));
        assert_eq!(page.body.unwrap().raw().unwrap(), format!("body of page {number}").as_bytes());
    }
    assert_eq!(pages.next().await.unwrap(), None);
}

async fn pages_without_bodies_are_told_as_such(mut world: World) {
    world.collected(SEOUL, &["old"], Verdict::Complete).await;
    let partition = partition_of(SEOUL);
    let mut pages = world.store.kept_pages(&world.declared, &partition).await.unwrap().unwrap();
    world.tampered("delete from body").await;
    let page = pages.next().await.unwrap().unwrap();
    assert_eq!((page.number, page.body), (PageNumber(1), None));
}
