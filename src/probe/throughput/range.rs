use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::learn::{Learned, Learner};
use super::shot::{Answered, Came, Shot, percentile};
use super::target::Target;
use crate::caller::{Call, Caller};
use crate::model::event::{Event, Listener, NextStep};
use crate::model::job::JobId;
use crate::model::name::Name;
use crate::model::rate::Rate;

/// Where requests are made and looked at: the caller, and a listener of its own that sees every one of them.
pub(super) struct Range {
    caller: Caller,
    provider: Name,
    make: Box<MakeCall>,
    ears: Arc<Ears>,
    learner: Arc<Learner>,
    stop: CancellationToken,
    next_call: i64,
}

/// Makes the call of a number; calls of neighbouring numbers may ask for different partitions.
pub type MakeCall = dyn Fn(i64) -> Call + Send + Sync;

/// Hears what becomes of requests.
pub struct Ears {
    began: Instant,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    shots: Vec<Shot>,
    good: usize,
    /// What an answer takes when nobody hurries.
    usual: Option<Duration>,
    last_suspect: Option<Duration>,
    /// Calls a second that the source announces, the fewest it ever did.
    announced: Option<f64>,
    /// The sequential test of failures that may happen at any time: positive is bad.
    softness: f64,
    /// Stops the step that is under way.
    step: Option<CancellationToken>,
}

/// How requests were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    No,
    Refused,
    /// Too many failures of the kind that may happen at any time.
    Failing,
    /// One got no answer for far too long.
    Silent,
    Quota,
    Barred,
    /// Somebody stopped it.
    Stopped,
}

/// Two failures that may each be a refusal in disguise are one when they are this close.
const SUSPECTS_WITHIN: Duration = Duration::from_secs(10);

/// Of the sequential test whether 0.5 % or 5 % of requests fail, both errors at 5 %.
const A_FAILURE: f64 = 2.30;
const A_SUCCESS: f64 = -0.0463;
const TOO_SOFT: f64 = 2.94;

