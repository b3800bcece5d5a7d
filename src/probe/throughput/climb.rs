use super::evidence;
use super::range::Halt;
use super::report::LimitKind;
use super::search::{FEWEST, Search};
use super::step::{Step, StepKind, StepVerdict};

const GROWTH: f64 = 1.4;
const STEP_SECONDS: f64 = 1.5;

/// How far faster and faster went.
pub(super) struct Climb {
    /// The last step in which nothing gave.
    pub(super) clean: Step,
    pub(super) last: Step,
    pub(super) halt: Halt,
}

impl Search<'_, '_> {
    /// Faster and faster, until something gives.
    pub(super) async fn climb(&mut self, first: f64) -> Option<Climb> {
        let mut clean = self.last_step();
        let mut before = clean.clone();
        let mut rate = first;
        let mut wider = 0;
        loop {
            let cap = (self.cap_for(rate, &clean) + wider).min(self.bounds.max_concurrency);
            let calls = ((STEP_SECONDS * rate).ceil() as usize).max(FEWEST);
            if calls + FEWEST > self.left() {
                return Some(Climb { last: clean.clone(), clean, halt: Halt::No });
            }
            let (step, halt) = self.step(StepKind::Ladder, rate, cap, calls).await;
            match (halt, step.verdict) {
                (Halt::Quota | Halt::Barred | Halt::Stopped, _) => {
                    self.stopped(halt);
                    return None;
                }
                // One of it was a refusal as well, which shows only now.
                (Halt::Refused, _) if evidence::was_refused_before(&self.range.shots(), step.calls, clean.calls) => {
                    return Some(Climb { clean: before, last: clean, halt });
                }
                (Halt::Refused | Halt::Silent | Halt::Failing, _) => return Some(Climb { clean, last: step, halt }),
                (Halt::No, StepVerdict::Slow) => {
                    self.kind = LimitKind::Queue;
                    return Some(Climb { clean, last: step, halt });
                }
                // Answers, or this machine, were slower than a step before: once more with more in flight.
                (Halt::No, StepVerdict::Held) if wider == 0 && cap < self.bounds.max_concurrency => {
                    wider = cap.div_ceil(2);
                    continue;
                }
                (Halt::No, StepVerdict::Held) => {
                    let clean = Step { offered: step.sent.max(clean.offered), ..step.clone() };
                    return Some(Climb { clean, last: step, halt });
                }
                (Halt::No, StepVerdict::Clean | StepVerdict::Refused | StepVerdict::Failing) => {
                    before = std::mem::replace(&mut clean, step);
                }
            }
            if rate >= self.bounds.ceiling {
                return Some(Climb { last: clean.clone(), clean, halt });
            }
            rate = (rate * GROWTH).min(self.bounds.ceiling);
            wider = 0;
        }
    }

    /// One try between the last clean step and the refused one; returns what ended it, if that is the end of all.
    pub(super) async fn refine(&mut self, clean: &mut Step, refused: &Step) -> Option<Halt> {
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
}
