use super::*;

const SECOND: Nanos = 1_000_000_000;
const MS: Nanos = 1_000_000;

/// A pace and the time it is at.
struct Drive {
    speed: Speed,
    now: Nanos,
}

impl Drive {
    fn set(ceiling: f64) -> Self {
        Self { speed: Speed::set(ceiling), now: SECOND }
    }

    fn sought(rate: f64, ceiling: f64) -> Self {
        Self { speed: Speed::sought(Start { rate, in_flight: None }, ceiling, 16), now: SECOND }
    }

    fn departure(&self, in_flight: u32) -> Departure {
        Departure { at: self.now.saturating_sub(100 * MS), in_flight }
    }

    /// Sends as fast as the pace allows; every call is accepted after 100 ms.
    fn seconds(&mut self, seconds: u64) -> &mut Self {
        self.used(seconds, 1.0)
    }

    /// As [`Drive::seconds`], at this share of the pace.
    fn used(&mut self, seconds: u64, share: f64) -> &mut Self {
        let end = self.now + seconds * SECOND;
        while self.now < end {
            self.speed.sent(self.now);
            self.now += (SECOND as f64 / (share * self.rate())) as Nanos;
            self.speed.accepted(self.now, self.departure(2));
        }
        self
    }

    fn refused(&mut self) -> &mut Self {
        self.speed.refused(self.now, self.departure(2));
        self.resumed()
    }

    fn banned(&mut self) -> &mut Self {
        self.speed.refused(self.now, self.departure(2));
        self.speed.banned();
        self.resumed()
    }

    fn resumed(&mut self) -> &mut Self {
        self.now += SECOND;
        self.speed.resumed(self.now);
        self
    }

    fn rate(&self) -> f64 {
        self.speed.orders().rate
    }
}

#[track_caller]
fn about(rate: f64, expected: f64) {
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate}, not {expected}");
}

#[test]
fn a_refusal_takes_three_tenths_at_once_and_the_rest_comes_back_slowly() {
    let mut drive = Drive::set(40.0);
    about(drive.seconds(3).rate(), 40.0);
    about(drive.refused().rate(), 28.0);
    about(drive.seconds(2).rate(), 28.0 + 1.6);
    about(drive.seconds(6).rate(), 36.0);
    about(drive.seconds(10).rate(), 36.0);
    about(drive.seconds(4).rate(), 36.0 * 1.03);
    drive.seconds(120);
    assert_eq!(drive.rate(), 40.0, "never above the ceiling");
}

#[test]
fn what_was_refused_is_remembered_longer_each_time() {
    let mut drive = Drive::set(40.0);
    drive.seconds(3).refused().seconds(12).refused().seconds(12);
    let near = drive.rate();
    about(drive.seconds(20).rate(), near);
    assert!(drive.seconds(14).rate() > near, "after 40 s");
}

#[test]
fn refusals_in_a_row_never_stop_a_provider_for_good() {
    let mut drive = Drive::set(40.0);
    for _ in 0..30 {
        drive.refused();
    }
    assert_eq!(drive.rate(), 0.5);
    assert_eq!(
        Drive::set(1.0).refused().refused().refused().refused().refused().refused().refused().refused().refused().rate(),
        0.05
    );
}

#[test]
fn a_pace_without_a_limit_is_lowered_by_what_is_announced_alone() {
    let mut drive = Drive::set(f64::INFINITY);
    assert_eq!(drive.refused().rate(), f64::INFINITY);
    drive.speed.announced(10.0);
    assert_eq!(drive.rate(), 10.0);
    about(drive.seconds(3).refused().rate(), 7.0);
}

#[test]
fn what_is_announced_lowers_the_pace_and_never_raises_it() {
    let mut drive = Drive::set(40.0);
    drive.speed.announced(100.0);
    assert_eq!(drive.seconds(5).rate(), 40.0);
    drive.speed.announced(10.0);
    assert_eq!(drive.rate(), 10.0);
    assert_eq!(drive.seconds(5).rate(), 10.0);
    drive.speed.announced(20.0);
    assert_eq!(drive.seconds(10).rate(), 20.0);
}

