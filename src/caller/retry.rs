use std::time::Duration;

use crate::model::outcome::{Trouble, TroubleKind};
use crate::settings::retry::{RetryAfterRule, RetrySettings};

/// No call sits in a longer wait than this: it is deferred.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The retries of one call so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tries {
    /// Attempts that counted.
    used: u32,
    /// Waits handed out.
    waits: u32,
    spent: Duration,
    has_reconnected: bool,
    refusals: u32,
}

/// An attempt that brought no page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed<'a> {
    pub(super) trouble: &'a Trouble,
    pub(super) http_status: Option<u16>,
    pub(super) took: Duration,
    pub(super) connection: Connection,
}

/// How the connection of a failed attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// It was unused for a while and died before the answer: the server had closed it, the request is not to blame.
    Stale,
    Other,
}

/// What a call does after an attempt that brought no page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    Again {
        wait: Duration,
    },
    WhenProviderAnswers,
    /// The server asked for more than a call waits: its whole API is left alone.
    LeaveAlone {
        wait: Duration,
    },
    /// Our own wait is too long to sit out.
    Defer {
        wait: Duration,
    },
    End,
}

impl RetrySettings {
    /// What the server asked to wait, as far as it is heard.
    ///
    /// Some servers send `Retry-After` with every answer: it is obeyed with 429 and 503 or where the answer itself says
    /// that asking again helps.
    pub(super) fn asked(&self, trouble: &Trouble, http_status: Option<u16>) -> Option<Duration> {
        let asked = trouble.retry_after.filter(|asked| !asked.is_zero())?;
        let is_meant = matches!(http_status, Some(429 | 503))
            || match trouble.kind {
                TroubleKind::Retry | TroubleKind::Misfit | TroubleKind::Uneven | TroubleKind::SlowDown => true,
                TroubleKind::Spent
                | TroubleKind::Refused
                | TroubleKind::Invalid
                | TroubleKind::TooBig
                | TroubleKind::Restart
                | TroubleKind::Later
                | TroubleKind::Garbled => false,
            };
        match self.retry_after {
            RetryAfterRule::Strict => is_meant.then_some(asked),
            RetryAfterRule::Capped => is_meant.then_some(asked.min(self.max_delay)),
            RetryAfterRule::Ignore => None,
        }
    }

    /// The wait before retry `index`, from 0. `random` is in 0 to 1.
    pub(super) fn jittered_wait(&self, index: u32, random: f64) -> Duration {
        let longest = self.max_delay.saturating_sub(self.jitter);
        let seconds = self.delay.as_secs_f64() * self.multiplier.powi(i32::try_from(index).unwrap_or(i32::MAX));
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or(longest).min(longest);
        (wait + self.jitter.min(self.max_delay).mul_f64(random.clamp(0.0, 1.0))).min(self.max_delay)
    }
}

impl Tries {
    /// The number of the attempt that comes next, from 1.
    pub(super) fn number(&self) -> u32 {
        self.used + 1
    }

    /// How often key or permission were refused.
    pub(super) fn refusals(&self) -> u32 {
        self.refusals
    }

    /// Counts a failed attempt and says what follows.
    pub(super) fn after(&mut self, failed: Failed<'_>, settings: &RetrySettings, random: f64) -> Next {
        self.spent += failed.took;
        let may_go_on = match failed.trouble.kind {
            TroubleKind::SlowDown => return Next::WhenProviderAnswers,
            TroubleKind::Retry | TroubleKind::Misfit | TroubleKind::Uneven | TroubleKind::Garbled => {
                self.used < settings.max_retries
            }
            // Asked once more, however few retries are set: one refusal is no proof.
            TroubleKind::Refused => {
                self.refusals += 1;
                self.refusals < 2
            }
            TroubleKind::Spent | TroubleKind::Invalid | TroubleKind::TooBig | TroubleKind::Restart | TroubleKind::Later => {
                return Next::End;
            }
        };
        self.used += 1;
        let asked = settings.asked(failed.trouble, failed.http_status).unwrap_or(Duration::ZERO);
        if asked > settings.max_delay.min(LONGEST_WAIT) {
            return Next::LeaveAlone { wait: asked };
        }
        if !may_go_on {
            return Next::End;
        }
        if failed.connection == Connection::Stale && !self.has_reconnected {
            self.has_reconnected = true;
            return Next::Again { wait: Duration::ZERO };
        }
        let wait = settings.jittered_wait(self.waits, random).max(asked);
        if settings.total_timeout.is_some_and(|limit| self.spent.saturating_add(wait) >= limit) {
            return Next::End;
        }
        if wait > LONGEST_WAIT {
            return Next::Defer { wait };
        }
        self.waits += 1;
        self.spent += wait;
        Next::Again { wait }
    }
}
