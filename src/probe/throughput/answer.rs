use super::envelope::{contradicts, proven_rate, refusing_rate, soak_seconds, upper_bound};
use super::evidence::{self, Refusal};
use super::range::Halt;
use super::report::{Answer, Confidence, Ended, LimitKind};
use super::search::{FEWEST, Found, Search};
use super::shot::Shot;
use super::step::{Step, StepKind, rate};

/// The part of the last rate that held which is recommended.
const MARGIN: f64 = 0.9;
const MARGIN_AFTER_BAN: f64 = 0.8;
const LEAST_SOAK: f64 = 3.0;
const SOAK_WITHOUT_REFUSAL: f64 = 7.0;
/// Seconds of calls that a source may save up.
const BURSTS: [f64; 4] = [0.1, 0.25, 0.5, 1.0];
/// A source that opens so long after the first call counts the calls of a minute, or of ten seconds.
const ABOUT_A_MINUTE: std::ops::RangeInclusive<f64> = 54.0..=68.0;
const ABOUT_TEN_SECONDS: std::ops::RangeInclusive<f64> = 9.9..=10.9;

impl Search<'_, '_> {
    /// Keeps the answer up until calls that were saved up for it must be used up.
    pub(super) async fn soak(&mut self, clean: &Step, refusal: Option<Refusal>) -> Option<Found> {
        let candidate = MARGIN * clean.offered.min(self.bounds.ceiling);
        let rates: Vec<(f64, f64)> = match &refusal {
            Some(Refusal { accepted, at }) => BURSTS.iter().map(|burst| (*burst, refusing_rate(accepted, *at, *burst))).collect(),
            None => Vec::new(),
        };
        let needed = rates.iter().filter_map(|(burst, rate)| soak_seconds(candidate, *rate, *burst)).fold(LEAST_SOAK, f64::max);
        let seconds = if refusal.is_some() { needed } else { SOAK_WITHOUT_REFUSAL };
        let concurrency = clean.in_flight.max(1);
        let mut calls = ((candidate * seconds).ceil() as usize + 1).min(self.left());
        let mut shots: Vec<Shot> = Vec::new();
        let mut open: Vec<&(f64, f64)>;
        loop {
            let is_first = shots.is_empty();
            let (more, halt) = self.step_shots(StepKind::Soak, candidate, concurrency, calls).await;
            match halt {
                Halt::Quota | Halt::Barred | Halt::Stopped => {
                    self.stopped(halt);
                    return None;
                }
                Halt::Refused | Halt::Silent => return Some(self.refused_in_soak(clean).await),
                Halt::No | Halt::Failing => {}
            }
            shots.extend(more);
            let (span, sent) = (evidence::span(&shots), rate(&shots));
            open = rates
                .iter()
                .filter(|(burst, rate)| *rate < candidate && !contradicts(shots.len(), span, *rate, *burst))
                .collect();
            // Where the calls in flight, or a busy machine, made it slower than it was meant to be, it takes longer.
            let needed = open.iter().map(|(burst, rate)| soak_seconds(sent, *rate, *burst)).collect::<Option<Vec<f64>>>();
            calls = needed.map_or(0, |needed| ((needed.into_iter().fold(span, f64::max) - span) * sent).ceil() as usize);
            if !is_first || calls == 0 || halt == Halt::Failing || calls + FEWEST > self.left() {
                break;
            }
            calls += FEWEST;
        }
        let accepted = shots.len();
        let held = open.iter().map(|(_, rate)| 0.95 * rate).fold(candidate, f64::min);
        let (rps, confidence) = match refusal {
            Some(_) => (held, if open.is_empty() { Confidence::Soaked } else { Confidence::Unsure }),
            None => {
                let all: Vec<f64> = self.range.shots().iter().map(|shot| shot.sent.as_secs_f64()).collect();
                (candidate.min(proven_rate(&all)), Confidence::NoLimitSeen)
            }
        };
        let not_ruled_out = open.iter().map(|(burst, rate)| format!("calls saved up for {burst} s at {rate:.1}/s")).collect();
        Some((answer(rps, concurrency, confidence, accepted), not_ruled_out))
    }

    async fn refused_in_soak(&mut self, clean: &Step) -> Found {
        let refusal = self.refusal(self.last_step().calls);
        let lasts = evidence::lasts_between_refusals(&self.range.shots(), refusal.at).unwrap_or(0.0);
        self.wait_for_light().await;
        let concurrency = clean.in_flight.max(1);
        if self.is_ban {
            (self.ended, self.kind) = (Ended::Blocked, LimitKind::LongWindow);
            let rps = MARGIN_AFTER_BAN * self.lasting();
            return (answer(rps, 1, Confidence::LongWindow, 0), Vec::new());
        }
        self.kind = LimitKind::Rate;
        let deep = refusing_rate(&refusal.accepted, refusal.at, 5.0);
        let rps = 0.95 * deep.max(lasts).min(MARGIN * clean.offered);
        (answer(rps, concurrency, Confidence::Unsure, 0), vec!["calls saved up for more than 5 s".to_owned()])
    }

    pub(super) fn after_ban(&mut self, clean: &Step, refusal: &Refusal) -> Found {
        self.ended = Ended::Blocked;
        self.kind = LimitKind::Ban;
        let bound = refusing_rate(&refusal.accepted, refusal.at, 1.0);
        let mut rps = (MARGIN_AFTER_BAN * clean.offered).min(MARGIN * bound);
        let mut not_ruled_out = Vec::new();
        let lasting = self.lasting();
        let first = self.range.shots().first().map_or(0.0, |shot| shot.sent.as_secs_f64());
        match self.dark.map(|dark| refusal.at + dark.as_secs_f64() - first) {
            Some(seconds) if ABOUT_A_MINUTE.contains(&seconds) || ABOUT_TEN_SECONDS.contains(&seconds) => {
                self.kind = LimitKind::LongWindow;
                // Some count by the clock: a part of the calls may have been of the minute before.
                rps = rps.min(MARGIN_AFTER_BAN * lasting);
            }
            Some(_) => not_ruled_out.push(format!("that the calls of a longer while were counted: then {lasting:.1}/s lasts")),
            // For how long it is shut, or what it counts, is not known: no more than it let in so far.
            None => {
                rps = rps.min(MARGIN * lasting);
                not_ruled_out.push("that the calls of an hour or a day were counted".to_owned());
            }
        }
        let concurrency = clean.in_flight.max(1);
        let confidence = if self.kind == LimitKind::LongWindow { Confidence::LongWindow } else { Confidence::Blocked };
        (answer(rps, concurrency, confidence, 0), not_ruled_out)
    }
}

fn answer(rps: f64, concurrency: u32, confidence: Confidence, without_refusal: usize) -> Answer {
    // Rounded down, so that what is written is never more than what was found.
    let rps = (rps * 10.0).floor() / 10.0;
    let rps = rps.max(0.1);
    Answer { rps, concurrency, min_gap_ms: 1000.0 / rps, confidence, upper95_refused: upper_bound(without_refusal) }
}
