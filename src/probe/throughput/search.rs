use std::time::Duration;

use super::evidence::{self, Refusal};
use super::range::{Halt, Range};
use super::report::{Answer, Ended, LimitKind, Subject, Tested, Throughput};
use super::shot::{Came, Shot};
use super::step::{Step, StepKind, StepVerdict};
use super::target::{Bounds, Row, Target, Tell, Told};
use crate::model::rate::Rate;

const BASE_CALLS: usize = 8;
const BASE_RATE: f64 = 5.0;
const GROWTH: f64 = 1.4;
/// What an answer of the plain table may take before it is given up.
const LONGEST_IN_A_ROW: Duration = Duration::from_secs(15);
const STEP_SECONDS: f64 = 1.5;
/// Calls of a step at least.
pub(super) const FEWEST: usize = 10;
/// Longer than this without an answer is a ban.
pub(super) const BAN: Duration = Duration::from_millis(2500);

/// Finds the highest rate that is safe, and says how sure that is.
pub async fn search(target: Target, bounds: Bounds, subject: Subject, tell: &mut Tell<'_>) -> Throughput {
    let mut search = Search::new(target.range(), bounds, tell);
    let found = search.run().await;
    search.into_report(subject, found)
}

/// Runs the rows of a plain table, as long as nothing is refused.
pub async fn ladder(target: Target, rows: &[Row], calls: usize, subject: Subject, tell: &mut Tell<'_>) -> Throughput {
    let ceiling = rows.iter().map(|row| row.rate).fold(0.0, f64::max);
    let bounds = Bounds { max_calls: rows.len() * calls, ceiling, max_concurrency: 1, max_wait: Duration::ZERO, refine: 0 };
    let mut search = Search::new(target.range(), bounds, tell);
    search.longest = LONGEST_IN_A_ROW;
    for row in rows {
        let (_, halt) = search.step(StepKind::Row, row.rate, row.concurrency, calls).await;
        if halt != Halt::No {
            search.stopped(halt);
            if search.ended == Ended::Answered {
                search.ended = Ended::Blocked;
            }
            break;
        }
    }
    search.into_report(subject, None)
}

pub(super) struct Search<'t, 'f> {
    pub(super) range: Range,
    pub(super) bounds: Bounds,
    pub(super) tell: &'t mut Tell<'f>,
    pub(super) steps: Vec<Step>,
    pub(super) usual: Option<Duration>,
    /// What an answer takes at the longest, as a rule.
    pub(super) longest: Duration,
    pub(super) dark: Option<Duration>,
    pub(super) kind: LimitKind,
    pub(super) ended: Ended,
    pub(super) why: Option<String>,
}

/// An answer, and what it does not rule out.
pub(super) type Found = (Answer, Vec<String>);

impl<'t, 'f> Search<'t, 'f> {
    fn new(range: Range, bounds: Bounds, tell: &'t mut Tell<'f>) -> Self {
        Self {
            range,
            bounds,
            tell,
            steps: Vec::new(),
            usual: None,
            longest: Duration::from_secs(1),
            dark: None,
            kind: LimitKind::None,
            ended: Ended::Answered,
            why: None,
        }
    }

    async fn run(&mut self) -> Option<Found> {
        let (_, halt) = self.step(StepKind::Base, BASE_RATE.min(self.bounds.ceiling), 1, BASE_CALLS).await;
        if halt != Halt::No {
            self.stopped(halt);
            if matches!(halt, Halt::Refused | Halt::Silent) {
                self.ended = Ended::Blocked;
            }
            return None;
        }
        self.usual = self.range.take_usual();
        let Some(usual) = self.usual else {
            (self.ended, self.why) = (Ended::Trouble, Some("no call was answered with a page".to_owned()));
            return None;
        };
        let (mut clean, halted) = self.climb((1.2 / usual.as_secs_f64()).min(self.bounds.ceiling)).await?;
        match halted {
            Halt::Refused | Halt::Silent => {
                let refused = self.last_step();
                let refusal = self.refusal();
                self.wait_for_light().await;
                if self.ended != Ended::Answered {
                    return None;
                }
                if self.is_ban() {
                    return Some(self.after_ban(&clean, &refusal));
                }
                if let Some(halt) = self.refine(&mut clean, &refused).await
                    && self.stopped(halt)
                {
                    return None;
                }
                if self.ended != Ended::Answered {
                    return None;
                }
                if self.is_ban() {
                    return Some(self.after_ban(&clean, &refusal));
                }
                self.soak(&clean, Some(refusal)).await
            }
            Halt::No | Halt::Failing => self.soak(&clean, None).await,
            Halt::Quota | Halt::Barred | Halt::Stopped => None,
        }
    }

