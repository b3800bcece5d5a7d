use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SemaphorePermit;

use super::api::{Asker, Doubt, LeftAlone};
use super::body::{self, Answer, Judged};
use super::budget::Budget;
use super::call::{Call, End, Failure, Fetched};
use super::clock::{Clock, Nanos, later, nanos};
use super::place::Seat;
use super::provider::{Admission, Provider};
use super::retry::{Connection, Failed, Next, Tries};
use super::stop::{Stop, Stopped};
use super::traffic::Pass;
use super::wire::Fault;
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::event::{Event, Listener, NextStep};
use crate::model::outcome::{Outcome, Scope, Trouble, TroubleKind};
use crate::settings::retry::RetrySettings;

/// A number in 0 to 1 each time.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// What every call of a run goes by.
pub(super) struct Rules {
    pub(super) retry: RetrySettings,
    pub(super) clock: Clock,
    pub(super) random: Random,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) stop: Stop,
    pub(super) budget: Budget,
}

/// Waits this long and longer give the worker's place to another.
const LONG: Duration = Duration::from_secs(1);

/// Asks until the page is final. The breaker of an API will stand here, around the loop: a call it parks begins no
/// attempt, and each attempt of the loop is told to it.
pub(super) async fn fetch(rules: &Rules, provider: &Provider, call: Call) -> Result<Fetched, Failure> {
    let mut attempts = Vec::new();
    match ask_until_final(rules, provider, &call, &mut attempts).await {
        Ok((answer, body)) => Ok(Fetched { answer, body, attempts }),
        Err(end) => Err(Failure { end, attempts }),
    }
}

/// Order: retry, then permit, then slot, then HTTP. What waits here holds no permit.
async fn ask_until_final(
    rules: &Rules,
    provider: &Provider,
    call: &Call,
    attempts: &mut Vec<Attempt>,
) -> Result<(Answer, KeptBody), End> {
    let mut seat = Seat::new(call.place.clone());
    let mut tries = Tries::default();
    let mut doubt: Option<Doubt<'_>> = None;
    let dataset = &call.label.dataset;
    loop {
        let asker = if doubt.is_some() { Asker::Confirmer } else { Asker::Anyone };
        let admission = rules.stop.before(provider.admit(dataset, asker, &mut seat)).await??;
        if !rules.budget.take() {
            rules.stop.no_new_attempts();
            return Err(End::Interrupted);
        }
        let sent = admission.at;
        let Heard { heard, permit, pass } = attempt(rules, provider, call, tries.number(), admission).await;
        let (trouble, mut record, connection) = match heard {
            Ok((answer, body, record)) => {
                provider.traffic.answered(pass, sent);
                conclude(rules, attempts, record, NextStep::Done);
                return Ok((answer, body));
            }
            Err(Unanswered::Stopped(record)) => {
                conclude(rules, attempts, record, NextStep::Done);
                return Err(End::Interrupted);
            }
            Err(Unanswered::Trouble(trouble, record, connection)) => (trouble, record, connection),
        };
        let failed = Failed { trouble: &trouble, http_status: record.http_status, took: record.took, connection };
        let next = tries.after(failed, &rules.retry, (rules.random)());
        tell(rules, provider, pass, sent, &failed);
        // Before the permit is given back, so that no other call of the API slips through.
        match reach(&trouble, next) {
            Reach::Call => {}
            Reach::Doubt => doubt = doubt.take().or_else(|| provider.apis.doubt(dataset)),
            Reach::Day => drop(provider.apis.leave_alone(dataset, Some(provider.end_of_day()), &trouble.why)),
            Reach::Api => drop(provider.apis.leave_alone(dataset, None, &trouble.why)),
            Reach::Provider => drop(provider.apis.leave_all_alone(dataset, &trouble.why)),
        }
        record.why = Some(trouble.why.clone());
        let ended = rules.clock.now();
        let step = if rules.stop.is_stopping() { NextStep::Done } else { step(next) };
        conclude(rules, attempts, record, step);
        let (then, rest) = match next {
            // The server had closed the connection before it saw the request: there is nobody to be gentle with.
            Next::Again { wait: Duration::ZERO } => (Ok(Duration::ZERO), Duration::ZERO),
            Next::Again { wait } => (Ok(wait), rules.retry.error_pause),
            Next::WhenProviderAnswers => (Ok(Duration::ZERO), rules.retry.error_pause),
            // Before the rest, in which others would ask.
            Next::LeaveAlone { wait } => {
                (Err(provider.leave_alone_for(dataset, wait, &trouble.why).into()), rules.retry.error_pause)
            }
            Next::Defer { wait } => {
                let until = later(rules.clock.wall(), wait);
                (Err(End::Deferred { until: Some(until), why: trouble.why.clone() }), rules.retry.error_pause)
            }
            Next::End => (Err(End::Trouble(Box::new(trouble))), rules.retry.error_pause),
        };
        // Held with the permit, so that fast refusals never speed us up.
        let rested = rules.stop.before(rules.clock.sleep(rest)).await;
        drop(permit);
        let wait = then?;
        rested?;
        wait_to_retry(rules, &mut seat, ended, wait).await?;
    }
}

