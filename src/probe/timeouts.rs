use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::caller::{CallerSettings, Failure, Fetched};

use super::limits::{Finding, Measurement, seconds, shortened};
use super::stand::{Stand, StandError, without_limits};

/// What a timeout is shortened to.
const MOST: Duration = Duration::from_millis(800);
/// Between two bytes of a body that never ends.
const TRICKLE: Duration = Duration::from_millis(100);
const REGION: &str = "11110";

/// A host that takes the connection and never says a word of TLS is left after the connect timeout.
pub(super) async fn measure_connect(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let (limit, scale) = shortened(stated.http.connect_timeout, MOST);
    let mut settings = without_limits(acting);
    settings.http.connect_timeout = acting.http.connect_timeout.mul_f64(scale);
    // The system accepts for it, so that the handshake begins.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(StandError::Socket)?;
    let address = silent.local_addr().map_err(StandError::Socket)?;
    let stand = Stand::new(&settings, "rows = 3").await?;
    let ask = stand.ask_at(format!("https://{address}"), REGION);
    Ok(fires("a handshake never answered", stated.http.connect_timeout, limit, ask).await)
}

/// A silent server is left after the read timeout.
pub(super) async fn measure_read(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let (limit, scale) = shortened(stated.http.read_timeout, MOST);
    let mut settings = without_limits(acting);
    settings.http.read_timeout = acting.http.read_timeout.mul_f64(scale);
    let stand = Stand::new(&settings, "[[fault]]\nwire = { kind = 'hang' }\n").await?;
    Ok(fires("a request never answered", stated.http.read_timeout, limit, stand.ask(REGION)).await)
}

/// A server that sends a byte now and then beats the read timeout, and is left after the total timeout.
pub(super) async fn measure_total(stated: &CallerSettings, acting: &CallerSettings) -> Result<Measurement, StandError> {
    let (limit, scale) = shortened(stated.http.total_timeout, MOST);
    let mut settings = without_limits(acting);
    settings.http.total_timeout = acting.http.total_timeout.mul_f64(scale);
    let wire = format!("wire = {{ kind = 'trickle', bytes = 1, every_ms = {} }}", TRICKLE.as_millis());
    let stand = Stand::new(&settings, &format!("rows = 200\n[[fault]]\n{wire}\n")).await?;
    Ok(fires("a body that comes byte by byte", stated.http.total_timeout, limit, stand.ask(REGION)).await)
}

/// Whether the call ends when its timeout is over. The other timeouts are out of the way: nothing else can end it.
async fn fires(
    what: &str,
    stated: Duration,
    limit: Duration,
    ask: impl Future<Output = Result<Fetched, Failure>>,
) -> Measurement {
    let slack = limit / 2 + Duration::from_millis(200);
    let began = Instant::now();
    let ended = tokio::time::timeout(limit + slack, ask).await;
    let took = began.elapsed();
    let cut = if limit < stated { format!(" (set: {})", seconds(stated)) } else { String::new() };
    let (measured, finding) = match ended {
        Err(_) => (format!("still waiting after {}", seconds(took)), Finding::Late),
        Ok(Ok(_)) => (format!("an answer after {}", seconds(took)), Finding::Late),
        Ok(Err(_)) if took < limit => (format!("left already after {}", seconds(took)), Finding::Fails),
        Ok(Err(_)) => (format!("left after {}", seconds(took)), Finding::Acts),
    };
    Measurement { expected: format!("{what} is left after {}{cut}", seconds(limit)), measured, finding }
}
