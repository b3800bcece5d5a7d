//! What a measurement learns about a source on its way, at no extra call. What was not seen is not guessed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::caller::Judge;
use crate::decode::RawAnswer;
use crate::model::outcome::Judgement;
use crate::model::page::Page;
use crate::model::partition::Partition;
use crate::model::record::RowHash;

/// Facts about a source, as `--format json` prints them. Names may be added, not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// Whether a page holds as many rows as are asked for.
    pub page_size: Fact,
    /// What stands before the page that is taken for the first.
    pub before_first: Fact,
    /// What comes for a page far behind the last.
    pub past_end: Fact,
    /// Whether one page twice is the same page.
    pub same_page: Fact,
    /// Whether answers are in the format that their content type says.
    pub format: Fact,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// One word to branch on; `not_seen` where nothing showed it.
    pub verdict: &'static str,
    pub told: String,
}

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    FirstPage,
    BeforeFirst,
    PastEnd,
}

/// Looks at answers before anybody else does.
#[derive(Debug)]
pub struct Learner {
    size: u32,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    firsts: HashMap<Partition, Vec<RowHash>>,
    /// Pages that came once more: as before, in another order, with other rows.
    again: [usize; 3],
    /// Rows of a page that held fewer than asked for while there were more.
    cap: Option<u64>,
    holds_all: bool,
    before_first: Option<(Partition, Came)>,
    past_end: Option<(Partition, Came)>,
    /// Content type as sent, and format as found, with how often.
    formats: BTreeMap<(String, &'static str), usize>,
}

#[derive(Clone, Debug)]
enum Came {
    Rows(Vec<RowHash>),
    NoRows { total: Option<u64> },
    Nothing { code: Option<String> },
    Trouble(String),
}

/// Calls of the base that ask for a page of the partition that the first call asked for.
pub const QUESTIONS: [(i64, Question); 3] = [(6, Question::FirstPage), (7, Question::BeforeFirst), (8, Question::PastEnd)];
/// A page that no partition has.
pub const FAR_PAGE: u32 = 9_999;

impl Learner {
    /// `size` rows are asked for on each page.
    pub fn new(size: u32) -> Arc<Self> {
        Arc::new(Self { size, notes: Mutex::default() })
    }

    /// The judge of a call, who is listened to.
    pub fn listening(self: &Arc<Self>, question: Question, partition: Partition, judge: Judge) -> Judge {
        let learner = Arc::clone(self);
        Arc::new(move |raw: RawAnswer| {
            let found = (essence(raw.content_type.as_deref()), format_of(&raw.body));
            let judgement = judge(raw);
            learner.note(question, &partition, found, &judgement);
            judgement
        })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, question: Question, partition: &Partition, found: (String, &'static str), judgement: &Judgement) {
        let mut notes = self.notes();
        let is_of_source = match judgement {
            Judgement::Page(_) | Judgement::Empty(_) => true,
            Judgement::Trouble(trouble) => trouble.code.is_some(),
        };
        if is_of_source {
            *notes.formats.entry(found).or_default() += 1;
        }
        match (question, judgement) {
            (Question::FirstPage, Judgement::Page(page)) => notes.first_page(self.size, partition, page),
            (Question::FirstPage, Judgement::Empty(_) | Judgement::Trouble(_)) => {}
            (Question::BeforeFirst, _) => notes.before_first = Some((partition.clone(), Came::of(judgement))),
            (Question::PastEnd, _) => notes.past_end = Some((partition.clone(), Came::of(judgement))),
        }
    }

    pub fn learned(&self) -> Learned {
        let notes = self.notes();
        Learned {
            page_size: notes.page_size(self.size),
            before_first: notes.odd_page(notes.before_first.as_ref(), "the page before the first"),
            past_end: notes.odd_page(notes.past_end.as_ref(), "a page far behind the last"),
            same_page: notes.same_page(),
            format: notes.format(),
        }
    }
}

impl Notes {
    fn first_page(&mut self, size: u32, partition: &Partition, page: &Page) {
        let rows = page.records.len() as u64;
        if rows < u64::from(size) && page.total.is_some_and(|total| total > rows) {
            self.cap = self.cap.max(Some(rows));
        }
        self.holds_all |= rows == u64::from(size);
        let hashes = page.row_hashes.to_vec();
        match self.firsts.get(partition) {
            None => drop(self.firsts.insert(partition.clone(), hashes)),
            Some(before) if *before == hashes => self.again[0] += 1,
            Some(before) if sorted(before) == sorted(&hashes) => self.again[1] += 1,
            Some(_) => self.again[2] += 1,
        }
    }

