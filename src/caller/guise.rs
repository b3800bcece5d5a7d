use super::announced::Announced;
use super::provider::Provider;
use super::retry::Connection;
use crate::model::attempt::Attempt;
use crate::model::outcome::{Trouble, TroubleKind};

/// A trouble as what it is: a failure may be a refusal for speed in disguise, and one for speed may be one for the day.
///
/// Source: nginx refuses with a bare 503 or closes the connection unanswered; both come in a fraction of a page's time.
pub(super) fn seen_through(
    provider: &Provider,
    announced: Announced,
    mut trouble: Trouble,
    mut record: Attempt,
    connection: Connection,
) -> (Trouble, Attempt, Connection) {
    let is_from_a_gate = match (record.http_status, connection) {
        (Some(status), _) => status == 503,
        // Closed without an answer.
        (None, Connection::Other) => record.sent,
        (None, Connection::Stale) => false,
    };
    let is_suspect = trouble.kind == TroubleKind::Retry && trouble.code.is_none() && is_from_a_gate;
    if is_suspect && provider.traffic.unmask(record.took, trouble.retry_after.is_some()) {
        trouble.kind = TroubleKind::SlowDown;
    }
    if trouble.kind == TroubleKind::SlowDown && announced.is_day_spent {
        trouble.kind = TroubleKind::Spent;
    }
    record.outcome = trouble.kind.outcome();
    (trouble, record, connection)
}
