use std::time::Duration;

use super::climb::Climb;
use super::evidence::{self, Refusal};
use super::range::{Halt, Range};
use super::report::{Answer, Ended, LimitKind, Subject, Tested, Throughput};
use super::shot::{Came, Shot};
use super::step::{Step, StepKind, StepVerdict};
use super::target::{Bounds, Row, Target, Tell, Told};
use crate::model::rate::Rate;

const BASE_CALLS: usize = 8;
const BASE_RATE: f64 = 5.0;
/// Where the base is refused: calls a second to begin with, and the share of the base that is not exceeded.
const SLOWEST: f64 = 0.9;
const BELOW_BASE: f64 = 0.75;
/// The share of what a source announces that is tried: it may see calls a little closer together than they were sent.
const OF_ANNOUNCED: f64 = 0.95;
const LEAST_CEILING: f64 = 0.1;
/// What an answer of the plain table may take before it is given up.
const LONGEST_IN_A_ROW: Duration = Duration::from_secs(15);
/// Calls of a step at least.
pub(super) const FEWEST: usize = 10;
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
    /// Whether it was shut for a while, and not only to the calls that came too fast.
    pub(super) is_ban: bool,
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
            is_ban: false,
            kind: LimitKind::None,
            ended: Ended::Answered,
            why: None,
        }
    }

    async fn run(&mut self) -> Option<Found> {
        let (base, halt) = self.step(StepKind::Base, BASE_RATE.min(self.bounds.ceiling), 1, BASE_CALLS).await;
        let (mut first_rate, mut base_refused) = (f64::INFINITY, None);
        if halt != Halt::No {
            if self.stopped(halt) {
                return None;
            }
            self.ended = Ended::Blocked;
            if !self.may_be_slower(&base).await {
                return None;
            }
            first_rate = SLOWEST;
            base_refused = Some(self.refusal(self.range.shots().len()));
        }
        self.usual = self.range.take_usual();
        let Some(usual) = self.usual else {
            (self.ended, self.why) = (Ended::Trouble, Some("no call was answered with a page".to_owned()));
            return None;
        };
        self.heed_announced();
        let Climb { mut clean, last: refused, halt } =
            self.climb((1.2 / usual.as_secs_f64()).min(first_rate).min(self.bounds.ceiling)).await?;
        if base_refused.is_some() && clean.kind == StepKind::Base {
            // Not even the slowest step was borne.
            if !self.stopped(halt) {
                self.ended = Ended::Blocked;
            }
            return None;
        }
        match halt {
            Halt::Refused | Halt::Silent => {
                let refusal = self.refusal(self.range.shots().len());
                self.wait_for_light().await;
                if self.ended != Ended::Answered {
                    return None;
                }
                if self.is_ban {
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
                if self.is_ban {
                    return Some(self.after_ban(&clean, &refusal));
                }
                self.soak(&clean, Some(refusal)).await
            }
            Halt::No | Halt::Failing => self.soak(&clean, base_refused).await,
            Halt::Quota | Halt::Barred | Halt::Stopped => None,
        }
    }

    /// What the source announces it bears is not exceeded: there is nothing to find out above it.
    fn heed_announced(&mut self) {
        let Some(rps) = self.range.announced() else { return };
        let ceiling = OF_ANNOUNCED * rps;
        if ceiling < self.bounds.ceiling {
            self.bounds.ceiling = ceiling.max(LEAST_CEILING);
            let told = (rps * 1000.0).round() / 1000.0;
            self.note(format!("announces {told} calls a second: not tried any faster than {:.1}/s", self.bounds.ceiling));
        }
    }

    /// Whether a source that refused the base, but let some of it in, bears less than that; if so, what is known of it.
    async fn may_be_slower(&mut self, base: &Step) -> bool {
        if base.good == 0 || base.offered <= SLOWEST {
            return false;
        }
        self.wait_for_light().await;
        if self.dark.is_none() || self.is_ban || !matches!(self.ended, Ended::Blocked) {
            return false;
        }
        (self.ended, self.why, self.kind) = (Ended::Answered, None, LimitKind::Rate);
        // Refused once: one more time is all that is asked of it.
        (self.bounds.ceiling, self.bounds.refine) = (BELOW_BASE * base.offered, 0);
        true
    }

    pub(super) async fn step(&mut self, kind: StepKind, rate: f64, cap: u32, calls: usize) -> (Step, Halt) {
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

    /// The first refusal among the last so many requests.
    pub(super) fn refusal(&self, last: usize) -> Refusal {
        evidence::refusal(&self.range.shots(), last, self.range.now())
    }

    /// Calls a second that were accepted, over the time until the source was open again, or until now where it never was.
    pub(super) fn lasting(&self) -> f64 {
        let shots = self.range.shots();
        match self.dark {
            Some(_) => evidence::lasting(&shots),
            None => evidence::let_in_until(&shots, self.range.now()),
        }
    }

    /// As many in flight as a rate needs, by what answers took in a step.
    pub(super) fn cap_for(&self, rate: f64, step: &Step) -> u32 {
        let p90 = step.p90_ms.unwrap_or(1000) as f64 / 1000.0;
        ((rate * p90).ceil() as u32).clamp(1, self.bounds.max_concurrency)
    }

    pub(super) fn left(&self) -> usize {
        self.bounds.max_calls.saturating_sub(self.range.shots().len())
    }

    pub(super) fn last_step(&self) -> Step {
        self.steps.last().expect("a step was made").clone()
    }

    pub(super) fn note(&mut self, note: String) {
        (self.tell)(Told::Note(note));
    }

    fn into_report(self, subject: Subject, found: Option<Found>) -> Throughput {
        let shots = self.range.shots();
        let (result, not_ruled_out) = found.unzip();
        let mut not_ruled_out = not_ruled_out.unwrap_or_default();
        if result.is_some() {
            let longer = if self.kind == LimitKind::LongWindow { "an hour, a day" } else { "a minute, a day" };
            not_ruled_out.push(format!("a limit over a longer time ({longer}), which would not have shown"));
        }
        Throughput {
            schema: 1,
            subject,
            budget: self.bounds.max_calls,
            used: shots.len(),
            ceiling: self.bounds.ceiling,
            dark_s: self.dark.map(|dark| dark.as_secs_f64()),
            kind: self.kind,
            not_ruled_out,
            lasting_rps: self.dark.map(|_| self.lasting()),
            result,
            tested: Tested { calls: shots.len(), seconds: evidence::span(&shots) },
            ended: self.ended,
            why: self.why,
            steps: self.steps,
            learned: self.range.learned(),
        }
    }
}
