use super::*;
use crate::model::name::Name;

const REFRESH: RefreshSettings = RefreshSettings { every_run: 3, weekly: 12 };

fn partition(month: &str) -> Partition {
    Partition::new([(Name::literal("region"), "11110"), (Name::literal("month"), month)])
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn circumstances(only: Only) -> Circumstances {
    Circumstances { only, refresh: REFRESH, now: at("2026-11-30T03:00:00Z"), month: "2026-11".parse().unwrap() }
}

fn after(verdict: Verdict, is_published: bool) -> Standing {
    let ended = Some(at("2026-11-29T03:00:00Z"));
    Standing { is_published, last_verdict: Some(verdict), last_ended: ended, checked_at: ended, ..Standing::default() }
}

#[test]
fn what_is_due_follows_from_the_latest_job_and_the_published_snapshot() {
    use Reason::{Backfill, Failed, Held, Recent, Refresh};
    let check = |standing: Standing, month: &str, expected: [Option<Reason>; 4]| {
        let of = |only| reason(&partition(month), &standing, circumstances(only));
        let reasons = [Only::Due, Only::Missing, Only::Failed, Only::All].map(of);
        assert_eq!(reasons, expected, "{standing:?} {month}");
    };
    check(Standing::default(), "2026-11", [Some(Recent), Some(Recent), None, Some(Recent)]);
    check(Standing::default(), "2026-09", [Some(Recent), Some(Recent), None, Some(Recent)]);
    check(Standing::default(), "2026-08", [Some(Backfill), Some(Backfill), None, Some(Backfill)]);
    check(after(Verdict::Complete, true), "2024-01", [None, None, None, Some(Refresh)]);
    check(after(Verdict::Empty, true), "2024-01", [None, None, None, Some(Refresh)]);
    check(after(Verdict::Deferred, false), "2024-01", [Some(Backfill), Some(Backfill), None, Some(Backfill)]);
    check(after(Verdict::Deferred, true), "2024-01", [None, None, None, Some(Refresh)]);
    check(after(Verdict::Held, true), "2024-01", [Some(Held), None, None, Some(Held)]);
    for verdict in [Verdict::Short, Verdict::Failed, Verdict::Lost] {
        for is_published in [false, true] {
            check(after(verdict, is_published), "2024-01", [Some(Failed), None, Some(Failed), Some(Failed)]);
        }
    }
}

#[test]
fn whole_months_are_read_again_by_their_age() {
    let check = |month: &str, checked: &str, expected: Option<Reason>| {
        let standing = Standing { checked_at: Some(at(checked)), ..after(Verdict::Complete, true) };
        assert_eq!(reason(&partition(month), &standing, circumstances(Only::Due)), expected, "{month} {checked}");
    };
    check("2026-11", "2026-11-29T03:00:00Z", Some(Reason::Recent));
    check("2026-09", "2026-11-29T03:00:00Z", Some(Reason::Recent));
    check("2026-08", "2026-11-29T03:00:00Z", None);
    check("2026-08", "2026-11-23T03:10:00Z", Some(Reason::Refresh));
    check("2026-08", "2026-11-23T12:00:00Z", None);
    check("2025-12", "2026-11-20T03:00:00Z", Some(Reason::Refresh));
    check("2025-11", "2020-01-01T00:00:00Z", None);
}

#[test]
fn a_partition_that_failed_on_three_days_waits_a_week_for_a_person() {
    let choose = |strikes: u32, ended: &str, only: Only| {
        let standing = Standing { strikes, last_ended: Some(at(ended)), ..after(Verdict::Failed, true) };
        let standings = HashMap::from([(partition("2024-01").key(), standing)]);
        let choice = select(&"a", &[partition("2024-01")], &standings, circumstances(only));
        (choice.selected.len(), choice.need_person.len())
    };
    assert_eq!(choose(2, "2026-11-29T03:00:00Z", Only::Due), (1, 0));
    assert_eq!(choose(3, "2026-11-29T03:00:00Z", Only::Due), (0, 1));
    assert_eq!(choose(3, "2026-11-23T03:00:00Z", Only::Due), (1, 0));
    assert_eq!(choose(3, "2027-11-29T03:00:00Z", Only::Due), (1, 0), "a clock that was wrong");
    assert_eq!(choose(3, "2026-11-29T03:00:00Z", Only::Failed), (1, 0), "asked for by name");
}

#[test]
fn fresh_months_come_first_and_a_backfill_goes_back_in_time() {
    let item = |month: &str, reason, pages| Selected { dataset: (), partition: partition(month), reason, pages };
    let mut items = [
        item("2020-01", Reason::Backfill, None),
        item("2021-05", Reason::Backfill, Some(9)),
        item("2024-01", Reason::Refresh, Some(1)),
        item("2022-01", Reason::Failed, Some(2)),
        item("2026-11", Reason::Recent, Some(1)),
        item("2023-02", Reason::Failed, Some(3)),
        item("2026-10", Reason::Recent, Some(5)),
    ];
    order(&mut items);
    let months: Vec<_> = items.iter().filter_map(|item| item.partition.value("month")).collect();
    assert_eq!(months, ["2026-10", "2026-11", "2023-02", "2022-01", "2024-01", "2021-05", "2020-01"]);
}