    fn page_size(&self, size: u32) -> Fact {
        match (self.cap, self.holds_all) {
            (Some(cap), _) => fact("capped", format!("{cap} rows came where {size} were asked for and there were more")),
            (None, true) => fact("as_asked", format!("{size} rows came where {size} were asked for")),
            (None, false) => not_seen(format!("no partition had the {size} rows that were asked for")),
        }
    }

    fn odd_page(&self, came: Option<&(Partition, Came)>, what: &str) -> Fact {
        let Some((partition, came)) = came else { return not_seen(format!("{what} was not asked for")) };
        let first = self.firsts.get(partition);
        match (came, first) {
            (Came::Rows(rows), Some(first)) if rows == first => fact("first_page", format!("{what} is the first one again")),
            (Came::Rows(rows), Some(_)) => fact("other_rows", format!("{what} holds {} other rows", rows.len())),
            (Came::Rows(_), None) => not_seen(format!("{what} holds rows, and the first was not seen")),
            (Came::NoRows { total: Some(total) }, _) => {
                fact("no_rows", format!("{what} has no rows and tells the total, {total}"))
            }
            (Came::NoRows { total: None }, _) => fact("no_rows", format!("{what} has no rows")),
            (Came::Nothing { code: Some(code) }, _) => fact("no_data", format!("{what} is said to have no data (code {code})")),
            (Came::Nothing { code: None }, _) => fact("no_data", format!("{what} is said to have no data")),
            (Came::Trouble(why), _) => fact("error", format!("{what} is an error: {why}")),
        }
    }

    fn same_page(&self) -> Fact {
        match self.again {
            [0, 0, 0] => not_seen("no page came twice".to_owned()),
            [same, 0, 0] => fact("same", format!("the same rows in the same order (repeats: {same})")),
            [same, order, 0] => fact("other_order", format!("the same rows in another order {order} times of {}", same + order)),
            [same, order, rows] => fact("other_rows", format!("other rows {rows} times of {}", same + order + rows)),
        }
    }

    fn format(&self) -> Fact {
        let shown: Vec<String> =
            self.formats.iter().map(|((said, found), count)| format!("{found} as `{said}` {count} times")).collect();
        let is_honest = |((said, found), _): (&(String, &str), &usize)| said.contains(&found.to_ascii_lowercase());
        match shown.as_slice() {
            [] => not_seen("no answer of the source itself came".to_owned()),
            _ if self.formats.iter().all(is_honest) => fact("as_said", shown.join(", ")),
            _ => fact("mislabelled", shown.join(", ")),
        }
    }
}

impl Came {
    fn of(judgement: &Judgement) -> Self {
        match judgement {
            Judgement::Page(page) if page.records.is_empty() => Self::NoRows { total: page.total },
            Judgement::Page(page) => Self::Rows(page.row_hashes.to_vec()),
            Judgement::Empty(page) => Self::Nothing { code: page.code.clone() },
            Judgement::Trouble(trouble) => Self::Trouble(trouble.why.clone()),
        }
    }
}

fn fact(verdict: &'static str, told: String) -> Fact {
    Fact { verdict, told }
}

fn not_seen(told: String) -> Fact {
    fact("not_seen", told)
}

fn sorted(hashes: &[RowHash]) -> Vec<RowHash> {
    let mut sorted = hashes.to_vec();
    sorted.sort_unstable();
    sorted
}

/// A content type without its parameters.
fn essence(content_type: Option<&str>) -> String {
    let essence = content_type.and_then(|said| said.split(';').next()).unwrap_or("nothing");
    essence.trim().to_ascii_lowercase()
}

/// By the first byte that is not blank, as the decoder has it.
fn format_of(body: &[u8]) -> &'static str {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    match body.first() {
        Some(b'<') => "XML",
        Some(b'{' | b'[') => "JSON",
        Some(_) => "text",
        None => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_is_not_what_it_says_is_told() {
        let check = |said: Option<&str>, body: &[u8], verdict: &str| {
            let mut notes = Notes::default();
            notes.formats.insert((essence(said), format_of(body)), 3);
            assert_eq!(notes.format().verdict, verdict, "{said:?}");
        };
        check(Some("application/xml;charset=UTF-8"), b"\xEF\xBB\xBF \n<response/>", "as_said");
        check(Some("text/xml"), b"<response/>", "as_said");
        check(Some("application/json"), b"{}", "as_said");
        check(Some("application/json"), b"<response/>", "mislabelled");
        check(Some("text/html"), b"[1]", "mislabelled");
        check(None, b"<response/>", "mislabelled");
        assert_eq!(Notes::default().format().verdict, "not_seen");
    }
}
