use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

use super::pacer::Pacer;

/// Wraps the client's connector: handshakes of a provider are made one at a time, and its pacer knows of them.
///
/// A cold connection sends its request two round trips after its slot; the next request, on a warm one, would then come
/// too close behind it.
#[derive(Clone)]
pub(super) struct OneAtATime {
    pacer: Arc<Pacer>,
    turns: Arc<Semaphore>,
    limit: Duration,
}

/// A connector whose handshakes are made one at a time.
#[derive(Clone)]
pub(super) struct Connector<S> {
    inner: S,
    rules: OneAtATime,
}

/// No connection in time: TCP and TLS together.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {} s", limit.as_secs_f64())]
pub(super) struct ConnectTimedOut {
    pub(super) limit: Duration,
}

/// Tells whether the attempt in whose task it lives made a connection of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Connected(Arc<AtomicBool>);

tokio::task_local! {
    static CONNECTED: Connected;
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl OneAtATime {
    /// `limit` is for one handshake; waiting for those of others is not counted.
    pub(super) fn new(pacer: Arc<Pacer>, limit: Duration) -> Self {
        Self { pacer, turns: Arc::new(Semaphore::new(1)), limit }
    }
}

impl Connected {
    /// Runs an attempt; a connection made for it is noted here.
    pub(super) async fn watch<T>(&self, attempt: impl Future<Output = T>) -> T {
        CONNECTED.scope(self.clone(), attempt).await
    }

    pub(super) fn is_new(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl<S> Layer<S> for OneAtATime {
    type Service = Connector<S>;

    fn layer(&self, inner: S) -> Connector<S> {
        Connector { inner, rules: self.clone() }
    }
}

impl<S, R> Service<R> for Connector<S>
where
    S: Service<R> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Response: Send,
    S::Future: Send + 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: R) -> Self::Future {
        // The instance that said it is ready is the one to call; a clone of it is not.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let rules = self.rules.clone();
        let connected = CONNECTED.try_with(Clone::clone).ok();
        Box::pin(async move {
            // The gate shuts before the wait for a turn, so that nobody passes between two handshakes.
            let handshake = rules.pacer.handshake();
            let _turn = rules.turns.acquire().await.expect("turns are never closed");
            let made = tokio::time::timeout(rules.limit, inner.call(target)).await;
            let connection = made.map_err(|_| ConnectTimedOut { limit: rules.limit })?.map_err(Into::into)?;
            handshake.connected().await;
            if let Some(connected) = connected {
                connected.0.store(true, Ordering::Release);
            }
            Ok(connection)
        })
    }
}
