//! The walk over pages, told as stories: what the source shows on each page, and what the walk makes of it.

use std::sync::Arc;

use super::Walk;
use crate::model::job::{PageNumber, ReadNumber};
use crate::model::page::Page;
use crate::model::record::{Records, RowHash};
use crate::model::tree::{NameId, NodeKind, Span, TreeBuilder};
use crate::model::verdict::Verdict;
use crate::reconcile::due::RowsDue;
use crate::reconcile::ending::{Cause, Ending};
use crate::reconcile::step::{PageRules, Purpose, Step};
use crate::reconcile::verification::RowSet;

const RULES: PageRules = PageRules { size: 100, most: 1000, first: 1, short_page_ends: false, max_pages: 50 };

fn page(total: Option<u64>, rows: impl IntoIterator<Item = u32>) -> Page {
    let mut builder = TreeBuilder::new();
    builder.leaf(NameId::NONE, NodeKind::Null, Span::Owned(""));
    let row_hash = |row: u32| {
        let mut hash = [0; 16];
        hash[..4].copy_from_slice(&row.to_be_bytes());
        RowHash(hash)
    };
    Page {
        records: Records::new(Arc::new(builder.finish(String::new())), Vec::new()),
        row_hashes: rows.into_iter().map(row_hash).collect(),
        total,
        page_echo: None,
        code: None,
        has_more: None,
    }
}

/// A source of rows `0..rows` that caps its pages; `fault` may replace what it would answer.
struct Source {
    rows: u32,
    cap: u32,
    calls: u32,
    published: Option<Vec<u32>>,
}

impl Source {
    fn of(rows: u32) -> Self {
        Self { rows, cap: 100, calls: 0, published: None }
    }

    fn honest(&self, number: u32, size: u32) -> Page {
        let size = size.min(self.cap);
        let first = (number - 1) * size;
        page(Some(u64::from(self.rows)), first.min(self.rows)..(first + size).min(self.rows))
    }

    /// Walks to the end. A page that does not fit what is due is a story of the caller's, and ends the walk here.
    fn walk(&mut self, mut answer: impl FnMut(&Self, u32, u32, u32) -> Page) -> Result<Ending, String> {
        let mut walk = Walk::new(RULES);
        loop {
            let ask = walk.ask();
            self.calls += 1;
            assert!(self.calls < 200, "the walk does not end");
            let page = answer(self, ask.read.0, ask.page.0, ask.size);
            if let Some(misfit) = ask.due.misfit(&page) {
                return Err(misfit.to_string());
            }
            match walk.take(&page) {
                Step::Keep => assert_eq!(ask.purpose, Purpose::Snapshot),
                Step::Compared => assert_eq!(ask.purpose, Purpose::Verification),
                Step::NewRead { .. } => {}
                Step::KeepAndVerify(set) => {
                    let published = self
                        .published
                        .as_ref()
                        .map(|rows| RowSet::new(self::page(None, rows.iter().copied()).row_hashes.to_vec()));
                    if published.as_ref() == Some(&set) {
                        return Ok(walk.published_agrees());
                    }
                    if let Some(ending) = walk.verify() {
                        return Ok(ending);
                    }
                }
                Step::KeepAndEnd(ending) | Step::End(ending) => return Ok(ending),
            }
        }
    }
}

fn check(ending: Result<Ending, String>, verdict: Verdict, received: u64) -> Option<Cause> {
    let ending = ending.unwrap();
    assert_eq!((ending.verdict, ending.received), (verdict, received), "{:?}", ending.cause);
    ending.cause
}

#[test]
fn a_clean_job_takes_exactly_the_pages_its_total_needs() {
    let check_calls = |rows: u32, calls: u32| {
        let mut source = Source::of(rows);
        let ending = source.walk(|source, _, number, size| source.honest(number, size));
        check(ending, Verdict::Complete, u64::from(rows));
        assert_eq!(source.calls, calls, "{rows} rows");
    };
    check_calls(250, 3);
    check_calls(200, 2);
    check_calls(100, 1);
    check_calls(1, 1);
}

#[test]
fn a_proven_zero_is_empty_after_one_call() {
    let mut source = Source::of(0);
    let ending = source.walk(|source, _, number, size| source.honest(number, size));
    assert_eq!(check(ending, Verdict::Empty, 0), None);
    assert_eq!(source.calls, 1);
}