    /// Faster and faster, until something gives. Returns the last step that was clean and what ended it.
    async fn climb(&mut self, first: f64) -> Option<(Step, Halt)> {
        let mut clean = self.last_step();
        let mut rate = first;
        let mut wider = 0;
        loop {
            let cap = (self.cap_for(rate, &clean) + wider).min(self.bounds.max_concurrency);
            let calls = ((STEP_SECONDS * rate).ceil() as usize).max(FEWEST);
            if calls + FEWEST > self.left() {
                return Some((clean, Halt::No));
            }
            let (step, halt) = self.step(StepKind::Ladder, rate, cap, calls).await;
            match (halt, step.verdict) {
                (Halt::Quota | Halt::Barred | Halt::Stopped, _) => {
                    self.stopped(halt);
                    return None;
                }
                (Halt::Refused | Halt::Silent | Halt::Failing, _) => return Some((clean, halt)),
                (Halt::No, StepVerdict::Slow) => {
                    self.kind = LimitKind::Queue;
                    return Some((clean, Halt::No));
                }
                // Answers, or this machine, were slower than a step before: once more with more in flight.
                (Halt::No, StepVerdict::Held) if wider == 0 && cap < self.bounds.max_concurrency => {
                    wider = cap.div_ceil(2);
                    continue;
                }
                (Halt::No, StepVerdict::Held) => return Some((Step { offered: step.sent.max(clean.offered), ..step }, Halt::No)),
                (Halt::No, StepVerdict::Clean | StepVerdict::Refused | StepVerdict::Failing) => clean = step,
            }
            if rate >= self.bounds.ceiling {
                return Some((clean, Halt::No));
            }
            rate = (rate * GROWTH).min(self.bounds.ceiling);
            wider = 0;
        }
    }

    /// One try between the last clean step and the refused one; returns what ended it, if that is the end of all.
    async fn refine(&mut self, clean: &mut Step, refused: &Step) -> Option<Halt> {
        for _ in 0..self.bounds.refine {
            let flight = evidence::flight_let_in(&self.range.shots());
            let (rate, cap) = match flight {
                Some(most) => (refused.offered, most),
                None => ((clean.offered * refused.offered).sqrt(), self.cap_for(refused.offered, clean)),
            };
            let calls = ((STEP_SECONDS * rate).ceil() as usize).max(FEWEST);
            if calls + FEWEST > self.left() {
                return None;
            }
            self.kind = LimitKind::Rate;
            let (step, halt) = self.step(StepKind::Refine, rate, cap, calls).await;
            match halt {
                Halt::No => {
                    if flight.is_some() {
                        self.kind = LimitKind::InFlight;
                    }
                    let offered = if step.verdict == StepVerdict::Held { step.sent } else { step.offered };
                    *clean = Step { offered, ..step };
                }
                Halt::Refused | Halt::Silent => self.wait_for_light().await,
                Halt::Failing => {}
                Halt::Quota | Halt::Barred | Halt::Stopped => return Some(halt),
            }
        }
        None
    }

    /// Single calls, after waits that double, until one is answered.
    pub(super) async fn wait_for_light(&mut self) {
        let began = self.range.now();
        let mut gap = Duration::from_secs(1);
        self.dark = None;
        loop {
            let waited = self.range.now().saturating_sub(began);
            if waited + gap > self.bounds.max_wait || self.left() == 0 {
                self.note(format!("refused for {:.0} s and not tried any longer", waited.as_secs_f64()));
                self.why = Some("the source refuses every call; it did not open again within --max-wait".to_owned());
                return;
            }
            self.range.pause(gap).await;
            if self.range.is_stopped() {
                self.stopped(Halt::Stopped);
                return;
            }
            match self.range.canary(self.longest.max(Duration::from_secs(1)) * 4 + gap).await {
                Some(Came::Good) => {
                    let dark = self.range.now().saturating_sub(began);
                    self.dark = Some(dark);
                    let what = if dark > BAN { "a ban" } else { "not a ban" };
                    self.note(format!("answered again after {:.1} s: {what}", dark.as_secs_f64()));
                    return;
                }
                Some(Came::Quota) => {
                    self.stopped(Halt::Quota);
                    return;
                }
                Some(Came::Barred) => {
                    self.stopped(Halt::Barred);
                    return;
                }
                Some(Came::Refused | Came::Suspect | Came::Soft) | None => gap = (gap * 2).min(Duration::from_secs(60)),
            }
        }
    }