/// A request that has no answer after so long, or four times the usual, is not waited for.
const SILENCE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Ears {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), state: Mutex::default(), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Range {
    pub(super) fn new(target: Target) -> Self {
        let Target { caller, provider, make, ears, learner, stop } = target;
        Self { caller, provider, make, ears, learner, stop, next_call: 1 }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits, unless everything is to stop.
    pub(super) async fn pause(&self, wait: Duration) {
        // Whoever waits looks for itself whether it is to stop.
        let _ = self.stop.run_until_cancelled(tokio::time::sleep(wait)).await;
    }

    /// Since the measurement began.
    pub(super) fn now(&self) -> Duration {
        self.ears.began.elapsed()
    }

    /// Everything that was sent.
    pub(super) fn shots(&self) -> Vec<Shot> {
        self.ears.state().shots.clone()
    }

    /// Calls a second that the source announces.
    pub(super) fn announced(&self) -> Option<f64> {
        self.ears.state().announced
    }

    pub(super) fn learned(&self) -> Learned {
        self.learner.learned()
    }

    /// Takes what the answers so far took as the usual.
    pub(super) fn take_usual(&self) -> Option<Duration> {
        let mut state = self.ears.state();
        let mut took: Vec<Duration> =
            state.shots.iter().filter(|shot| shot.is_good()).filter_map(|shot| Some(shot.answer.as_ref()?.took)).collect();
        took.sort_unstable();
        state.usual = percentile(&took, 50);
        state.usual
    }

    /// Sends so many requests at a rate, no more than `cap` in flight, and stops at once when one is refused. Waits for
    /// those in flight, unless they are silent. `longest` is what an answer takes at the longest, as a rule.
    pub(super) async fn fire(&mut self, rate: Rate, cap: u32, count: usize, longest: Duration) -> (Vec<Shot>, Halt) {
        self.caller.steer(&self.provider, rate, cap);
        // From the last request on, at whatever rate that was sent.
        let last = self.ears.state().shots.last().map(|shot| shot.sent);
        if let Some(wait) = last.and_then(|last| (last + rate.interval()).checked_sub(self.now())) {
            self.pause(wait).await;
        }
        let over = CancellationToken::new();
        let first = {
            let mut state = self.ears.state();
            (state.step, state.softness) = (Some(over.clone()), 0.0);
            state.shots.len()
        };
        let mut calls = JoinSet::new();
        for _ in 0..count {
            let call = self.call(&over);
            let caller = self.caller.clone();
            calls.spawn(async move { caller.fetch(call).await });
        }
        let patience = SILENCE.max(longest * 4);
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut is_silent = false;
        loop {
            tokio::select! {
                ended = calls.join_next() => if ended.is_none() { break },
                () = self.stop.cancelled(), if !over.is_cancelled() => over.cancel(),
                _ = look.tick() => {
                    let now = self.now();
                    let state = self.ears.state();
                    is_silent |= state.shots[first..].iter().any(|shot| shot.answer.is_none() && now.saturating_sub(shot.sent) > patience);
                    if is_silent {
                        drop(state);
                        over.cancel();
                        calls.abort_all();
                    }
                }
            }
        }
        let mut state = self.ears.state();
        state.step = None;
        let shots = state.shots[first..].to_vec();
        let halt = match worst(&shots) {
            Halt::No if self.stop.is_cancelled() => Halt::Stopped,
            Halt::No if is_silent => Halt::Silent,
            Halt::No if state.softness >= TOO_SOFT => Halt::Failing,
            halt => halt,
        };
        (shots, halt)
    }

    /// Sends one request, alone, and says what it came to; `None` where it got no answer in time.
    pub(super) async fn canary(&mut self, patience: Duration) -> Option<Came> {
        let over = CancellationToken::new();
        let first = {
            let mut state = self.ears.state();
            // Whatever comes of it, it is not sent again.
            state.step = Some(over.clone());
            state.shots.len()
        };
        let call = self.call(&over);
        let fetched = self.caller.fetch(call);
        let heard = async {
            loop {
                let changed = self.ears.changed.notified();
                if self.ears.state().shots[first..].iter().any(|shot| shot.answer.is_some()) {
                    over.cancel();
                    return;
                }
                changed.await;
            }
        };
        tokio::select! {
            _ = fetched => {}
            () = heard => {}
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(patience) => {}
        }
        let state = self.ears.state();
        state.shots[first..].iter().find_map(|shot| shot.answer.as_ref()).map(|answer| answer.came)
    }

    fn call(&mut self, over: &CancellationToken) -> Call {
        let number = self.next_call;
        self.next_call += 1;
        let mut call = (self.make)(number);
        call.label.job = JobId(number);
        call.abandoned = Some(over.clone());
        call
    }
}

/// What stops a measurement, if any of these does.
fn worst(shots: &[Shot]) -> Halt {
    let came = |wanted| shots.iter().any(|shot| shot.answer.as_ref().is_some_and(|answer| answer.came == wanted));
    match () {
        () if came(Came::Barred) => Halt::Barred,
        () if came(Came::Quota) => Halt::Quota,
        () if came(Came::Refused) => Halt::Refused,
        () => Halt::No,
    }
}

impl State {
    fn ended(&mut self, call: i64, answered: Answered, now: Duration) {
        let mut came = answered.came;
        match came {
            Came::Good => {
                self.good += 1;
                self.softness += A_SUCCESS;
            }
            Came::Suspect => {
                if self.last_suspect.replace(now).is_some_and(|last| now.saturating_sub(last) <= SUSPECTS_WITHIN) {
                    came = Came::Refused;
                    // And so was the one before.
                    let suspects = self.shots.iter_mut().rev().filter_map(|shot| shot.answer.as_mut());
                    suspects.filter(|answer| answer.came == Came::Suspect).take(1).for_each(|answer| answer.came = Came::Refused);
                }
            }
            Came::Soft => self.softness += A_FAILURE,
            Came::Refused | Came::Quota | Came::Barred => {}
        }
        // What is good within the limits of the test is as good as ever.
        self.softness = self.softness.max(-TOO_SOFT);
        if let Some(shot) = self.shots.iter_mut().rev().find(|shot| shot.call == call && shot.answer.is_none()) {
            shot.answer = Some(Answered { came, ..answered });
        }
        let stops = matches!(came, Came::Refused | Came::Quota | Came::Barred) || self.softness >= TOO_SOFT;
        if let Some(step) = self.step.as_ref().filter(|_| stops) {
            step.cancel();
        }
    }
}

impl Listener for Ears {
    fn hear(&self, event: &Event) {
        let now = self.began.elapsed();
        match event {
            Event::AttemptStarted { label, in_flight, .. } => {
                let shot = Shot { call: label.job.0, sent: now, in_flight: *in_flight, answer: None };
                self.state().shots.push(shot);
            }
            // The server had closed the connection before it saw the request: nothing was asked.
            Event::AttemptEnded { attempt, next: NextStep::RetryIn(Duration::ZERO) } => {
                self.state().shots.retain(|shot| shot.call != attempt.label.job.0 || shot.answer.is_some());
            }
            Event::AttemptEnded { attempt, .. } => {
                let mut state = self.state();
                let answered = Answered {
                    took: attempt.took,
                    came: Came::of(attempt, state.good, state.usual),
                    status: attempt.http_status,
                    code: attempt.code.clone(),
                    why: attempt.why.clone().unwrap_or_default(),
                };
                state.ended(attempt.label.job.0, answered, now);
                drop(state);
                self.changed.notify_waiters();
            }
            Event::RateAnnounced { rps, .. } => {
                let mut state = self.state();
                state.announced = Some(state.announced.map_or(*rps, |known| known.min(*rps)));
            }
            _ => {}
        }
    }
}
