//! How fast one provider is asked, below what the settings allow.

mod flight;
mod latency;
mod numbers;
mod search;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::{Nanos, nanos};
use crate::model::event::Pace;
use numbers::*;
use search::Search;

/// The rate one provider is asked at. One number line of time, no waiting: events in, [`Orders`] out.
///
/// A refusal lowers the rate at once, and what was refused is remembered: below it the rate rises again with each second
/// in which it was used and nothing was refused, and beyond it only slowly. The settings are never exceeded, nor what the
/// provider announces.
///
/// A pace that is looked for begins low, or with what a probe found, learns how many calls in flight are borne as well,
/// stays well below a rate that led to a ban, and gives up where it is refused again and again.
#[derive(Debug)]
pub(super) struct Speed {
    /// Calls a second that the settings allow; infinite where they set no limit.
    ceiling: f64,
    /// Calls a second that the provider announces.
    announced: f64,
    rate: f64,
    fail: Option<Fail>,
    second: Second,
    /// When calls were accepted lately.
    accepted: VecDeque<Nanos>,
    light_since: Nanos,
    clean_since: Nanos,
    creep_after: Duration,
    /// What is learned where the pace is looked for.
    search: Option<Search>,
    /// Hosts that share the pace, of which this one sees its own calls alone.
    hosts: f64,
}

/// What is in force from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Orders {
    /// Calls a second; infinite is no limit.
    pub(super) rate: f64,
    /// Calls in flight, where they are not those of the settings.
    pub(super) in_flight: Option<u32>,
}

/// When a call left, and how many were in flight then, itself among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) at: Nanos,
    pub(super) in_flight: u32,
}

/// The rate that was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fail {
    rate: f64,
    /// It may have been the calls in flight.
    is_doubted: bool,
}

/// Since the pace was looked at last.
#[derive(Clone, Copy, Debug)]
struct Second {
    began: Nanos,
    sent: u32,
}

/// Where the search for a pace begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Calls a second.
    pub rate: f64,
    /// As many calls in flight as a probe had.
    pub in_flight: Option<u32>,
}

impl Start {
    /// Where nothing is known.
    pub const COLD: Self = Self { rate: COLD, in_flight: None };
}

impl Speed {
    /// The pace of the settings; infinite is no limit.
    pub(super) fn set(ceiling: f64) -> Self {
        Self {
            ceiling,
            announced: f64::INFINITY,
            rate: ceiling,
            fail: None,
            second: Second { began: 0, sent: 0 },
            accepted: VecDeque::new(),
            light_since: 0,
            clean_since: 0,
            creep_after: Duration::ZERO,
            search: None,
            hosts: 1.0,
        }
    }

    /// A pace that is looked for, at most `ceiling` a second and `most` in flight.
    pub(super) fn sought(start: Start, ceiling: f64, most: u32) -> Self {
        let search = Some(Search::new(most, start.in_flight));
        Self { rate: start.rate.min(ceiling), search, ..Self::set(ceiling) }
    }

    pub(super) fn orders(&self) -> Orders {
        Orders { rate: self.rate, in_flight: self.search.as_ref().map(|search| search.in_flight(self.rate)) }
    }

    /// What to tell of it.
    pub(super) fn pace(&self) -> Pace {
        let Orders { rate, in_flight } = self.orders();
        Pace { rps: rate, ceiling_rps: self.ceiling, refused_rps: self.fail.map(|fail| fail.rate), in_flight }
    }

    /// Why the provider is not to be asked any more, if it is not.
    pub(super) fn objection(&self) -> Option<String> {
        self.search.as_ref()?.objection()
    }

    /// So many other hosts ask at this pace as well, and each has an equal part of it.
    pub(super) fn share_with(&mut self, others: u32) {
        self.hosts = f64::from(others) + 1.0;
    }

    pub(super) fn sent(&mut self, now: Nanos) {
        if self.second.began == 0 && self.second.sent == 0 {
            (self.second.began, self.light_since, self.clean_since) = (now, now, now);
        }
        self.second.sent += 1;
    }

    /// A call brought a page.
    pub(super) fn accepted(&mut self, now: Nanos, departure: Departure) {
        self.accepted.push_back(now);
        let before = now.saturating_sub(nanos(ACCEPTED_WITHIN + REFUSED_LATE));
        while self.accepted.front().is_some_and(|at| *at < before) {
            self.accepted.pop_front();
        }
        let mut is_slow = false;
        if let Some(search) = &mut self.search {
            search.count(false);
            search.let_in += 1;
            search.flight.accepted(departure.in_flight);
            is_slow = search.latency.took(Duration::from_nanos(now.saturating_sub(departure.at)));
        }
        if is_slow && let Some(accepted) = self.accepted_rate(now) {
            self.rate = (AT_SLOWNESS * accepted).clamp(self.lowest(), self.rate.max(self.lowest()));
            self.fail = Some(Fail { rate: FAIL_OF_SLOWNESS * self.rate, is_doubted: false });
            self.begin_second(now);
        }
        self.look(now);
    }