#[test]
fn a_pace_that_is_looked_for_grows_by_a_fifth_each_second_it_is_used() {
    let mut drive = Drive::sought(5.0, 50.0);
    about(drive.seconds(1).rate(), 6.0);
    about(drive.seconds(4).rate(), 5.0 * 1.2_f64.powi(4));
    let before = drive.used(1, 0.7).rate();
    assert_eq!(drive.used(5, 0.7).rate(), before, "something else holds it down");
    assert_eq!(drive.seconds(30).rate(), 50.0);
}

#[test]
fn a_rate_that_led_to_a_ban_is_never_neared_again() {
    let mut drive = Drive::sought(20.0, 50.0);
    about(drive.seconds(1).banned().rate(), 0.75 * 20.0);
    assert!(drive.seconds(100).rate() <= 0.78 * 20.1, "{}", drive.rate());
    assert_eq!(drive.speed.objection(), None);
    drive.banned();
    assert_eq!(drive.speed.objection(), None);
    drive.banned();
    assert!(drive.speed.objection().unwrap().contains("3 times"));
    let mut drive = Drive::set(20.0);
    drive.banned().banned().banned().banned();
    assert_eq!(drive.speed.objection(), None, "a pace that was set is kept to");
}

#[test]
fn a_provider_that_refuses_more_than_a_tenth_is_given_up() {
    let mut drive = Drive::sought(20.0, 20.0);
    drive.seconds(10);
    let many_too = |drive: &mut Drive, count| (0..count).for_each(|_| drive.speed.refused_too(drive.departure(2)));
    drive.refused();
    many_too(&mut drive, 12);
    assert_eq!(drive.speed.objection(), None, "one event is one mistake, however many were in flight");
    drive.refused();
    assert!(drive.speed.objection().unwrap().starts_with("14 of the last 100 calls"));
    assert_eq!(drive.seconds(20).speed.objection(), None, "it was long ago");
}

#[test]
fn a_failure_without_a_code_is_a_refusal_when_it_is_quick_and_not_the_only_one() {
    let (quick, slow) = (Duration::from_millis(14), Duration::from_millis(80));
    let mut drive = Drive::sought(5.0, 50.0);
    assert!(!drive.speed.unmask(drive.now, quick, false), "no page has come yet");
    drive.seconds(5);
    let at = drive.now;
    let mut unmask = |seconds: u64, took, says_wait| drive.speed.unmask(at + seconds * SECOND, took, says_wait);
    assert!(!unmask(0, quick, false));
    assert!(!unmask(1, slow, false), "an ordinary failure");
    assert!(!unmask(1, Duration::from_millis(1_000), false), "it may just have been late");
    assert!(unmask(9, quick, false));
    assert!(!unmask(20, quick, false));
    assert!(unmask(21, slow, true), "it says how long to wait");
    assert!(unmask(30, Duration::from_secs(15), false), "it was not answered at all");
    assert!(!Speed::set(5.0).unmask(0, quick, true), "a pace that was set is left to retries and breaker");
}

#[test]
fn silence_slows_a_search_down_and_never_ends_it() {
    let shut_out_after = |took: Nanos| {
        let mut drive = Drive::sought(40.0, 40.0);
        for _ in 0..3 {
            drive.seconds(1).now += took;
            let departure = Departure { at: drive.now - took, in_flight: 2 };
            drive.speed.refused(drive.now, departure);
            (0..12).for_each(|_| drive.speed.refused_too(departure));
            drive.speed.banned();
            drive.resumed();
        }
        assert!(drive.rate() < 30.0, "{}", drive.rate());
        drive.speed.objection()
    };
    assert!(shut_out_after(14 * MS).is_some_and(|why| why.starts_with("it shut us out 3 times")));
    assert_eq!(shut_out_after(15 * SECOND), None, "a server that is down is silent, too");
}