#[test]
fn a_silent_cap_is_adopted_from_page_one() {
    let mut source = Source { cap: 50, ..Source::of(250) };
    let ending = source.walk(|source, _, number, size| source.honest(number, size));
    check(ending, Verdict::Complete, 250);
    assert_eq!(source.calls, 5);
}

#[test]
fn a_page_size_that_is_larger_than_asked_is_adopted_too() {
    for (size, calls) in [(101, 3), (150, 2), (249, 2), (250, 1)] {
        let mut source = Source { cap: size, ..Source::of(250) };
        let ending = source.walk(|source, _, number, _| source.honest(number, size));
        check(ending, Verdict::Complete, 250);
        assert_eq!(source.calls, calls, "{size} rows a page where 100 were asked for");
    }
}

#[test]
fn a_page_with_other_rows_than_are_due_is_a_misfit() {
    let check_misfit = |rows: std::ops::Range<u32>, part: &str| {
        let error = Source::of(250)
            .walk(|source, _, number, size| if number == 2 { page(Some(250), rows.clone()) } else { source.honest(number, size) })
            .unwrap_err();
        assert_eq!(error, part);
    };
    check_misfit(100..199, "hole: page 2 has 99 rows where 100 are due");
    check_misfit(100..100, "hole: page 2 has no rows where 100 are due");
    check_misfit(100..210, "surplus: page 2 has 110 rows where 100 are due");
}

#[test]
fn a_total_that_contradicts_its_rows_is_a_misfit() {
    let check_misfit = |total: u64, rows: u32, part: &str| {
        assert_eq!(Source::of(250).walk(|_, _, _, _| page(Some(total), 0..rows)).unwrap_err(), part);
    };
    check_misfit(0, 5, "contradiction: 5 rows came with a total of 0");
    check_misfit(5, 0, "contradiction: no rows came with a total of 5");
}

#[test]
fn a_wrong_echo_of_the_page_number_is_a_misfit() {
    let error =
        Source::of(250).walk(|source, _, number, size| Page { page_echo: Some(1), ..source.honest(number, size) }).unwrap_err();
    assert_eq!(error, "asked for page 2, the answer says it is page 1");
}

#[test]
fn a_page_seen_before_in_this_read_ends_the_walk() {
    let same = Source::of(250).walk(|source, _, _, size| source.honest(1, size));
    let cause = check(same, Verdict::Short, 100);
    assert_eq!(cause.unwrap().to_string(), "page 2 repeats the rows of page 1");

    let mut source = Source::of(1000);
    let cycle = source.walk(|source, _, number, size| source.honest((number - 1) % 2 + 1, size));
    assert_eq!(check(cycle, Verdict::Short, 200).unwrap().to_string(), "page 3 repeats the rows of page 1");
    assert_eq!(source.calls, 3);
}

#[test]
fn more_rows_than_promised_is_short() {
    let ending = Source::of(3).walk(|_, _, _, _| page(Some(3), 0..5));
    assert_eq!(check(ending, Verdict::Short, 0).unwrap().to_string(), "5 rows received, 3 promised");
}

#[test]
fn a_total_that_settles_in_a_new_read_is_complete() {
    let mut source = Source::of(250);
    let ending =
        source.walk(
            |source, read, number, size| {
                if read == 1 && number == 1 { source.honest(1, size) } else { Source::of(350).honest(number, size) }
            },
        );
    check(ending, Verdict::Complete, 350);
    assert_eq!(source.calls, 2 + 4);
}

#[test]
fn a_total_still_moving_after_two_new_reads_is_short() {
    let mut source = Source::of(250);
    let ending = source.walk(|source, _, number, size| match number {
        1 => source.honest(1, size),
        _ => Page { total: Some(130), ..source.honest(number, size) },
    });
    let cause = check(ending, Verdict::Short, 100);
    assert_eq!(cause, Some(Cause::TotalMoved { first: 250, last: 130 }));
    assert_eq!(source.calls, 6);
}

#[test]
fn identical_rows_inside_one_page_need_no_verification() {
    let mut source = Source::of(4);
    let ending = source.walk(|_, _, _, _| page(Some(4), [7, 7, 8, 9])).unwrap();
    assert_eq!((ending.verdict, ending.received, ending.distinct, source.calls), (Verdict::Complete, 4, 3, 1));
}