    /// A call was refused for speed that turned the provider dark.
    pub(super) fn refused(&mut self, now: Nanos, departure: Departure) {
        let took = Duration::from_nanos(now.saturating_sub(departure.at));
        let is_late = self.search.as_ref().is_some_and(|search| search.latency.is_silence(took));
        // What was kept waiting was refused as it left.
        let accepted = self.accepted_rate(if is_late { departure.at } else { now });
        let failing = accepted.map_or(self.rate, |accepted| accepted.min(self.rate));
        let mut is_doubted = false;
        if let Some(search) = &mut self.search {
            search.events += 1;
            search.was_silence = is_late;
            search.count(!is_late);
            let limit = search.flight.limit();
            let bore = self.fail.filter(|fail| self.rate < BORNE * fail.rate);
            is_doubted = match (limit, bore) {
                // And piled up because of it.
                (_, _) if is_late => false,
                // This very rate was borne before: one more was in flight there than here.
                (Some(limit), Some(_)) if departure.in_flight <= limit => {
                    search.flight.lower_to(limit - 1);
                    true
                }
                (Some(limit), None) if departure.in_flight <= limit => {
                    search.flight.clear();
                    false
                }
                (_, _) => search.flight.blames(departure.in_flight),
            };
        }
        if self.rate.is_finite() {
            self.fail = Some(Fail { rate: failing, is_doubted });
            self.rate = (AT_A_REFUSAL * failing).max(self.lowest());
        }
        self.creep_after = (self.creep_after * 2).clamp(CREEP_AFTER, CREEP_AFTER_AT_MOST);
    }

    /// Another call of the same event was refused.
    pub(super) fn refused_too(&mut self, departure: Departure) {
        let Some(search) = &mut self.search else { return };
        search.count(!search.was_silence);
        if search.flight.limit().is_some_and(|limit| departure.in_flight <= limit) && !search.flight.blames(departure.in_flight) {
            search.flight.clear();
            if let Some(fail) = &mut self.fail {
                fail.is_doubted = false;
            }
        }
    }

    /// The refusal turned out to be a ban.
    pub(super) fn banned(&mut self) {
        let Some(search) = &mut self.search else { return };
        search.banned();
        if let Some(fail) = &mut self.fail {
            fail.is_doubted = false;
            self.rate = AFTER_A_BAN * fail.rate;
        }
        self.rate = self.rate.max(self.lowest());
    }

    /// The provider announces so many calls a second. Whether that is slower than it is asked.
    pub(super) fn announced(&mut self, rate: f64) -> bool {
        let is_slower = rate < self.rate;
        (self.announced, self.rate) = (rate, self.rate.min(rate));
        is_slower
    }

    /// The provider answers again.
    pub(super) fn resumed(&mut self, now: Nanos) {
        self.keep_to_what_lasts(now);
        self.accepted.clear();
        (self.light_since, self.clean_since) = (now, now);
        self.begin_second(now);
    }

    /// Whether a failure without a code is a refusal in disguise. Those that come however slowly it is asked are none, and
    /// the pace is looked for anew.
    pub(super) fn unmask(&mut self, now: Nanos, took: Duration, says_wait: bool) -> bool {
        let Some(search) = &mut self.search else { return false };
        let was_deceived = search.was_deceived();
        let is_refusal = search.unmask(now, self.rate, took, says_wait);
        if search.was_deceived() && !was_deceived {
            self.fail = None;
        }
        is_refusal
    }

    /// Banned again, the provider may count the calls of a minute or more, of which no rate of now says anything.
    fn keep_to_what_lasts(&mut self, now: Nanos) {
        let Some(search) = &mut self.search else { return };
        let let_in = f64::from(std::mem::take(&mut search.let_in));
        let seconds = Duration::from_nanos(now.saturating_sub(self.light_since)).as_secs_f64();
        if !search.is_banned_again() || seconds <= 0.0 {
            return;
        }
        let lasting = (OF_LASTING * self.hosts * let_in / seconds).max(self.lowest());
        if let Some(fail) = &mut self.fail {
            fail.rate = fail.rate.min(lasting / AT_MOST_AFTER_A_BAN);
        }
        self.rate = self.rate.min(lasting);
    }

    /// Once a second: whether the pace rises.
    fn look(&mut self, now: Nanos) {
        let elapsed = now.saturating_sub(self.second.began);
        if elapsed < nanos(STEP) {
            return;
        }
        let meant = self.rate / self.hosts * Duration::from_nanos(elapsed).as_secs_f64();
        let is_used = f64::from(self.second.sent) + 1.0 >= USED * meant;
        self.begin_second(now);
        if is_used {
            self.rate = self.raised(now).min(self.ceiling).min(self.announced).max(self.rate);
        } else {
            // A pace that nobody used says nothing.
            self.clean_since = self.clean_since.saturating_add(elapsed);
        }
        if self.fail.is_some_and(|fail| self.rate > DISPROVED * fail.rate) {
            self.fail = None;
        }
    }

    fn raised(&mut self, now: Nanos) -> f64 {
        let Some(fail) = self.fail else { return self.rate * GROWTH };
        let back = self.rate + (GROWTH_BACK * fail.rate).max(LEAST_GROWTH_BACK);
        if self.search.as_ref().is_some_and(Search::is_latched) {
            return back.min(AT_MOST_AFTER_A_BAN * fail.rate);
        }
        if fail.is_doubted {
            return back;
        }
        if self.rate < NEAR * fail.rate {
            return back.min(NEAR * fail.rate);
        }
        if now.saturating_sub(self.clean_since) < nanos(self.creep_after) {
            return self.rate;
        }
        self.clean_since = now;
        self.rate * CREEP
    }

    fn begin_second(&mut self, now: Nanos) {
        self.second = Second { began: now, sent: 0 };
    }

    /// Calls a second of all hosts that were accepted lately, where there were enough to tell.
    fn accepted_rate(&self, now: Nanos) -> Option<f64> {
        let since = self.light_since.max(now.saturating_sub(nanos(ACCEPTED_WITHIN)));
        let count = self.accepted.iter().filter(|at| (since..=now).contains(*at)).count();
        let seconds = Duration::from_nanos(now.saturating_sub(since)).as_secs_f64();
        (count >= FEWEST_ACCEPTED && seconds > 0.0).then(|| self.hosts * count as f64 / seconds)
    }

    fn lowest(&self) -> f64 {
        LOWEST.min(LOWEST_OF_CEILING * self.ceiling)
    }
}
