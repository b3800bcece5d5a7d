use std::collections::VecDeque;
use std::time::Duration;

use super::appetite::{Appetite, End};
use super::offset::Offset;
use crate::caller::clock::{Nanos, nanos};
use crate::caller::pacer::slack;
use crate::caller::slots::Batch;

/// The batches that were reserved, by our clock. One number line of time, no waiting: that is in `lane/mod.rs`.
#[derive(Debug)]
pub(super) struct Stock {
    offset: Option<Offset>,
    windows: VecDeque<Window>,
    /// The latest batch ends then, by the shared clock.
    end: Nanos,
    /// Since then all time is ours up to that end.
    ours_since: Nanos,
    appetite: Appetite,
    is_asked_for: bool,
    /// How long the latest reservation took.
    took: Nanos,
}

/// When the requests of a batch may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: Nanos,
    until: Nanos,
    count: u32,
    sent: u32,
    /// The next batch is ours as well: nothing is lost between them.
    is_followed: bool,
}

/// What is to be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) count: u32,
    pub(super) margin: Duration,
}

/// The part of a batch, and the most of it, by which its last request may be late without being forfeited.
const LATE: Nanos = 100;
const MOST_LATE: Nanos = 2_000_000;

/// Enough for the first batch, before anything is known of the other clock.
const FIRST_MARGIN: Nanos = 5_000_000;

impl Stock {
    pub(super) fn new() -> Self {
        let (windows, appetite) = (VecDeque::new(), Appetite::new());
        Self { offset: None, windows, end: 0, ours_since: 0, appetite, is_asked_for: false, took: 0 }
    }

    /// So many requests may be in flight from now on.
    pub(super) fn has_permits(&mut self, permits: u32) {
        self.appetite.has_permits(permits);
    }

    /// When a request may leave that would leave then; `None` when that is not known yet.
    pub(super) fn opens_for(&self, at: Nanos) -> Option<Nanos> {
        self.windows.iter().find(|window| at <= window.until).map(|window| at.max(window.from))
    }

    /// What to reserve now for a request that would leave then, the first of so many that wait: in time for those behind
    /// it too. It is to be followed by [`Stock::add`].
    pub(super) fn need(&mut self, at: Nanos, waiting: u32, interval: Nanos) -> Option<Need> {
        let behind = interval.saturating_mul(waiting.saturating_sub(1).into()).min(self.took.max(interval));
        if self.is_asked_for || self.opens_for(at.saturating_add(behind)).is_some() {
            return None;
        }
        self.is_asked_for = true;
        let count = self.appetite.count(waiting, interval);
        let late = (interval.saturating_mul(count.into()) / LATE).min(MOST_LATE);
        let unknown = self.offset.map_or(FIRST_MARGIN, |offset| offset.width());
        let margin = unknown.saturating_add(late).saturating_sub(slack(interval) / 2);
        Some(Need { count, margin: Duration::from_nanos(margin) })
    }

    pub(super) fn add(&mut self, batch: Batch) {
        let Batch { start, end, count, interval, reading } = batch;
        let offset = self.offset.map_or_else(|| Offset::of(reading), |offset| offset.with(reading));
        self.offset = Some(offset);
        self.is_asked_for = false;
        self.took = reading.heard.saturating_sub(reading.asked);
        let is_next = start == self.end;
        self.end = end;
        self.appetite.is_contended(!is_next && start > reading.told);
        if !is_next {
            self.ours_since = offset.latest(start);
        }
        let (interval, from) = (nanos(interval), self.ours_since);
        let until = offset.earliest(end).saturating_sub(interval - slack(interval));
        if let Some(last) = self.windows.back_mut() {
            last.is_followed |= is_next;
        }
        // Else it is too short for what is not known of the other clock; the next has a wider margin.
        if from <= until {
            self.windows.push_back(Window { from, until, count, sent: 0, is_followed: false });
        }
    }

    /// A request left.
    pub(super) fn left(&mut self, now: Nanos) {
        if let Some(window) = self.windows.iter_mut().find(|window| now <= window.until) {
            window.sent += 1;
        }
    }

    /// Forgets what is over: what was not used of it is forfeited. Since `waiting_since` there was always a call that
    /// would have used it: what was left over then was only late.
    pub(super) fn forget(&mut self, now: Nanos, waiting_since: Nanos) {
        while let Some(window) = self.windows.front().filter(|window| window.until < now) {
            let end = match window.count.saturating_sub(window.sent) {
                _ if window.is_followed || waiting_since <= window.until => End::Short,
                0 => End::Enough,
                left_over => End::LeftOver(left_over),
            };
            self.appetite.was_given(window.count, end);
            self.windows.pop_front();
        }
    }
}