/// Rows `0..250` of which row 150 equals row 5: a true twin across pages.
fn twins(number: u32, size: u32) -> Page {
    let rows = (0..250).map(|row| if row == 150 { 5 } else { row });
    page(Some(250), rows.skip(((number - 1) * size) as usize).take(size as usize))
}

#[test]
fn true_twins_across_pages_are_complete_after_one_read_with_other_edges() {
    let mut source = Source::of(250);
    let ending = source.walk(|_, _, number, size| twins(number, size)).unwrap();
    assert_eq!((ending.verdict, ending.received, ending.distinct), (Verdict::Complete, 250, 249));
    assert_eq!(source.calls, 3 + 1, "the second reading is one page");
}

#[test]
fn true_twins_that_are_published_already_cost_no_further_read() {
    let published = (0..250).map(|row| if row == 150 { 5 } else { row }).collect();
    let mut source = Source { published: Some(published), ..Source::of(250) };
    let ending = source.walk(|_, _, number, size| twins(number, size));
    check(ending, Verdict::Complete, 250);
    assert_eq!(source.calls, 3);
}

#[test]
fn twins_behind_a_capped_page_are_verified_with_a_smaller_size() {
    let mut source = Source::of(250);
    let ending = source.walk(|_, _, number, size| twins(number, size.min(100)));
    check(ending, Verdict::Complete, 250);
    assert_eq!(source.calls, 3 + 3 + 4, "100, capped to 100 again, then 83 a page");
}

#[test]
fn rows_that_slid_by_one_are_short_though_the_count_is_right() {
    let slid = |source: &Source, _: u32, number: u32, size: u32| {
        let first = (number - 1) * size;
        let shift = u32::from(number > 1);
        page(Some(300), (first - shift..(first + size - shift)).take_while(|row| *row < source.rows))
    };
    let ending = Source::of(300).walk(slid);
    let cause = check(ending, Verdict::Short, 300);
    assert_eq!(cause, Some(Cause::RowsSlid { repeated: 1 }));
}

#[test]
fn a_source_of_one_page_size_only_cannot_be_verified_and_is_short() {
    let ending = Source::of(250).walk(|_, _, number, _| twins(number, 100));
    assert_eq!(check(ending, Verdict::Short, 250), Some(Cause::Unverifiable { repeated: 1 }));
}

#[test]
fn a_walk_without_a_total_ends_on_an_empty_page_and_is_unverified() {
    let mut source = Source::of(250);
    let ending = source.walk(|source, _, number, size| Page { total: None, ..source.honest(number, size) });
    assert_eq!(check(ending, Verdict::Unverified, 250), Some(Cause::NoTotal));
    assert_eq!(source.calls, 4, "a short page is no end unless the definition says so");
}

#[test]
fn a_sign_that_no_page_follows_ends_a_walk_without_a_total() {
    let ending = Source::of(250).walk(|source, _, number, size| {
        let honest = source.honest(number, size);
        Page { total: None, has_more: Some(number < 3), ..honest }
    });
    check(ending, Verdict::Unverified, 250);
}

#[test]
fn a_walk_of_more_pages_than_the_limit_is_not_begun() {
    let mut source = Source::of(100_000);
    let ending = source.walk(|source, _, number, size| source.honest(number, size));
    assert_eq!(check(ending, Verdict::Short, 0), Some(Cause::TooManyPages { promised: 100_000, limit: 50 }));
    assert_eq!(source.calls, 1);
}

#[test]
fn a_walk_without_a_total_ends_at_the_page_limit() {
    let mut source = Source::of(100_000);
    let ending = source.walk(|source, _, number, size| Page { total: None, ..source.honest(number, size) });
    assert!(matches!(check(ending, Verdict::Short, 5000), Some(Cause::TooManyPages { .. })));
}

#[test]
fn the_last_page_is_due_with_the_rows_that_remain() {
    let mut walk = Walk::new(RULES);
    let source = Source::of(250);
    for (number, due) in [(1, RowsDue::Any), (2, RowsDue::Exactly(100)), (3, RowsDue::Exactly(50))] {
        assert_eq!(walk.ask().due.rows, due);
        walk.take(&source.honest(number, 100));
    }
}

