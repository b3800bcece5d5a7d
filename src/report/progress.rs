use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::model::event::{Event, Listener, NextStep};
use crate::model::name::Name;
use crate::model::rate::Rate;
use crate::model::verdict::Verdict;

use super::number::{counted, duration, grouped};

/// Where a run stands: one bar on a terminal, a line now and then elsewhere.
pub struct Progress {
    state: Mutex<State>,
    rate: Rate,
    bar: Option<ProgressBar>,
}

#[derive(Debug)]
struct State {
    planned: u64,
    ended: u64,
    gaps: u64,
    rows: u64,
    retries: u64,
    in_flight: u32,
    permits: u32,
    started: Instant,
    /// How far the pace of each provider is below its cap.
    below: BTreeMap<Name, f64>,
    /// Sends of the last seconds, to tell the rate of now.
    sends: std::collections::VecDeque<Instant>,
}

impl Progress {
    /// How far back the shown rate looks.
    const WINDOW: Duration = Duration::from_secs(5);

    /// Progress of a run of `planned` partitions; `bars` when stderr is a terminal that wants them.
    pub fn new(planned: u64, rate: Rate, permits: u32, bars: Option<&MultiProgress>, now: Instant) -> Self {
        let bar = bars.map(|bars| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}").expect("the template is well formed");
            bars.add(ProgressBar::new(planned).with_style(style.progress_chars("=> ")))
        });
        let state = State {
            planned,
            ended: 0,
            gaps: 0,
            rows: 0,
            retries: 0,
            in_flight: 0,
            permits,
            started: now,
            below: BTreeMap::new(),
            sends: std::collections::VecDeque::new(),
        };
        Self { state: Mutex::new(state), rate, bar }
    }

    /// Brings the bar up to date.
    pub fn draw(&self, now: Instant) {
        if let Some(bar) = &self.bar {
            let mut state = self.lock();
            bar.set_position(state.ended);
            bar.set_message(self.message(&mut state, now));
        }
    }

    /// The line that stands for the bar where there is none.
    pub fn line(&self, now: Instant) -> String {
        let mut state = self.lock();
        format!("{}/{} partitions, {}", grouped(state.ended), grouped(state.planned), self.message(&mut state, now))
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn message(&self, state: &mut State, now: Instant) -> String {
        while state.sends.front().is_some_and(|&sent| now.duration_since(sent) > Self::WINDOW) {
            state.sends.pop_front();
        }
        let span = now.duration_since(state.started).min(Self::WINDOW).max(Duration::from_millis(200));
        let rate = state.sends.len() as f64 / span.as_secs_f64();
        let cap = match self.rate {
            Rate::PerSecond(cap) => {
                let below: f64 = state.below.values().sum();
                if below > 0.0 { format!(" of {:.1}", cap - below) } else { format!(" of {cap}") }
            }
            Rate::Unlimited => String::new(),
        };
        let mut message = format!(
            "{}, {rate:.1}{cap}/s, {}/{} in flight, {}, {}",
            counted(state.rows, "row"),
            state.in_flight,
            state.permits,
            if state.retries == 1 { "1 retry".to_owned() } else { format!("{} retries", grouped(state.retries)) },
            counted(state.gaps, "gap"),
        );
        if state.ended > 0 && state.ended < state.planned {
            let per_job = now.duration_since(state.started).as_secs_f64() / state.ended as f64;
            let left = Duration::from_secs_f64(per_job * (state.planned - state.ended) as f64);
            message.push_str(&format!(", {} left", duration(left)));
        }
        message
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no listener panics while it counts")
    }
}

impl Listener for Progress {
    fn hear(&self, event: &Event) {
        let mut state = self.lock();
        match event {
            Event::AttemptStarted { in_flight, permits, .. } => {
                (state.in_flight, state.permits) = (*in_flight, *permits);
                state.sends.push_back(Instant::now());
                // A run without a cap may send thousands a second: only the window is of interest.
                if state.sends.len() > 50_000 {
                    state.sends.pop_front();
                }
            }
            Event::AttemptEnded { next, .. } => {
                state.in_flight = state.in_flight.saturating_sub(1);
                match next {
                    NextStep::Done => {}
                    NextStep::RetryIn(_) | NextStep::WaitForProvider => state.retries += 1,
                }
            }
            Event::PageStored { rows, .. } => state.rows += rows,
            Event::PaceChanged { provider, pace } => {
                state.below.insert(provider.clone(), pace.ceiling_rps - pace.rps);
            }
            Event::JobEnded { verdict, .. } => {
                state.ended += 1;
                match verdict {
                    Verdict::Complete | Verdict::Empty | Verdict::Unverified => {}
                    Verdict::Held | Verdict::Short | Verdict::Failed | Verdict::Deferred | Verdict::Lost => state.gaps += 1,
                }
            }
            Event::JobStarted { .. }
            | Event::ReadRestarted { .. }
            | Event::ProviderPaused { .. }
            | Event::ProviderResumed { .. }
            | Event::RateAnnounced { .. }
            | Event::ApiBlocked { .. }
            | Event::BreakerChanged { .. }
            | Event::Warned { .. } => {}
        }
    }
}
