//! Every number that the speed of a provider goes by.
//!
//! Source: measured on 34 set-ups of eight real limiters, with answers of 110 ms.

use std::time::Duration;

/// The pace is looked at once in so long.
pub(super) const STEP: Duration = Duration::from_secs(1);

// After a refusal.

/// What is left of the rate that was refused.
pub(super) const AT_A_REFUSAL: f64 = 0.7;
/// How far back accepted calls say which rate that was, and how many of them say something.
pub(super) const ACCEPTED_WITHIN: Duration = Duration::from_secs(2);
pub(super) const FEWEST_ACCEPTED: usize = 4;
/// How late a refusal may come for that to be known still.
pub(super) const REFUSED_LATE: Duration = Duration::from_secs(20);
/// Calls a second that are never too many, however often they are refused; less where the ceiling is low.
pub(super) const LOWEST: f64 = 0.5;
pub(super) const LOWEST_OF_CEILING: f64 = 0.05;

// Growing again, with each clean second.

/// As long as nothing was refused.
pub(super) const GROWTH: f64 = 1.2;
/// Back to this share of what was refused, by this much of it, or by so many calls a second.
pub(super) const NEAR: f64 = 0.9;
pub(super) const GROWTH_BACK: f64 = 0.04;
pub(super) const LEAST_GROWTH_BACK: f64 = 0.3;
/// Beyond that by this factor after so long without a refusal; each refusal doubles that time.
pub(super) const CREEP: f64 = 1.03;
pub(super) const CREEP_AFTER: Duration = Duration::from_secs(20);
pub(super) const CREEP_AFTER_AT_MOST: Duration = Duration::from_secs(600);
/// So far above what was refused, without a refusal, it was no limit.
pub(super) const DISPROVED: f64 = 1.1;
/// A pace that was used by less than this share is held down by something else, and is not raised.
pub(super) const USED: f64 = 0.88;

// A pace that is looked for.

/// Calls a second at first, where no probe says more.
pub(super) const COLD: f64 = 5.0;
/// Calls in flight before it is known what an answer takes.
pub(super) const FIRST_IN_FLIGHT: u32 = 2;
pub(super) const FEWEST_ANSWERS: usize = 5;
/// Calls in flight for each that the rate keeps in flight, by what nine of ten answers take.
pub(super) const ROOM_IN_FLIGHT: f64 = 2.0;
/// Accepted calls that may have had as many in flight as one that was refused: one counts here until its answer is read,
/// and at the server only until it is written.
pub(super) const OVERLAPPING: u32 = 2;
/// Accepted calls before the calls in flight may be blamed.
pub(super) const FEWEST_TO_BLAME: u32 = 10;
/// Refused below this share of a rate that was borne, the rate is not to blame.
pub(super) const BORNE: f64 = 0.85;

/// After a ban: never near its rate again.
pub(super) const AFTER_A_BAN: f64 = 0.75;
pub(super) const AT_MOST_AFTER_A_BAN: f64 = 0.78;
/// After a second ban calls of a longer while may have been counted: this share of what was let in from one end of a ban to
/// the next lasts.
pub(super) const OF_LASTING: f64 = 0.9;
/// So many bans end the run at the provider.
pub(super) const BANS: u32 = 3;
/// So many refused of the last so many, in more than one event, end it as well.
pub(super) const LOOKED_AT: usize = 100;
pub(super) const REFUSED_AT_MOST: usize = 10;

/// An answer usually takes what the first so many took.
pub(super) const BASE_ANSWERS: usize = 8;
/// The median of the last so many is slow when it is so many times the usual, and this much more.
pub(super) const RECENT_ANSWERS: usize = 20;
pub(super) const SLOW: f64 = 1.5;
pub(super) const SLOW_BY: Duration = Duration::from_millis(20);
/// What is left of the accepted rate then, and what is taken for refused, as a share of that.
pub(super) const AT_SLOWNESS: f64 = 0.93;
pub(super) const FAIL_OF_SLOWNESS: f64 = 1.1;
/// Asked more slowly, answers become quicker than this share, or the server is just slow.
pub(super) const QUICKER: f64 = 0.9;

/// A failure quicker than this share of the usual time may be a refusal in disguise, and one that took longer than a second
/// and so many times what nine of ten pages take; two within so long are one.
pub(super) const QUICK: f64 = 0.4;
pub(super) const SILENCE: Duration = Duration::from_secs(1);
pub(super) const SILENT: f64 = 4.0;
pub(super) const SUSPECTS_WITHIN: Duration = Duration::from_secs(10);
/// Failures that come all the same at so small a share of the rate they came at first are no refusals for speed.
pub(super) const STILL_FAILING: f64 = 0.4;