    async fn step(&mut self, kind: StepKind, rate: f64, cap: u32, calls: usize) -> (Step, Halt) {
        let (_, halt) = self.step_shots(kind, rate, cap, calls).await;
        (self.last_step(), halt)
    }

    pub(super) async fn step_shots(&mut self, kind: StepKind, rate: f64, cap: u32, calls: usize) -> (Vec<Shot>, Halt) {
        let (shots, halt) = self.range.fire(Rate::PerSecond(rate), cap, calls.min(self.left()), self.longest).await;
        let mut step = Step::of(kind, rate, cap, &shots, self.usual, halt == Halt::Failing);
        if halt == Halt::Silent {
            step.verdict = StepVerdict::Refused;
            step.first_refused = Some("no answer".to_owned());
        }
        if let Some(p95) = step.p95_ms {
            self.longest = Duration::from_millis(p95);
        }
        (self.tell)(Told::Step(&step));
        self.steps.push(step);
        (shots, halt)
    }

    /// Remembers what ended it all; whether it did.
    pub(super) fn stopped(&mut self, halt: Halt) -> bool {
        let shots = self.range.shots();
        let why = shots.iter().rev().filter_map(|shot| shot.answer.as_ref()).find(|answer| answer.came != Came::Good);
        let why = why.map(|answer| answer.why.clone());
        let ended = match halt {
            Halt::Quota => Ended::Quota,
            Halt::Barred => Ended::Barred,
            Halt::Failing => Ended::Trouble,
            Halt::Stopped => Ended::Interrupted,
            Halt::No | Halt::Refused | Halt::Silent => {
                self.why = why;
                return false;
            }
        };
        (self.ended, self.why) = (ended, why);
        true
    }

    pub(super) fn refusal(&self) -> Refusal {
        let of_last_step = self.steps.last().map_or(0, |step| step.calls);
        evidence::refusal(&self.range.shots(), of_last_step, self.range.now())
    }

    fn is_ban(&self) -> bool {
        self.dark.is_none_or(|dark| dark > BAN)
    }

    /// Calls a second that were accepted, over the time until the source was open again.
    pub(super) fn lasting(&self) -> Option<f64> {
        self.dark.and_then(|_| evidence::lasting(&self.range.shots()))
    }

    /// As many in flight as a rate needs, by what answers took in a step.
    fn cap_for(&self, rate: f64, step: &Step) -> u32 {
        let p90 = step.p90_ms.unwrap_or(1000) as f64 / 1000.0;
        ((rate * p90).ceil() as u32).clamp(1, self.bounds.max_concurrency)
    }

    pub(super) fn left(&self) -> usize {
        self.bounds.max_calls.saturating_sub(self.range.shots().len())
    }

    fn last_step(&self) -> Step {
        self.steps.last().expect("a step was made").clone()
    }

    fn note(&mut self, note: String) {
        (self.tell)(Told::Note(note));
    }

    fn into_report(self, subject: Subject, found: Option<Found>) -> Throughput {
        let shots = self.range.shots();
        let (result, not_ruled_out) = found.unzip();
        Throughput {
            schema: 1,
            subject,
            budget: self.bounds.max_calls,
            used: shots.len(),
            ceiling: self.bounds.ceiling,
            dark_s: self.dark.map(|dark| dark.as_secs_f64()),
            kind: self.kind,
            not_ruled_out: not_ruled_out.unwrap_or_default(),
            lasting_rps: self.lasting(),
            result,
            tested: Tested { calls: shots.len(), seconds: evidence::span(&shots) },
            ended: self.ended,
            why: self.why,
            steps: self.steps,
            learned: self.range.learned(),
        }
    }
}
