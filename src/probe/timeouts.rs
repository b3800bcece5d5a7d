use std::time::{Duration, Instant};

use crate::caller::CallerSettings;

use super::limits::{Proof, seconds};
use super::stand::{Stand, StandError};

/// What the read timeout is shortened to; the others in proportion.
const READ: Duration = Duration::from_millis(400);

/// A silent server is left after the read timeout, a trickling one after the total timeout. Both shortened, and said.
pub(super) async fn prove(stated: &CallerSettings, acting: &CallerSettings) -> Result<Vec<Proof>, StandError> {
    let scale = READ.as_secs_f64() / stated.http.read_timeout.as_secs_f64();
    let mut settings = acting.clone();
    for timeout in [&mut settings.http.connect_timeout, &mut settings.http.read_timeout, &mut settings.http.total_timeout] {
        *timeout = timeout.mul_f64(scale);
    }
    settings.retry.max_retries = 0;
    settings.retry.error_pause = Duration::ZERO;
    let total = stated.http.total_timeout.mul_f64(scale);
    let trickle = READ.as_millis() / 4;
    let scenario = format!(
        "rows = 200\n\
         [[fault]]\nregion = '11110'\nwire = {{ kind = 'hang' }}\n\
         [[fault]]\nregion = '11140'\nwire = {{ kind = 'trickle', bytes = 1, every_ms = {trickle} }}\n"
    );
    let stand = Stand::new(&settings, &scenario).await?;
    let read = fires(&stand, "11110", "read timeout", stated.http.read_timeout, READ).await;
    let total = fires(&stand, "11140", "total timeout", stated.http.total_timeout, total).await;
    Ok(vec![read, total])
}

async fn fires(stand: &Stand, region: &str, name: &'static str, stated: Duration, shortened: Duration) -> Proof {
    let expected = format!("{} shortened to {}", seconds(stated), seconds(shortened));
    let began = Instant::now();
    let patience = 2 * shortened + Duration::from_secs(1);
    match tokio::time::timeout(patience, stand.ask(region)).await {
        Err(_) => Proof::new(name, expected, format!("nothing after {}", seconds(patience)), false),
        Ok(Ok(_)) => Proof::new(name, expected, "an answer came", false),
        Ok(Err(failure)) => {
            let took = began.elapsed();
            let is_named = failure.to_string().contains(name);
            let measured = format!("{} after {}", if is_named { name } else { "another end" }, seconds(took));
            Proof::new(name, expected, measured, is_named && took >= shortened)
        }
    }
}
