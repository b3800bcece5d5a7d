use super::announced::Announced;
use super::provider::Provider;
use super::retry::Connection;
use crate::model::attempt::Attempt;
use crate::model::outcome::{Scope, Trouble, TroubleKind};

/// A trouble as what it is: a failure may be a refusal for speed in disguise, and one for speed may be one for the day.
///
/// A 403 without a code is a gate in front of the source. It shuts for keys that are not let in, and for whoever asks too
/// fast: a key that this API let in before, or that comes while nobody is answered, is not refused but banned for a while.
///
/// Source: HAProxy, Varnish and mod_evasive ban with a bare 403; nginx refuses with a bare 503 or closes the connection
/// unanswered, mod_qos with a bare 500; firewalls send a page for people. All come in a fraction of a page's time.
pub(super) fn seen_through(
    provider: &Provider,
    announced: Announced,
    mut trouble: Trouble,
    mut record: Attempt,
    connection: Connection,
) -> (Trouble, Attempt, Connection) {
    let may_be_of_a_gate = match connection {
        // Answered, or closed instead.
        Connection::Other => record.sent,
        Connection::Stale => false,
    };
    let is_bare = matches!(trouble.kind, TroubleKind::Retry | TroubleKind::Garbled) && trouble.code.is_none();
    if may_be_of_a_gate && is_bare && provider.traffic.unmask(record.took, trouble.retry_after.is_some()) {
        trouble.kind = TroubleKind::SlowDown;
    }
    if is_gate(&trouble, record.http_status) && (provider.apis.has_answered(&record.label.dataset) || provider.traffic.is_dark())
    {
        (trouble.kind, trouble.scope, trouble.hint) = (TroubleKind::SlowDown, Scope::Attempt, Some(BANNED.to_owned()));
        record.scope = trouble.scope;
    }
    if trouble.kind == TroubleKind::SlowDown && announced.is_day_spent {
        trouble.kind = TroubleKind::Spent;
    }
    record.outcome = trouble.kind.outcome();
    (trouble, record, connection)
}

fn is_gate(trouble: &Trouble, http_status: Option<u16>) -> bool {
    trouble.kind == TroubleKind::Refused && trouble.code.is_none() && http_status == Some(403)
}

const BANNED: &str = "The source let this key in before, so this looks like a ban for asking too fast: lower `rps` or `concurrency`, \
    or ask `gapless probe throughput` what it bears. Nothing is lost, the same page is asked for again.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_with_a_code_of_its_own_is_no_gate() {
        let check = |kind, code: Option<&str>, status, gate| {
            let trouble = Trouble { code: code.map(str::to_owned), ..Trouble::plain(kind, Scope::Api, "why") };
            assert_eq!(is_gate(&trouble, status), gate, "{kind:?} {code:?} {status:?}");
        };
        check(TroubleKind::Refused, None, Some(403), true);
        check(TroubleKind::Refused, Some("30"), Some(403), false);
        check(TroubleKind::Refused, None, Some(401), false);
        check(TroubleKind::Refused, None, None, false);
        check(TroubleKind::Spent, None, Some(403), false);
    }
}
