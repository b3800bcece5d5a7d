use std::sync::Arc;
use std::time::Duration;

use super::learn::Learner;
use super::range::{Ears, MakeCall, Range};
use super::step::Step;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::model::name::Name;

/// Who is asked, and how.
pub struct Target {
    /// Steered, with [`super::single_tries`], and with these ears among its listeners.
    pub caller: Caller,
    pub provider: Name,
    pub make: Box<MakeCall>,
    pub ears: Arc<Ears>,
    /// What listens to the judges of the calls.
    pub learner: Arc<Learner>,
    /// Cancelled when nothing more is to be asked.
    pub stop: CancellationToken,
}

/// How far a measurement may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub max_calls: usize,
    /// Calls a second that are never exceeded.
    pub ceiling: f64,
    pub max_concurrency: u32,
    /// How long canaries wait for the source to answer again.
    pub max_wait: Duration,
    /// Tries between the last rate that held and the one that did not.
    pub refine: u32,
}

/// A row of the plain table: calls in flight and calls a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub concurrency: u32,
    pub rate: f64,
}

/// What is told while it happens.
pub type Tell<'t> = dyn FnMut(Told<'_>) + Send + 't;

/// Something that happened.
pub enum Told<'a> {
    Step(&'a Step),
    Note(String),
}

impl Target {
    pub(super) fn range(self) -> Range {
        Range::new(self)
    }
}
