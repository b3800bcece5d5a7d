use std::sync::Arc;
use std::time::Duration;

use super::announced::Announced;
use super::body::{self, Answer, Judged};
use super::call::Call;
use super::fetch::Rules;
use super::permits::Permit;
use super::provider::{Admission, Provider};
use super::retry::Connection;
use super::stop::Stopped;
use super::ticket::Ticket;
use super::traffic::Pass;
use super::wire::{Fault, Received};
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::event::Event;
use crate::model::outcome::{Outcome, Scope, Trouble};

/// What came of an attempt, with what it still holds.
pub(super) struct Heard<'p> {
    pub(super) heard: Result<(Answer, KeptBody, Attempt), Unanswered>,
    pub(super) permit: Permit<'p>,
    pub(super) pass: Pass<'p>,
    pub(super) ticket: Ticket<'p>,
    pub(super) announced: Announced,
}

pub(super) enum Unanswered {
    Trouble(Trouble, Attempt, Connection),
    Stopped(Attempt),
}

/// Makes one request and judges what comes back.
pub(super) async fn attempt<'p>(
    rules: &Rules,
    provider: &'p Provider,
    call: &Call,
    number: u32,
    admission: Admission<'p>,
) -> Heard<'p> {
    let Admission { ticket, pass, permit, flight, departure, waits } = admission;
    let mut record = Attempt {
        label: call.label.clone(),
        number,
        sent: true,
        sent_at: rules.clock.wall(),
        took: Duration::ZERO,
        outcome: Outcome::Retry,
        scope: Scope::Attempt,
        http_status: None,
        code: None,
        why: None,
        body_bytes: 0,
        waits,
    };
    let permits = provider.permits.most();
    rules.listener.hear(&Event::AttemptStarted { label: call.label.clone(), number, in_flight: departure.in_flight, permits });
    let mut announced = Announced::default();
    let heard = rules.stop.during(exchange(provider, call, &mut record, &mut announced)).await;
    record.took = Duration::from_nanos(rules.clock.now().saturating_sub(departure.at));
    drop(flight);
    let heard = match heard {
        Ok(Ok((answer, body))) => {
            (record.outcome, record.code) = match &answer {
                Answer::Page(page) => (Outcome::Page, page.code.clone()),
                Answer::Empty(page) => (Outcome::Empty, page.code.clone()),
            };
            Ok((answer, body, record))
        }
        Ok(Err((trouble, connection))) => {
            (record.outcome, record.scope) = (trouble.kind.outcome(), trouble.scope);
            record.code.clone_from(&trouble.code);
            Err(Unanswered::Trouble(trouble, record, connection))
        }
        Err(Stopped) => {
            record.why = Some("interrupted before its answer".to_owned());
            Err(Unanswered::Stopped(record))
        }
    };
    Heard { heard, permit, pass, ticket, announced }
}

async fn exchange(
    provider: &Provider,
    call: &Call,
    record: &mut Attempt,
    announced: &mut Announced,
) -> Result<(Answer, KeptBody), (Trouble, Connection)> {
    let redactor = call.request.redactor();
    match provider.wire.get(&call.request.url()).await {
        Ok(Received { raw, announced: said }) => {
            *announced = said;
            let retry_after = raw.retry_after;
            record.http_status = Some(raw.status);
            record.body_bytes = raw.body.len() as u64;
            match body::judge(raw, redactor, Arc::clone(&call.judge)).await {
                Judged::Answer { answer, body } => Ok((answer, body)),
                Judged::Trouble(trouble) => {
                    let asked = trouble.retry_after.or(retry_after);
                    Err((Trouble { retry_after: asked, ..trouble }, Connection::Other))
                }
            }
        }
        Err(Fault { mut trouble, sent, connection, http_status }) => {
            record.sent = sent;
            record.http_status = http_status;
            trouble.why = redactor.redact_text(&trouble.why);
            Err((trouble, connection))
        }
    }
}
