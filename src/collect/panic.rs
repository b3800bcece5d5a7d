use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// The program broke; what it says of that is on stderr already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panicked;

/// Does a piece of work whose bugs must not end the work beside it.
///
/// What it had in its hands is dropped with it, so nothing it half did is seen by anyone.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}
