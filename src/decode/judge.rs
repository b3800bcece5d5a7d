use crate::definition::dialect::Dialect;
use crate::definition::path::{PathError, RecordsPlace};
use crate::definition::rule::Ruling;
use crate::definition::spelling::Phrase;
use crate::model::outcome::{Judgement, Scope, Trouble, TroubleKind};
use crate::model::page::Page;
use crate::model::record::Records;

use super::answer::{RawAnswer, Reading};
use super::body::{Body, Document};
use super::envelope::{Recognised, Said, recognise};
use super::excerpt::{causes, excerpt, excerpt_of_bytes};
use super::place::{Ambiguous, find};
use super::records::{RecordsError, records};
use super::row_hash::hash_rows;
use super::total::{TotalError, total};

/// Longest body, in characters, that known texts and fragments are looked for in.
const TEXT: usize = 10_000;

/// What an answer is: the envelope of its body decides, then a known plain text, then the HTTP status.
///
/// Only a recognised success envelope is a page. A page without rows is a proof of zero when the source says that the total
/// is 0, or has a code for it; with a total it is a page of no records, for the walk to judge. Whatever nothing names is
/// garbled; only a body that ends too early heals by itself.
pub fn judge(answer: &RawAnswer, dialect: &Dialect, reading: &Reading<'_>) -> Judgement {
    match judge_body(answer, dialect, reading) {
        Ok(judgement) => judgement,
        Err(trouble) => Judgement::Trouble(Trouble { retry_after: answer.retry_after, ..trouble }),
    }
}

