use std::sync::Arc;
use std::time::Duration;

use super::api::{Asker, Doubt, LeftAlone};
use super::attempt::{Heard, Unanswered, attempt};
use super::body::Answer;
use super::breaker::Sign;
use super::budget::Budget;
use super::call::{Call, End, Failure, Fetched};
use super::clock::{Clock, Nanos, later, nanos};
use super::guise;
use super::lights::Brought;
use super::place::Seat;
use super::provider::Provider;
use super::ration::Ration;
use super::reach::{Reach, is_ill, is_let_in};
use super::retry::{Connection, Failed, Next, Tries};
use super::speed::Departure;
use super::stop::Stop;
use super::traffic::{Objection, Pass};
use crate::model::attempt::Attempt;
use crate::model::body::KeptBody;
use crate::model::event::{Event, Listener, NextStep};
use crate::model::name::Name;
use crate::model::outcome::TroubleKind;
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
    pub(super) ration: Arc<dyn Ration>,
}

/// Waits this long and longer give the worker's place to another.
const LONG: Duration = Duration::from_secs(1);

/// Asks until the page is final.
pub(super) async fn fetch(rules: &Rules, provider: &Provider, call: Call) -> Result<Fetched, Failure> {
    let mut attempts = Vec::new();
    match (Asking { rules, provider, call: &call }).until_final(&mut attempts).await {
        Ok((answer, body)) => Ok(Fetched { answer, body, attempts }),
        Err(end) => Err(Failure { end, attempts }),
    }
}

/// A call under way.
struct Asking<'c> {
    rules: &'c Rules,
    provider: &'c Provider,
    call: &'c Call,
}

impl Asking<'_> {
    /// Order: retry, then API and its breaker, permit, slot and HTTP. What waits here holds no permit.
    async fn until_final(&self, attempts: &mut Vec<Attempt>) -> Result<(Answer, KeptBody), End> {
        let Self { rules, provider, call } = *self;
        let mut seat = Seat::new(call.place.clone());
        let mut tries = Tries::default();
        let mut doubt: Option<Doubt<'_>> = None;
        let mut ill_since: Option<Nanos> = None;
        let mut retry_wait = Duration::ZERO;
        let dataset = &call.label.dataset;
        loop {
            let asker = if doubt.is_some() { Asker::Confirmer } else { Asker::Anyone };
            // Counted before it is sent: a call that is not let go in the end is given back.
            if let Err(exhausted) = self.before_attempt(rules.ration.take(dataset)).await? {
                return Err(provider.apis.leave_alone(dataset, exhausted.until, &exhausted.why).into());
            }
            let mut admission = match self.before_attempt(provider.admit(dataset, asker, &mut seat)).await {
                Ok(Ok(admission)) if rules.budget.take() => admission,
                not_admitted => {
                    rules.ration.give_back(dataset);
                    not_admitted??;
                    rules.stop.no_new_attempts();
                    return Err(self.stopped());
                }
            };
            admission.waits.retry = std::mem::take(&mut retry_wait);
            let departure = admission.departure;
            let Heard { heard, permit, pass, ticket, announced } =
                attempt(rules, provider, call, tries.number(), admission).await;
            provider.traffic.heed(departure, announced);
            let (trouble, mut record, connection) = match heard {
                Ok((answer, body, record)) => {
                    heed(provider, dataset, provider.traffic.answered(pass, departure, Brought::Page));
                    provider.apis.answered(dataset);
                    match &answer {
                        Answer::Page(_) => ticket.tell(Sign::Well),
                        // A server in trouble may well say that it has nothing.
                        Answer::Empty(_) => drop(ticket),
                    }
                    conclude(rules, attempts, record, NextStep::Done);
                    return Ok((answer, body));
                }
                Err(Unanswered::Stopped(record)) => {
                    conclude(rules, attempts, record, NextStep::Done);
                    return Err(End::Interrupted);
                }
                Err(Unanswered::Trouble(trouble, record, connection)) => {
                    guise::seen_through(provider, announced, trouble, record, connection)
                }
            };
            let failed = Failed { trouble: &trouble, http_status: record.http_status, took: record.took, connection };
            let next = tries.after(failed, &rules.retry, (rules.random)());
            heed(provider, dataset, tell(rules, provider, pass, departure, &failed));
            if is_let_in(trouble.kind) {
                doubt = None;
            }
            // Before the permit is given back, here and below, so that no other call of the API slips through.
            if is_ill(trouble.kind) && connection == Connection::Other {
                let since = *ill_since.get_or_insert_with(|| rules.clock.now());
                ticket.tell_if(next == Next::End, Sign::Ill { since, why: &trouble.why });
            } else {
                drop(ticket);
            }
            match Reach::of(&trouble, tries.refusals()) {
                Reach::Call => {}
                Reach::InARow => provider.apis.invalid(dataset, provider.limits.invalid_in_a_row, &trouble.why),
                Reach::Doubt => doubt = doubt.take().or_else(|| provider.apis.doubt(dataset)),
                Reach::Day => drop(provider.apis.leave_alone(dataset, Some(provider.end_of_day()), &trouble.why)),
                Reach::Api => drop(provider.apis.leave_alone(dataset, None, &trouble.why)),
                Reach::Provider => drop(provider.apis.leave_all_alone(dataset, &trouble.why)),
            }
            record.why = Some(trouble.why.clone());
            let ended = rules.clock.now();
            conclude(rules, attempts, record, if self.is_over() { NextStep::Done } else { step(next) });
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
            if let (Err(_), Some(failed)) = (&then, &call.failed) {
                failed.cancel();
            }
            // Held with the permit, so that fast refusals never speed us up: others of the provider go on, even where
            // this call or its API does not.
            let rested = rules.stop.before(rules.clock.sleep(rest)).await;
            drop(permit);
            let wait = then?;
            rested.map_err(|_| self.stopped())?;
            self.wait_to_retry(&mut seat, ended, wait).await?;
            retry_wait = Duration::from_nanos(rules.clock.now().saturating_sub(ended));
        }
    }

    /// Sleeps until the wait is over, counted from the end of the attempt; long waits outside the worker's place.
    async fn wait_to_retry(&self, seat: &mut Seat, ended: Nanos, wait: Duration) -> Result<(), End> {
        if wait >= LONG {
            seat.leave();
        }
        let until = ended.saturating_add(nanos(wait));
        self.before_attempt(self.rules.clock.sleep_until(until)).await
    }

    /// Waits for something that precedes an attempt; ends at once when no attempt is to follow it any more.
    async fn before_attempt<T>(&self, wait: impl Future<Output = T>) -> Result<T, End> {
        let Self { rules, provider, call } = self;
        let abandoned = async {
            match &call.abandoned {
                Some(abandoned) => abandoned.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = rules.stop.requested() => Err(self.stopped()),
            () = abandoned => Err(End::Abandoned),
            left = provider.apis.left_alone(&call.label.dataset) => Err(left.into()),
            done = wait => Ok(done),
        }
    }

    /// Whether no attempt of this call begins any more, whatever came of the last one.
    fn is_over(&self) -> bool {
        self.rules.stop.is_stopping() || self.call.abandoned.as_ref().is_some_and(|abandoned| abandoned.is_cancelled())
    }

    /// How a call ends that finds the run stopping.
    fn stopped(&self) -> End {
        match self.rules.budget.used_up() {
            Some(most) => End::Deferred { until: None, why: format!("the {most} calls allowed are made") },
            None => End::Interrupted,
        }
    }
}