/// How far beyond its call a trouble reaches.
enum Reach {
    Call,
    /// Its API, until one more call has shown whether the refusal was a mistake.
    Doubt,
    /// Its API, until the day is over.
    Day,
    /// Its API, for the rest of the run.
    Api,
    /// Its provider, for the rest of the run.
    Provider,
}

fn reach(trouble: &Trouble, next: Next) -> Reach {
    match (trouble.kind, trouble.scope, next) {
        (TroubleKind::Spent, _, _) => Reach::Day,
        (TroubleKind::Refused, _, Next::Again { .. }) => Reach::Doubt,
        (TroubleKind::Refused, Scope::Run, _) => Reach::Provider,
        (TroubleKind::Refused | TroubleKind::Invalid, Scope::Api, _) => Reach::Api,
        (TroubleKind::Invalid, Scope::Run, _) => Reach::Provider,
        (TroubleKind::Refused | TroubleKind::Invalid, Scope::Attempt | Scope::Job, _)
        | (
            TroubleKind::Retry
            | TroubleKind::Misfit
            | TroubleKind::SlowDown
            | TroubleKind::TooBig
            | TroubleKind::Restart
            | TroubleKind::Later
            | TroubleKind::Garbled,
            _,
            _,
        ) => Reach::Call,
    }
}

/// What came of an attempt, with what it still holds.
struct Heard<'p> {
    heard: Result<(Answer, KeptBody, Attempt), Unanswered>,
    permit: SemaphorePermit<'p>,
    pass: Pass<'p>,
}

enum Unanswered {
    Trouble(Trouble, Attempt, Connection),
    Stopped(Attempt),
}

async fn attempt<'p>(rules: &Rules, provider: &'p Provider, call: &Call, number: u32, admission: Admission<'p>) -> Heard<'p> {
    let Admission { pass, permit, flight, at, waited } = admission;
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
        waited,
    };
    let permits = provider.limits.concurrency;
    rules.listener.hear(&Event::AttemptStarted { label: call.label.clone(), number, in_flight: flight.count, permits });
    let heard = rules.stop.during(exchange(provider, call, &mut record)).await;
    record.took = Duration::from_nanos(rules.clock.now().saturating_sub(at));
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
    Heard { heard, permit, pass }
}

async fn exchange(provider: &Provider, call: &Call, record: &mut Attempt) -> Result<(Answer, KeptBody), (Trouble, Connection)> {
    let redactor = call.request.redactor();
    match provider.wire.get(&call.request.url()).await {
        Ok(raw) => {
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

/// Tells the provider's traffic what an attempt without a page says of its mood.
fn tell(rules: &Rules, provider: &Provider, pass: Pass<'_>, sent: Nanos, failed: &Failed<'_>) {
    let asked = rules.retry.asked(failed.trouble, failed.http_status);
    let why = &failed.trouble.why;
    match (failed.trouble.kind, failed.connection) {
        (TroubleKind::SlowDown, _) => provider.traffic.refused(pass, sent, asked, why),
        // It says nothing: another canary may go at once.
        (_, Connection::Stale) => drop(pass),
        // A refusal may be a ban in disguise.
        (TroubleKind::Retry | TroubleKind::Misfit | TroubleKind::Garbled | TroubleKind::Refused, Connection::Other) => {
            provider.traffic.silent(pass, sent, asked, why);
        }
        (
            TroubleKind::Spent | TroubleKind::Invalid | TroubleKind::TooBig | TroubleKind::Restart | TroubleKind::Later,
            Connection::Other,
        ) => provider.traffic.answered(pass, sent),
    }
}

fn step(next: Next) -> NextStep {
    match next {
        Next::Again { wait } => NextStep::RetryIn(wait),
        Next::WhenProviderAnswers => NextStep::WaitForProvider,
        Next::LeaveAlone { .. } | Next::Defer { .. } | Next::End => NextStep::Done,
    }
}

/// Sleeps until the wait is over, counted from the end of the attempt; long waits outside the worker's place.
async fn wait_to_retry(rules: &Rules, seat: &mut Seat, ended: Nanos, wait: Duration) -> Result<(), Stopped> {
    if wait >= LONG {
        seat.leave();
    }
    let until = ended.saturating_add(nanos(wait));
    rules.stop.before(rules.clock.sleep_until(until)).await
}

fn conclude(rules: &Rules, attempts: &mut Vec<Attempt>, record: Attempt, next: NextStep) {
    let attempt = Arc::new(record);
    tracing::debug!(
        job.id = attempt.label.job.0,
        dataset = %attempt.label.dataset,
        partition = %attempt.label.partition,
        page = attempt.label.page.0,
        number = attempt.number,
        outcome = %attempt.outcome,
        http_status = attempt.http_status,
        took_ms = attempt.took.as_millis() as u64,
        waited_ms = attempt.waited.as_millis() as u64,
        body_bytes = attempt.body_bytes,
        why = attempt.why.as_deref(),
        "attempt ended"
    );
    rules.listener.hear(&Event::AttemptEnded { attempt: Arc::clone(&attempt), next });
    attempts.push(Arc::unwrap_or_clone(attempt));
}

impl From<Stopped> for End {
    fn from(Stopped: Stopped) -> Self {
        Self::Interrupted
    }
}

impl From<LeftAlone> for End {
    fn from(LeftAlone { until, why }: LeftAlone) -> Self {
        Self::Deferred { until, why }
    }
}