/// Why a success is none after all.
#[derive(Debug, thiserror::Error)]
enum PageError {
    #[error(transparent)]
    Ambiguous(#[from] Ambiguous),
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Total(#[from] TotalError),
    #[error("the dataset's place of records is none")]
    Place(#[from] PathError),
    #[error("a success code in an envelope for errors")]
    ErrorEnvelope,
    #[error("a code for no data with {rows} rows and a total of {total}")]
    NoDataWithRows { rows: usize, total: u64 },
    #[error("a success without total and without rows")]
    ProvesNothing,
}

fn judge_body(answer: &RawAnswer, dialect: &Dialect, reading: &Reading<'_>) -> Result<Judgement, Trouble> {
    let by_status = || by_status(answer, dialect);
    match Body::read(answer) {
        Ok(Body::Document(document)) => match recognise(document.tree.root(), dialect) {
            Ok(Some(recognised)) => judge_document(answer, dialect, reading, &document, &recognised),
            Ok(None) => Err(by_status().unwrap_or_else(|| garbled(answer, "a document in no known envelope"))),
            Err(error) => Err(by_status().unwrap_or_else(|| garbled(answer, &causes(&error)))),
        },
        Ok(Body::Text(text)) => {
            let known = dialect.trouble_for_text(&phrase(&text)).map(|ruling| said_in_text(answer, ruling));
            Err(known.or_else(by_status).unwrap_or_else(|| garbled(answer, "a text nobody knows")))
        }
        Ok(Body::Page(text)) => {
            let known = dialect.trouble_for_page(&phrase(&text)).map(|ruling| said_in_text(answer, ruling));
            Err(known.or_else(by_status).unwrap_or_else(|| garbled(answer, "a page for people")))
        }
        Ok(Body::Blank) => Err(by_status().unwrap_or_else(|| ruled(dialect.empty_body(), status_line(answer, "an empty body")))),
        Err(error) => Err(by_status().unwrap_or_else(|| match error.is_cut() {
            true => Trouble::plain(TroubleKind::Retry, Scope::Attempt, told(answer, &causes(&error))),
            false => garbled(answer, &causes(&error)),
        })),
    }
}

fn judge_document(
    answer: &RawAnswer,
    dialect: &Dialect,
    reading: &Reading<'_>,
    document: &Document,
    recognised: &Recognised<'_>,
) -> Result<Judgement, Trouble> {
    let code = recognised.code.map(str::to_owned);
    let said = recognised.said(dialect);
    let judged = match said {
        Said::Success => success(document, recognised, reading),
        Said::NoData => no_data(document, recognised, reading),
        Said::Trouble(ruling, name) => return Err(Trouble { code, ..ruled(ruling, excerpt(&recognised.line(name))) }),
        Said::Nothing => return Err(garbled(answer, "an envelope without a code")),
    };
    judged.map_err(|error| Trouble { code, ..garbled(answer, &causes(&error)) })
}

fn success(document: &Document, recognised: &Recognised<'_>, reading: &Reading<'_>) -> Result<Judgement, PageError> {
    if recognised.envelope.rows.is_none() {
        return Err(PageError::ErrorEnvelope);
    }
    let page = page(document, recognised, reading)?;
    match (page.records.is_empty(), page.total) {
        (true, None) => Err(PageError::ProvesNothing),
        (true, Some(0)) => Ok(Judgement::Empty(page)),
        // Rows against a total of 0, or none against more, are for the walk to judge: it knows the other pages.
        (true, Some(_)) | (false, _) => Ok(Judgement::Page(page)),
    }
}

fn no_data(document: &Document, recognised: &Recognised<'_>, reading: &Reading<'_>) -> Result<Judgement, PageError> {
    let page = page(document, recognised, reading)?;
    let (rows, total) = (page.records.len(), page.total.unwrap_or(0));
    if rows > 0 || total > 0 {
        return Err(PageError::NoDataWithRows { rows, total });
    }
    Ok(Judgement::Empty(page))
}

fn page(document: &Document, recognised: &Recognised<'_>, reading: &Reading<'_>) -> Result<Page, PageError> {
    let root = document.tree.root();
    let rows = recognised.envelope.rows.as_ref();
    let of_dataset: Vec<RecordsPlace> = reading.records.iter().map(|place| place.parse()).collect::<Result<_, _>>()?;
    let places = if of_dataset.is_empty() { rows.map_or(&[][..], |rows| &rows.records) } else { &of_dataset };
    let count_at = |path: Option<&_>| -> Result<Option<u64>, PageError> {
        let node = path.map(|path| find(root, path)).transpose()?.flatten();
        Ok(node.map(total).transpose()?.flatten())
    };
    let total = count_at(rows.and_then(|rows| rows.total.as_ref()))?;
    // A page number that makes no sense is as good as none.
    let page_echo = count_at(rows.and_then(|rows| rows.page.as_ref())).ok().flatten();
    let records = Records::new(document.tree.clone(), records(root, places, document.format)?);
    let row_hashes = hash_rows(&records, reading.volatile);
    Ok(Page { records, row_hashes, total, page_echo, code: recognised.code.map(str::to_owned), has_more: None })
}

fn by_status(answer: &RawAnswer, dialect: &Dialect) -> Option<Trouble> {
    dialect.trouble_for_status(answer.status).map(|ruling| said_in_text(answer, ruling))
}

fn said_in_text(answer: &RawAnswer, ruling: &Ruling) -> Trouble {
    ruled(ruling, told(answer, ""))
}

fn ruled(ruling: &Ruling, why: String) -> Trouble {
    Trouble { hint: Some(ruling.hint.clone()), ..Trouble::plain(ruling.outcome, ruling.scope, why) }
}

fn garbled(answer: &RawAnswer, what: &str) -> Trouble {
    Trouble::plain(TroubleKind::Garbled, Scope::Job, told(answer, what))
}

/// What came, and the beginning of the server's own words.
fn told(answer: &RawAnswer, what: &str) -> String {
    let words = excerpt_of_bytes(&answer.body);
    let line = status_line(answer, what);
    if words.is_empty() { line } else { format!("{line}: `{words}`") }
}

fn status_line(answer: &RawAnswer, what: &str) -> String {
    let status = answer.status;
    if what.is_empty() { format!("HTTP status {status}") } else { format!("HTTP status {status} with {what}") }
}

fn phrase(text: &str) -> Phrase {
    let end = text.char_indices().nth(TEXT).map_or(text.len(), |(end, _)| end);
    Phrase::new(&text[..end])
}