#[test]
fn failures_that_come_however_slowly_it_is_asked_are_no_refusals() {
    let quick = Duration::from_millis(14);
    let unmask = |drive: &mut Drive| {
        let is_refusal = drive.speed.unmask(drive.now, quick, false) || drive.speed.unmask(drive.now, quick, false);
        if is_refusal {
            drive.refused();
        }
        is_refusal
    };
    let mut drive = Drive::sought(40.0, 50.0);
    drive.seconds(5);
    let believed = (0..10).take_while(|_| unmask(drive.seconds(1))).count();
    assert_eq!(believed, 3, "at {}/s", drive.rate());
    let before = drive.rate();
    assert!(drive.seconds(3).rate() > 1.4 * before, "{}, not much more than {before}", drive.rate());
    assert!(!unmask(&mut drive), "never again");

    let mut banned = Drive::sought(40.0, 50.0);
    banned.seconds(5).banned();
    for _ in 0..5 {
        assert!(unmask(banned.seconds(1)), "who was banned believes every refusal: {}", banned.rate());
    }
}

#[test]
fn calls_in_flight_are_limited_by_what_answers_take_and_by_what_was_refused() {
    let mut drive = Drive::sought(5.0, 40.0);
    assert_eq!(drive.speed.orders().in_flight, Some(2), "nothing is known");
    drive.seconds(30);
    assert_eq!(drive.speed.orders().in_flight, Some(8), "twice 40/s of 100 ms");
    drive.speed.refused(drive.now, drive.departure(5));
    assert_eq!(drive.speed.orders().in_flight, Some(4), "no accepted call had more than two");
    drive.resumed().seconds(60);
    assert_eq!((drive.rate(), drive.speed.orders().in_flight), (40.0, Some(4)), "the rate was not to blame");
    drive.speed.refused(drive.now, drive.departure(3));
    drive.resumed().seconds(20);
    assert!(drive.rate() < 37.0, "now it is");
    assert_eq!(drive.speed.orders().in_flight, Some(8));
}

#[test]
fn slow_answers_lower_a_pace_that_is_looked_for() {
    let mut drive = Drive::sought(20.0, 20.0);
    drive.seconds(3);
    for _ in 0..30 {
        drive.now += 50 * MS;
        drive.speed.sent(drive.now);
        let departure = Departure { at: drive.now - 300 * MS, in_flight: 2 };
        drive.speed.accepted(drive.now, departure);
    }
    about(drive.rate(), 0.93 * 20.5);
}

#[test]
fn a_host_that_has_a_part_of_the_pace_reckons_with_all_of_it() {
    let mut drive = Drive::set(40.0);
    drive.speed.share_with(2);
    drive.used(10, 1.0 / 3.0).refused();
    assert!((drive.rate() - 28.0).abs() < 1.0, "of what all were let in, not of its own part: {}", drive.rate());
    let before = drive.rate();
    drive.used(3, 1.0 / 3.0);
    assert!(drive.rate() > before, "its part is used: {}", drive.rate());
    let mut alone = Drive::set(40.0);
    alone.used(10, 1.0 / 3.0).refused();
    assert!(alone.rate() < 12.0, "{}", alone.rate());
}

#[test]
fn after_a_second_ban_what_lasts_over_all_hosts_is_kept_to() {
    let lasting = |others: u32| {
        let mut drive = Drive::sought(20.0, 50.0);
        drive.speed.share_with(others);
        let share = 1.0 / f64::from(others + 1);
        drive.used(2, share).banned().used(20, share);
        // Shut for as long as it was open: half of it lasts.
        drive.speed.refused(drive.now, drive.departure(2));
        drive.speed.banned();
        drive.now += 20 * SECOND;
        drive.speed.resumed(drive.now);
        drive.rate()
    };
    let alone = lasting(0);
    assert!((7.0..9.0).contains(&alone), "nine tenths of half of 16 to 18: {alone}");
    assert!((lasting(1) / alone - 1.0).abs() < 0.1, "{} and {alone}", lasting(1));
}