#[test]
fn a_source_that_keeps_asking_to_begin_again_is_short() {
    let mut walk = Walk::new(RULES);
    for read in 2..=3 {
        assert!(matches!(walk.restart("token expired".to_owned()), Step::NewRead { .. }));
        assert_eq!(walk.ask().read.0, read);
    }
    assert!(matches!(walk.restart("token expired".to_owned()), Step::End(Ending { verdict: Verdict::Short, .. })));
}

#[test]
fn pages_ahead_are_those_the_total_still_needs() {
    let mut walk = Walk::new(RULES);
    let source = Source::of(350);
    let ahead = |walk: &Walk, most: u32| walk.asks_ahead(most).iter().map(|ask| (ask.page.0, ask.due.rows)).collect::<Vec<_>>();
    assert_eq!(ahead(&walk, 4), [], "nothing is known before page 1");
    walk.take(&source.honest(1, 100));
    assert_eq!(walk.ask().page, PageNumber(2));
    assert_eq!(ahead(&walk, 4), [(3, RowsDue::Exactly(100)), (4, RowsDue::Exactly(50))]);
    assert_eq!(ahead(&walk, 1), [(3, RowsDue::Exactly(100))]);
    walk.take(&source.honest(2, 100));
    assert_eq!(ahead(&walk, 4), [(4, RowsDue::Exactly(50))]);
}

#[test]
fn a_source_with_uneven_pages_is_read_one_by_one() {
    let source = Source::of(250);
    let uneven = |number: u32| match number {
        1 => page(Some(250), 0..100),
        2 => page(Some(250), 100..190),
        _ => page(Some(250), 190..250),
    };
    let mut walk = Walk::new(RULES);
    walk.take(&uneven(1));
    let why = walk.ask().due.misfit(&uneven(2)).unwrap();
    assert_eq!(why.to_string(), "hole: page 2 has 90 rows where 100 are due");
    assert!(matches!(walk.read_unevenly(&why.to_string()), Some(Step::NewRead { .. })));
    let mut ended = None;
    for number in 1..=3 {
        assert_eq!(walk.ask().due.misfit(&uneven(number)), None, "page {number}");
        assert_eq!(walk.asks_ahead(4), []);
        ended = Some(walk.take(&uneven(number)));
    }
    assert!(matches!(ended, Some(Step::KeepAndEnd(Ending { verdict: Verdict::Complete, received: 250, .. }))));
    assert!(walk.read_unevenly("again").is_none(), "it is tried once");
    assert_eq!(source.rows, 250);
}

#[test]
fn an_empty_page_is_a_hole_in_an_uneven_read_too() {
    let mut walk = Walk::new(RULES);
    walk.take(&page(Some(250), 0..100));
    walk.read_unevenly("hole");
    walk.take(&page(Some(250), 0..100));
    assert_eq!(walk.ask().due.misfit(&page(Some(250), 0..0)).unwrap().to_string(), "hole: page 2 has no rows where 150 are due");
}

#[test]
fn a_read_is_taken_up_at_its_last_stored_page() {
    let source = Source::of(350);
    let stored: Vec<Page> = (1..=3).map(|number| source.honest(number, 100)).collect();
    let mut walk = Walk::new(RULES);
    let digest = walk.resume(ReadNumber(2), &stored).unwrap();
    assert_eq!(digest, stored[2].digest());
    let ask = walk.ask();
    assert_eq!((ask.read, ask.page), (ReadNumber(2), PageNumber(3)));
    walk.take(&stored[2]);
    let Step::KeepAndEnd(ending) = walk.take(&source.honest(4, 100)) else { panic!("350 rows are 4 pages") };
    assert_eq!((ending.verdict, ending.received), (Verdict::Complete, 350));
}

#[test]
fn stored_pages_that_do_not_fit_together_are_read_again_from_page_one() {
    let source = Source::of(350);
    let stored = [source.honest(1, 100), source.honest(3, 100), page(Some(351), 0..7), source.honest(4, 100)];
    let mut walk = Walk::new(RULES);
    assert!(walk.resume(ReadNumber(1), &stored).is_err());
    assert_eq!(walk.ask().page, PageNumber::FIRST);
    assert!(Walk::new(RULES).resume(ReadNumber(1), &[]).is_err());
}
