use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::connection::{House, serve};
use super::journal::{Journal, RequestLine};
use super::scenario::Scenario;
use super::service::Service;
use super::sheet::TrueRow;
use super::stage::Stage;
use crate::model::month::Month;

/// A practice portal at work. It stops, with every connection, when it is dropped.
pub struct Portal {
    address: SocketAddr,
    house: Arc<House>,
    _listening: AbortOnDropHandle<()>,
}

/// Why a portal does not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct PortalError {
    address: SocketAddr,
    #[source]
    source: io::Error,
}

impl Portal {
    /// Starts a portal; port 0 takes any free one.
    ///
    /// Errors: the address cannot be listened on.
    pub async fn start(scenario: Scenario, address: SocketAddr) -> Result<Self, PortalError> {
        Self::start_telling(scenario, address, |_| {}).await
    }

    /// Starts a portal that tells of every request when it is done with it.
    pub async fn start_telling(
        scenario: Scenario,
        address: SocketAddr,
        tell: impl Fn(&RequestLine) + Send + Sync + 'static,
    ) -> Result<Self, PortalError> {
        let failed = |source| PortalError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let journal = Arc::new(Journal::new(Instant::now(), Box::new(tell)));
        let house = Arc::new(House { stage: Stage::new(scenario), journal });
        let listening = AbortOnDropHandle::new(tokio::spawn(listen(listener, Arc::clone(&house))));
        Ok(Self { address, house, _listening: listening })
    }

    /// `http://127.0.0.1:PORT`; the operations are at [`Service::path`] below it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<RequestLine> {
        self.house.journal.lines()
    }

    /// The rows of a partition if nothing went wrong, in the portal's order.
    pub fn truth(&self, service: Service, region: &str, month: Month) -> Vec<TrueRow> {
        self.house.stage.scenario().truth(service, region, month)
    }
}

async fn listen(listener: TcpListener, house: Arc<House>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    for number in 1.. {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, number, Arc::clone(&house)));
            }
            // The client gave up while it waited in line, or descriptors are short for a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}
