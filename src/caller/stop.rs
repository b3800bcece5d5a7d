use tokio_util::sync::CancellationToken;

/// How a run is brought to an end: in two steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop {
    no_new: CancellationToken,
    now: CancellationToken,
}

/// The run is stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

impl Stop {
    pub(super) fn no_new_attempts(&self) {
        self.no_new.cancel();
    }

    pub(super) fn at_once(&self) {
        self.no_new.cancel();
        self.now.cancel();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.no_new.is_cancelled()
    }

    /// Waits for the first step.
    pub(super) async fn requested(&self) {
        self.no_new.cancelled().await;
    }

    /// A rest between attempts: it ends with the first step.
    pub(super) async fn before<T>(&self, wait: impl Future<Output = T>) -> Result<T, Stopped> {
        self.no_new.run_until_cancelled(wait).await.ok_or(Stopped)
    }

    /// An attempt: it ends with the second step.
    pub(super) async fn during<T>(&self, attempt: impl Future<Output = T>) -> Result<T, Stopped> {
        self.now.run_until_cancelled(attempt).await.ok_or(Stopped)
    }
}
