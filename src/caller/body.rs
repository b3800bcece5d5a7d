use std::panic::resume_unwind;
use std::sync::Arc;

use bytes::Bytes;

use super::answer::RawAnswer;
use crate::model::outcome::{Judgement, Trouble, TroubleKind};
use crate::model::page::Page;
use crate::model::secret::Redactor;

/// Says what an answer is. Runs on a thread of its own for large bodies, so it may take its time.
pub type Judge = Arc<dyn Fn(RawAnswer) -> Judgement + Send + Sync>;

/// A body as received, without the key: what `gapless replay` reads again.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptBody {
    /// Compressed with zstd.
    pub zstd: Bytes,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// BLAKE3 of the uncompressed body.
    pub hash: [u8; 32],
}

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

/// Fast, and within a tenth of the best ratio on XML and JSON.
const ZSTD_LEVEL: i32 = 3;

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
    match KeptBody::new(&body) {
        Ok(body) => Judged::Answer { answer, body },
        Err(error) => Judged::Trouble(Trouble::plain(
            TroubleKind::Retry,
            crate::model::outcome::Scope::Attempt,
            format!("the body could not be compressed: {error}"),
        )),
    }
}

impl KeptBody {
    fn new(body: &[u8]) -> std::io::Result<Self> {
        let zstd = zstd::bulk::compress(body, ZSTD_LEVEL)?.into();
        Ok(Self { zstd, raw_bytes: body.len() as u64, hash: *blake3::hash(body).as_bytes() })
    }
}

impl std::fmt::Debug for KeptBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptBody({} bytes, {} kept)", self.raw_bytes, self.zstd.len())
    }
}
