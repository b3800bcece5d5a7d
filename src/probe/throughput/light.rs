use std::time::Duration;

use super::range::Halt;
use super::search::Search;
use super::shot::Came;

/// Longer than this without an answer is a ban,
const BAN: Duration = Duration::from_millis(2500);
/// or longer than this where the first canary was let in: so long it may just have been asked to wait.
///
/// Source: Varnish asks for 5 s with every refusal.
const ASKED_FOR: Duration = Duration::from_secs(6);
/// A source that counts the calls of ten seconds, or of a minute, has forgotten the first one after so long.
const FORGOTTEN: [Duration; 2] = [Duration::from_millis(10_200), Duration::from_secs(61)];

/// Canaries are never closer together.
const LEAST_GAP: Duration = Duration::from_millis(500);

impl Search<'_, '_> {
    /// Single calls, after waits that double, until one is answered.
    pub(super) async fn wait_for_light(&mut self) {
        let began = self.range.now();
        let first = self.range.shots().first().map_or(began, |shot| shot.sent);
        let forgotten = FORGOTTEN.map(|after| (first + after).saturating_sub(began));
        let mut gap = Duration::from_secs(1);
        (self.dark, self.is_ban) = (None, true);
        let mut was_refused = false;
        loop {
            let waited = self.range.now().saturating_sub(began);
            let Some(wait) = canary_after(waited, gap, &forgotten, self.bounds.max_wait).filter(|_| self.left() > 0) else {
                self.note(format!("refused for {:.0} s and not tried any longer", waited.as_secs_f64()));
                self.why = Some("the source refuses every call; it did not open again within --max-wait".to_owned());
                return;
            };
            self.range.pause(wait).await;
            if self.range.is_stopped() {
                self.stopped(Halt::Stopped);
                return;
            }
            let sent_before = self.range.shots().len();
            match self.range.canary(self.longest.max(Duration::from_secs(1)) * 4 + gap).await {
                Some(Came::Good) => {
                    let dark = self.range.now().saturating_sub(began);
                    self.dark = Some(dark);
                    self.is_ban = dark > if was_refused { BAN } else { ASKED_FOR };
                    let what = if self.is_ban { "a ban" } else { "not a ban" };
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
                Some(Came::Refused | Came::Suspect | Came::Soft) | None => {
                    was_refused |= self.range.shots().len() > sent_before;
                    gap = (gap * 2).min(Duration::from_secs(60));
                }
            }
        }
    }
}

/// How long until the next canary, that long after a refusal: waits of `gap`, but one canary each where calls are forgotten,
/// and the last at `most`.
fn canary_after(waited: Duration, gap: Duration, forgotten: &[Duration], most: Duration) -> Option<Duration> {
    let next = (waited + gap).min(most);
    let next = forgotten.iter().copied().find(|at| (waited + LEAST_GAP..next).contains(at)).unwrap_or(next);
    next.checked_sub(waited).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_go_after_waits_that_double_and_when_the_calls_of_a_minute_are_forgotten() {
        let check = |forgotten: [u64; 2], most: u64, at: &[u64]| {
            let seconds = Duration::from_secs;
            let (mut waited, mut gap, mut went) = (Duration::ZERO, seconds(1), Vec::new());
            while let Some(wait) = canary_after(waited, gap, &forgotten.map(seconds), seconds(most)) {
                waited += wait;
                gap *= 2;
                went.push(waited.as_secs());
            }
            assert_eq!(went, at, "{forgotten:?} {most}");
        };
        check([0, 0], 60, &[1, 3, 7, 15, 31, 60]);
        check([0, 48], 60, &[1, 3, 7, 15, 31, 48, 60]);
        check([0, 61], 60, &[1, 3, 7, 15, 31, 60]);
        check([0, 48], 20, &[1, 3, 7, 15, 20]);
        check([5, 53], 60, &[1, 3, 5, 13, 29, 53, 60]);
        check([0, 0], 0, &[]);
    }
}