/// Nobody asks a provider any more that its traffic objects to.
fn heed(provider: &Provider, dataset: &Name, traffic: Result<(), Objection>) {
    if let Err(Objection(why)) = traffic {
        provider.apis.leave_all_alone(dataset, &why);
    }
}

/// Tells the provider's traffic what an attempt without a page says of its mood.
fn tell(rules: &Rules, provider: &Provider, pass: Pass<'_>, departure: Departure, failed: &Failed<'_>) -> Result<(), Objection> {
    let asked = rules.retry.asked(failed.trouble, failed.http_status);
    let why = &failed.trouble.why;
    match (failed.trouble.kind, failed.connection) {
        (TroubleKind::SlowDown, _) => provider.traffic.refused(pass, departure, asked, why),
        // It says nothing: another canary may go at once.
        (_, Connection::Stale) => {
            drop(pass);
            Ok(())
        }
        // A refusal may be a ban in disguise.
        (
            TroubleKind::Retry | TroubleKind::Misfit | TroubleKind::Uneven | TroubleKind::Garbled | TroubleKind::Refused,
            Connection::Other,
        ) => provider.traffic.silent(pass, departure, asked, why),
        (
            TroubleKind::Spent | TroubleKind::Invalid | TroubleKind::TooBig | TroubleKind::Restart | TroubleKind::Later,
            Connection::Other,
        ) => provider.traffic.answered(pass, departure, Brought::Word),
    }
}

fn step(next: Next) -> NextStep {
    match next {
        Next::Again { wait } => NextStep::RetryIn(wait),
        Next::WhenProviderAnswers => NextStep::WaitForProvider,
        Next::LeaveAlone { .. } | Next::Defer { .. } | Next::End => NextStep::Done,
    }
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
        retry_ms = attempt.waits.retry.as_millis() as u64,
        pause_ms = attempt.waits.pause.as_millis() as u64,
        permit_ms = attempt.waits.permit.as_millis() as u64,
        slot_ms = attempt.waits.slot.as_millis() as u64,
        body_bytes = attempt.body_bytes,
        why = attempt.why.as_deref(),
        "attempt ended"
    );
    rules.listener.hear(&Event::AttemptEnded { attempt: Arc::clone(&attempt), next });
    attempts.push(Arc::unwrap_or_clone(attempt));
}

impl From<LeftAlone> for End {
    fn from(LeftAlone { until, why }: LeftAlone) -> Self {
        Self::Deferred { until, why }
    }
}
