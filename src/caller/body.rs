use std::panic::resume_unwind;
use std::sync::Arc;

use crate::decode::RawAnswer;
use crate::model::body::KeptBody;
use crate::model::outcome::{Judgement, Trouble};
use crate::model::page::Page;
use crate::model::secret::Redactor;

/// Says what an answer is. Runs on a thread of its own for large bodies, so it may take its time.
pub type Judge = Arc<dyn Fn(RawAnswer) -> Judgement + Send + Sync>;

/// An answer, judged.
pub(super) enum Judged {
    Answer { answer: Answer, body: KeptBody },
    Trouble(Trouble),
}

/// A page, or a proof that there are no rows.
#[derive(Clone, Debug)]
pub enum Answer {
    Page(Page),
    /// Its page has no records.
    Empty(Page),
}

/// Smaller bodies are judged where they are read: moving them costs more.
const LARGE: usize = 32 * 1024;

/// Takes the key out, judges, and keeps the body of a good answer.
pub(super) async fn judge(raw: RawAnswer, redactor: Redactor, judge: Judge) -> Judged {
    if raw.body.len() <= LARGE {
        return judge_here(raw, &redactor, &judge);
    }
    match tokio::task::spawn_blocking(move || judge_here(raw, &redactor, &judge)).await {
        Ok(judged) => judged,
        // A task that ran is cancelled only with its runtime, and this one with it.
        Err(error) => resume_unwind(error.into_panic()),
    }
}

fn judge_here(mut raw: RawAnswer, redactor: &Redactor, judge: &Judge) -> Judged {
    if let Some(redacted) = redactor.redact(&raw.body) {
        raw.body = redacted.into();
    }
    let body = raw.body.clone();
    let answer = match judge(raw) {
        Judgement::Page(page) => Answer::Page(page),
        Judgement::Empty(page) => Answer::Empty(page),
        Judgement::Trouble(trouble) => return Judged::Trouble(trouble),
    };
    Judged::Answer { answer, body: KeptBody::of(&body) }
}
