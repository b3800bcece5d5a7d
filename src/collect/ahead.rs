use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::caller::{Call, Caller, Failure, Fetched};
use crate::model::attempt::Attempt;
use crate::reconcile::step::Ask;

/// The pages of one walk that are asked for side by side, in order.
///
/// They are handed out in the order of their numbers, whenever they arrive; what comes too early waits here. How many may
/// wait is bounded over all walks, so that a slow disk does not fill the memory.
pub(super) struct Ahead {
    caller: Caller,
    slots: Arc<Semaphore>,
    calls: VecDeque<Asked>,
    /// Cancelled when the walk does not want the pages any more.
    over: CancellationToken,
}

struct Asked {
    ask: Ask,
    answer: JoinHandle<Result<Fetched, Failure>>,
    slot: Option<OwnedSemaphorePermit>,
    /// Cancelled when this page cannot be had, or an earlier one: the walk will never come to the pages after it.
    failed: CancellationToken,
}

impl Ahead {
    pub(super) fn new(caller: Caller, slots: Arc<Semaphore>) -> Self {
        Self { caller, slots, calls: VecDeque::new(), over: CancellationToken::new() }
    }

    /// The answer to `ask`, which is asked for now unless it was before; meanwhile `further` are asked for as far as there
    /// is room.
    pub(super) async fn fetch(&mut self, ask: Ask, further: &[Ask], call: impl Fn(&Ask) -> Call) -> Result<Fetched, Failure> {
        if self.calls.front().is_none_or(|first| first.ask != ask) {
            debug_assert!(self.calls.is_empty(), "what a walk does not want any more is abandoned first");
            self.begin(ask, None, &call);
        }
        for ask in further.iter().skip(self.calls.len() - 1) {
            if self.calls.back().is_some_and(|last| last.failed.is_cancelled()) {
                break;
            }
            let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { break };
            self.begin(*ask, Some(slot), &call);
        }
        let first = self.calls.pop_front().expect("it was begun above");
        let answer = first.answer.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        drop(first.slot);
        answer
    }

    /// The walk goes another way: no further attempt is begun, requests in flight may land, and all attempts are returned.
    pub(super) async fn abandon(&mut self) -> Vec<Attempt> {
        std::mem::take(&mut self.over).cancel();
        let mut attempts = Vec::new();
        for asked in self.calls.drain(..) {
            let answer = asked.answer.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            attempts.extend(match answer {
                Ok(fetched) => fetched.attempts,
                Err(failure) => failure.attempts,
            });
        }
        attempts
    }

    fn begin(&mut self, ask: Ask, slot: Option<OwnedSemaphorePermit>, call: impl Fn(&Ask) -> Call) {
        let wanted = self.calls.back().map_or(&self.over, |before| &before.failed).clone();
        let failed = wanted.child_token();
        let call = Call { abandoned: Some(wanted), failed: Some(failed.clone()), ..call(&ask) };
        let caller = self.caller.clone();
        let answer = tokio::spawn(async move { caller.fetch(call).await });
        self.calls.push_back(Asked { ask, answer, slot, failed });
    }
}
