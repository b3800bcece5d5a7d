use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::caller::breaker::{Breaker, Change, Sign, Way};
use crate::model::breaker::{BreakerState, Health};
use crate::settings::breaker::{BreakerCounts, BreakerSettings};

/// A minute, so that the waits of retries fit in.
fn settings() -> BreakerSettings {
    BreakerSettings {
        counts: BreakerCounts::Attempts,
        window: Duration::from_secs(180),
        min_calls: 30,
        failure_rate: 35.0,
        failures_in_a_row: 1000,
        open_for: Duration::from_secs(120),
        max_open_for: Duration::from_secs(600),
        half_open_calls: 10,
        patience: Duration::from_secs(1800),
    }
}

fn breakers(template: BreakerSettings) -> Breakers {
    Breakers { template, overrides: Default::default() }
}

/// A breaker, its time, and what it has changed to.
struct Trial {
    breaker: Breaker,
    now: Nanos,
    changes: Vec<Change>,
}

impl Trial {
    fn new(settings: BreakerSettings) -> Self {
        Self::reaching(settings, u32::MAX, None)
    }

    fn reaching(settings: BreakerSettings, reach: u32, deadline: Option<Nanos>) -> Self {
        Self { breaker: Breaker::new(settings, reach, deadline), now: SECOND, changes: Vec::new() }
    }

    fn ask(&mut self) -> Way {
        let (way, change) = self.breaker.ask(self.now);
        self.changes.extend(change);
        way
    }

    fn epoch(&mut self) -> u64 {
        match self.ask() {
            Way::Through { epoch } => epoch,
            other => panic!("not let through: {other:?}"),
        }
    }

    fn hear(&mut self, epoch: u64, sign: Sign<'_>) {
        self.changes.extend(self.breaker.heard(self.now, epoch, sign, 0.0));
    }

    fn ill(&self) -> Sign<'static> {
        Sign::Ill { since: self.now, why: "status 500" }
    }

    /// Calls that came to this, one a time.
    fn calls(&mut self, outcomes: &str) -> &mut Self {
        for outcome in outcomes.chars() {
            let epoch = self.epoch();
            let sign = match outcome {
                '+' => Sign::Well,
                '-' => self.ill(),
                _ => Sign::None,
            };
            self.hear(epoch, sign);
        }
        self
    }

    fn after(&mut self, seconds: u64) -> &mut Self {
        self.now += seconds * SECOND;
        self
    }

    /// What another breaker has heard since it was told the last time.
    fn told_by(&mut self, other: &mut Self, before: &mut Health) -> &mut Self {
        let now_there = other.breaker.health();
        self.breaker.heard_elsewhere(self.now, std::mem::replace(before, now_there), now_there);
        self
    }

    fn states(&self) -> Vec<BreakerState> {
        self.changes.iter().map(|change| change.state).collect()
    }

    fn open_seconds(&self) -> Vec<u64> {
        let open = self.changes.iter().filter(|change| change.state == BreakerState::Open);
        open.map(|change| change.until.unwrap() / SECOND).collect()
    }
}

fn nights(outcomes: &[(&str, usize)]) -> String {
    outcomes.iter().map(|(outcome, times)| outcome.repeat(*times)).collect()
}

#[test]
fn it_opens_where_enough_calls_failed_and_nowhere_else() {
    let check = |outcomes: &[(&str, usize)], opens: bool| {
        let mut trial = Trial::new(settings());
        trial.calls(&nights(outcomes));
        let expected: &[BreakerState] = if opens { &[BreakerState::Open] } else { &[] };
        assert_eq!(trial.states(), expected, "{outcomes:?}");
    };
    check(&[("-", 29)], false);
    check(&[("-", 30)], true);
    check(&[("-", 10), ("+", 20)], false);
    check(&[("-", 11), ("+", 18)], false);
    check(&[("-", 11), ("+", 19)], true);
    check(&[("+", 26), ("-", 14)], true);
    check(&[("+", 26), ("-", 13)], false);
    // Neither a failure nor a success.
    check(&[("-", 29), (".", 50)], false);
    check(&[(".", 50), ("-", 30)], true);
}

#[test]
fn failures_in_a_row_open_it_before_there_are_enough_calls() {
    let row = BreakerSettings { failures_in_a_row: 12, ..settings() };
    let check = |outcomes: &[(&str, usize)], opens: bool| {
        let mut trial = Trial::new(row.clone());
        trial.calls(&nights(outcomes));
        assert_eq!(trial.states().len(), usize::from(opens), "{outcomes:?}");
    };
    check(&[("-", 11)], false);
    check(&[("-", 12)], true);
    check(&[("-", 6), (".", 3), ("-", 6)], true);
    check(&[("+", 1000), ("-", 11)], false);
    check(&[("+", 1000), ("-", 12)], true);
    check(&[("-", 3), ("+", 1), ("-", 11)], false);
}

#[test]
fn one_that_is_switched_off_never_opens() {
    let off = BreakerSettings { counts: BreakerCounts::None, failures_in_a_row: 12, ..settings() };
    assert_eq!(Trial::new(off.clone()).calls(&nights(&[("-", 1000)])).states(), []);
    // The first twelve open one that counts.
    let on = BreakerSettings { counts: BreakerCounts::Attempts, ..off };
    assert_eq!(Trial::new(on).calls(&nights(&[("-", 12)])).states(), [BreakerState::Open]);
}

#[test]
fn a_call_that_failed_while_others_were_answered_has_a_trouble_of_its_own() {
    let mut trial = Trial::new(BreakerSettings { failures_in_a_row: 3, ..settings() });
    let long_ago = trial.now;
    trial.after(10).calls("+").after(1);
    for _ in 0..20 {
        let epoch = trial.epoch();
        trial.hear(epoch, Sign::Ill { since: long_ago, why: "status 500" });
    }
    assert_eq!(trial.states(), []);
    assert_eq!(trial.calls("---").states(), [BreakerState::Open]);
}

/// Of two hosts: what one hears, as `-` and `+`, in rounds; the other is told after each.
#[test]
fn what_another_host_hears_counts_and_ones_own_next_failure_opens_it() {
    let row = BreakerSettings { failures_in_a_row: 6, ..settings() };
    let check = |settings: &BreakerSettings, there: &[&str], here: &str, opens: bool| {
        let (mut one, mut other, mut before) = (Trial::new(settings.clone()), Trial::new(settings.clone()), Health::default());
        for round in there {
            other.calls(round);
            one.told_by(&mut other, &mut before);
            assert_eq!(one.states(), [], "{there:?}: nothing was seen to fail here");
        }
        assert_eq!(!one.calls(here).states().is_empty(), opens, "{there:?}, then {here}");
    };
    check(&row, &["-----"], "-", true);
    check(&row, &["----"], "-", false);
    check(&row, &["--", "--", ""], "-", false);
    check(&row, &["--", "--", "-"], "-", true);
    check(&row, &["-----", "+"], "-", false);
    check(&row, &["-----", "+----"], "-", false);
    check(&row, &["-----", "+-----"], "-", true);
    check(&row, &["-----"], "+-----", false);
    // By their share: 10 of 30, and 11 of 30.
    check(&settings(), &["----------", "+++++++++++++++++++"], "+", false);
    check(&settings(), &["----------", "+++++++++++++++++++"], "-", true);
}

#[test]
fn what_another_host_hears_while_it_is_open_here_does_not_count() {
    let row = BreakerSettings { failures_in_a_row: 6, half_open_calls: 1, ..settings() };
    let (mut one, mut other, mut before) = (Trial::new(row.clone()), Trial::new(row), Health::default());
    one.calls("------");
    other.calls("-----");
    one.told_by(&mut other, &mut before).after(120).calls("+");
    assert_eq!(one.states(), [BreakerState::Open, BreakerState::HalfOpen, BreakerState::Closed]);
    assert_eq!(one.calls("-").states().len(), 3);
}

#[test]
fn a_trouble_of_its_own_is_none_of_another_host() {
    let row = BreakerSettings { failures_in_a_row: 6, ..settings() };
    let (mut one, mut other, mut before) = (Trial::new(row.clone()), Trial::new(row), Health::default());
    let long_ago = other.now;
    other.after(10).calls("+").after(1);
    for _ in 0..20 {
        let epoch = other.epoch();
        other.hear(epoch, Sign::Ill { since: long_ago, why: "status 500" });
    }
    one.told_by(&mut other, &mut before);
    assert_eq!(one.calls("-----").states(), []);
    assert_eq!(one.calls("-").states(), [BreakerState::Open]);
}

#[test]
fn what_is_older_than_the_window_does_not_count() {
    let mut trial = Trial::new(settings());
    trial.calls(&"-".repeat(20)).after(180).calls(&nights(&[("-", 10), ("+", 19)]));
    assert_eq!(trial.states(), []);
    trial.calls("-");
    assert_eq!(trial.states(), [BreakerState::Open], "11 of 30 of the last three minutes");
}

#[test]
fn fewer_calls_are_enough_once_a_window_that_holds_no_more_was_watched() {
    let mut trial = Trial::reaching(settings(), 5, None);
    trial.calls("----").after(60).calls("-").after(60).calls("-").after(59).calls("-");
    assert_eq!(trial.states(), [], "it was watched for 179 seconds");
    trial.after(1).calls("-");
    assert_eq!(trial.states(), [], "four of them have left the window");
    trial.calls("-");
    assert_eq!(trial.states(), [BreakerState::Open]);
}

#[test]
fn ten_of_ten_close_it_and_six_of_ten_open_it_for_longer() {
    let check = |outcomes: &str, expected: &[BreakerState]| {
        let mut trial = Trial::new(settings());
        trial.calls(&"-".repeat(30));
        assert_eq!(trial.ask(), Way::Parked { until: Some(121 * SECOND) });
        trial.after(119);
        assert_eq!(trial.ask(), Way::Parked { until: Some(121 * SECOND) });
        trial.after(1).calls(outcomes);
        assert_eq!(trial.states()[1..], *expected, "{outcomes}");
    };
    use BreakerState::{Closed, HalfOpen, Open};
    check("+++++++++", &[HalfOpen]);
    check("++++++++++", &[HalfOpen, Closed]);
    check("+-+-+-++++", &[HalfOpen, Closed]);
    check("++++++----", &[HalfOpen, Open]);
    check("----", &[HalfOpen, Open]);
    check("---....", &[HalfOpen]);
}

#[test]
fn half_open_it_lets_ten_through_and_no_more_until_one_is_back() {
    let mut trial = Trial::new(settings());
    trial.calls(&"-".repeat(30)).after(120);
    let epochs: Vec<u64> = (0..10).map(|_| trial.epoch()).collect();
    assert_eq!(trial.ask(), Way::Parked { until: None });
    trial.hear(epochs[0], Sign::Well);
    assert_eq!(trial.ask(), Way::Parked { until: None }, "an answer is one of the ten");
    trial.hear(epochs[1], Sign::None);
    assert!(matches!(trial.ask(), Way::Through { .. }), "what says nothing gives its leave back");
    assert_eq!(trial.ask(), Way::Parked { until: None });
}

#[test]
fn what_was_sent_before_a_change_says_nothing_after_it() {
    let mut trial = Trial::new(settings());
    let late: Vec<u64> = (0..40).map(|_| trial.epoch()).collect();
    trial.calls(&"-".repeat(30));
    for epoch in &late[..20] {
        trial.hear(*epoch, Sign::Well);
    }
    assert_eq!(trial.ask(), Way::Parked { until: Some(121 * SECOND) }, "late successes close nothing");
    trial.after(120).calls("+++++++++");
    for epoch in &late[20..] {
        let ill = trial.ill();
        trial.hear(*epoch, ill);
    }
    trial.calls("+");
    use BreakerState::{Closed, HalfOpen, Open};
    assert_eq!(trial.states(), [Open, HalfOpen, Closed], "late failures open nothing");
}

#[test]
fn each_further_opening_is_twice_as_long_up_to_the_longest() {
    let mut trial = Trial::new(BreakerSettings { patience: Duration::from_secs(86_400), ..settings() });
    trial.calls(&"-".repeat(30));
    let mut lengths = vec![120];
    for _ in 0..5 {
        trial.now = trial.changes.last().unwrap().until.unwrap();
        trial.calls("----");
        lengths.push(trial.open_seconds().last().unwrap() - trial.now / SECOND);
    }
    assert_eq!(lengths, [120, 240, 480, 600, 600, 600]);
    trial.now = trial.changes.last().unwrap().until.unwrap();
    trial.calls("++++++++++").calls(&"-".repeat(30));
    assert_eq!(trial.open_seconds().last().unwrap() - trial.now / SECOND, 120, "it begins anew");
}

#[test]
fn up_to_a_tenth_is_added_to_its_time_but_never_beyond_the_longest() {
    let open_for = |open_for: u64, random: f64| {
        let mut breaker =
            Breaker::new(BreakerSettings { min_calls: 1, open_for: Duration::from_secs(open_for), ..settings() }, 1, None);
        let (Way::Through { epoch }, None) = breaker.ask(0) else { panic!("it is closed") };
        breaker.heard(0, epoch, Sign::Ill { since: 0, why: "x" }, random).unwrap().until.unwrap() / SECOND
    };
    assert_eq!([open_for(120, 0.0), open_for(120, 0.5), open_for(120, 1.0), open_for(590, 1.0)], [120, 126, 132, 600]);
}

#[test]
fn a_trouble_that_outlasts_patience_or_the_run_is_not_waited_for() {
    let check = |patience: u64, deadline: Option<Nanos>, waited_for: &[bool]| {
        let patient = BreakerSettings { patience: Duration::from_secs(patience), ..settings() };
        let mut trial = Trial::reaching(patient, u32::MAX, deadline);
        trial.calls(&"-".repeat(30));
        trial.after(120).calls("----");
        let opened = trial.changes.iter().filter(|change| change.state == BreakerState::Open);
        assert_eq!(opened.map(|change| change.is_waited_for).collect::<Vec<_>>(), waited_for);
        let is_deferred = matches!(trial.ask(), Way::Deferred { .. });
        assert_eq!(is_deferred, !waited_for.last().unwrap());
    };
    check(1800, None, &[true, true]);
    check(359, None, &[true, false]);
    check(1800, Some(300 * SECOND), &[true, false]);
    check(1800, Some(121 * SECOND), &[false, false]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    Hear { which: usize, sign: u8 },
    Wait { seconds: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Ask),
        4 => (0..50_usize, 0..5_u8).prop_map(|(which, sign)| Step::Hear { which, sign }),
        1 => (0..200_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

proptest! {
    #[test]
    fn nobody_goes_through_while_it_is_open_and_few_while_it_is_half_open(
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut trial = Trial::new(BreakerSettings { min_calls: 5, failures_in_a_row: 4, half_open_calls: 3, ..settings() });
        let mut out = Vec::new();
        // Let through or answered since it is half open.
        let mut tried = 0;
        for step in steps {
            let before = trial.changes.len();
            match step {
                Step::Wait { seconds } => drop(trial.after(seconds)),
                Step::Ask => {
                    let way = trial.ask();
                    if trial.changes.len() > before {
                        tried = 0;
                    }
                    let last = trial.changes.last();
                    if let Way::Through { epoch } = way {
                        out.push(epoch);
                        tried += 1;
                        let state = last.map_or(BreakerState::Closed, |change| change.state);
                        prop_assert!(state != BreakerState::Open);
                        prop_assert!(state != BreakerState::HalfOpen || tried <= 3, "{tried} were let through");
                    }
                }
                Step::Hear { which, sign } if !out.is_empty() => {
                    let epoch = out.swap_remove(which % out.len());
                    let is_current = trial.breaker.is_current(epoch);
                    let sign = match sign {
                        0 | 1 => Sign::Well,
                        2 => Sign::None,
                        _ => trial.ill(),
                    };
                    trial.hear(epoch, sign);
                    if is_current && sign == Sign::None && tried > 0 {
                        tried -= 1;
                    }
                    prop_assert!(is_current || trial.changes.len() == before, "an old answer changed its state");
                }
                Step::Hear { .. } => {}
            }
        }
    }
}

/// A world whose datasets have this breaker.
fn world(template: BreakerSettings, retry: RetrySettings, script: impl Fn(&Asked<'_>) -> Reply + Send + Sync + 'static) -> World {
    let settings = CallerSettings {
        providers: vec![limits(4, 0.0)],
        http: HttpSettings::default(),
        retry,
        breakers: breakers(template),
        max_calls: None,
        max_runtime: None,
    };
    World::with(settings, script)
}

fn in_a_row(failures: u32) -> BreakerSettings {
    BreakerSettings { failures_in_a_row: failures, ..settings() }
}

fn breaker_states(ears: &Ears) -> Vec<BreakerState> {
    let state = |event: &Event| match event {
        Event::BreakerChanged { state, .. } => Some(*state),
        _ => None,
    };
    ears.0.lock().unwrap().iter().filter_map(state).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_wait_while_it_is_open_and_use_up_no_tries() {
    // Down for five minutes: far longer than four retries last.
    let world = world(in_a_row(6), retry_settings(), |asked| Reply::Status(if asked.at < 300 * SECOND { 500 } else { 200 }));
    let answers = world.fetch_many(20).join_all().await;
    assert!(answers.iter().all(Result::is_ok), "all calls outlast the trouble: {answers:#?}");
    let before = world.sends().iter().filter(|at| **at < 300 * SECOND).count();
    assert!(before <= 6 + 4 + 4 + 8, "{before} requests went to a server that was down");
    use BreakerState::{Closed, HalfOpen, Open};
    assert_eq!(breaker_states(&world.ears), [Open, HalfOpen, Open, HalfOpen, Closed]);
    // Opened within seconds for 126, then for 252: nobody asked meanwhile.
    let gaps: Vec<u64> = world.sends().windows(2).map(|pair| (pair[1] - pair[0]) / SECOND).filter(|gap| *gap > 60).collect();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert!(gaps[0] >= 120 && gaps[1] >= 240, "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_wakes_from_a_retry_wait_looks_at_it_first() {
    let world = world(in_a_row(3), retry_settings(), |asked| Reply::Status(if asked.index < 3 { 500 } else { 200 }));
    // The first sleeps for two seconds when the other two open the breaker.
    let mut calls = world.fetch_many(1);
    world.sent(1).await;
    calls.spawn(world.begun(world.call()));
    world.sent(2).await;
    calls.spawn(world.begun(world.call()));
    let answers = calls.join_all().await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|fetched| fetched.attempts.len() == 2)));
    let sends = world.sends();
    assert!(sends[3] - sends[2] >= 120 * SECOND, "{sends:?}");
}

#[tokio::test(start_paused = true)]
async fn one_dataset_in_trouble_does_not_hold_up_another() {
    let world = world(in_a_row(4), retry_settings(), |asked| {
        Reply::Status(if asked.url.contains("apt_rent") && asked.at < 60 * SECOND { 500 } else { 200 })
    });
    let mut rents = JoinSet::new();
    for _ in 0..8 {
        rents.spawn(world.begun(world.call_of("apt_rent")));
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    for _ in 0..40 {
        world.fetch().await.unwrap();
    }
    assert!(world.clock.now() < 20 * SECOND, "they were not held up");
    assert!(rents.try_join_next().is_none(), "those wait");
    assert!(rents.join_all().await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn counting_calls_it_opens_only_after_all_their_tries() {
    let check = async |counts, dead: std::ops::RangeInclusive<usize>| {
        let template = BreakerSettings { counts, ..in_a_row(6) };
        let world = world(template, retry_settings(), |asked| Reply::Status(if asked.at < 400 * SECOND { 500 } else { 200 }));
        let mut calls = world.fetch_many(40);
        while breaker_states(&world.ears).is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let sent = world.sends().len();
        assert!(dead.contains(&sent), "{counts:?}: {sent} requests before it opened");
        calls.abort_all();
    };
    check(BreakerCounts::Attempts, 6..=9).await;
    check(BreakerCounts::Calls, 40 * 4..=40 * 5).await;
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_of_its_health_does_not_open_it() {
    for status in [204, 202, 400, 409, 410, 413, 421, 403, 402] {
        let world = world(BreakerSettings { min_calls: 2, ..in_a_row(2) }, retry_settings(), move |_| Reply::Status(status));
        for _ in 0..10 {
            let _ = world.fetch().await;
        }
        assert_eq!(breaker_states(&world.ears), [], "{status}");
    }
    let stale = RetrySettings { max_retries: 8, ..retry_settings() };
    let world = world(in_a_row(2), stale, |asked| match asked.index % 2 {
        0 => Reply::Fails(Connection::Stale),
        _ => Reply::Status(200),
    });
    world.fetch().await.unwrap();
    assert_eq!(breaker_states(&world.ears), []);
}

#[tokio::test(start_paused = true)]
async fn leave_of_a_half_open_one_goes_back_when_its_call_is_dropped() {
    let template = BreakerSettings { half_open_calls: 2, ..in_a_row(2) };
    let world = world(template, RetrySettings { max_retries: 0, ..retry_settings() }, |asked| match asked.index {
        0 | 1 => Reply::Status(500),
        2 | 3 => Reply::Never,
        _ => Reply::Status(200),
    });
    world.fetch_many(2).join_all().await;
    tokio::time::sleep(Duration::from_secs(130)).await;
    let mut trying = world.fetch_many(2);
    world.sent(4).await;
    let mut waiting = world.fetch_many(2);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(world.sends().len(), 4, "both leaves are out");
    trying.shutdown().await;
    assert!(waiting.join_next().await.unwrap().unwrap().is_ok());
    assert!(waiting.join_next().await.unwrap().unwrap().is_ok());
    use BreakerState::{Closed, HalfOpen, Open};
    assert_eq!(breaker_states(&world.ears), [Open, HalfOpen, Closed]);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_end_of_the_run_calls_are_deferred_at_once() {
    let template = in_a_row(6);
    let settings = CallerSettings {
        providers: vec![limits(4, 0.0)],
        http: HttpSettings::default(),
        retry: retry_settings(),
        breakers: breakers(template),
        max_calls: None,
        max_runtime: Some(Duration::from_secs(60)),
    };
    let world = World::with(settings, |_| Reply::Status(500));
    let answers = world.fetch_many(20).join_all().await;
    assert!(world.clock.now() < 5 * SECOND, "{}", world.clock.now());
    for answer in answers {
        let End::Deferred { until: Some(until), why } = answer.unwrap_err().end else { panic!("all are deferred") };
        assert!(until > at(120) && until < at(140), "{until}");
        assert!(why.starts_with("its breaker is open: 6 failures in a row; the last: status 500"), "{why}");
    }
    assert!(world.caller.stopped_api(&provider(), &Name::literal("apt_trade")).is_some());
    assert!(world.caller.stopped_api(&provider(), &Name::literal("apt_rent")).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_left_open_is_not_asked_before_its_time() {
    let world = world(settings(), retry_settings(), |_| Reply::Status(200));
    let dataset = Name::literal("apt_trade");
    world.caller.reopen_breaker(&provider(), &dataset, at(90), 2, "12 failures in a row");
    assert!(world.caller.is_parked(&provider(), &dataset));
    let answers = world.fetch_many(30).join_all().await;
    assert!(answers.iter().all(Result::is_ok));
    assert!(world.sends()[0] >= 90 * SECOND);
    assert_eq!(breaker_states(&world.ears), [BreakerState::HalfOpen, BreakerState::Closed]);
}

#[tokio::test(start_paused = true)]
async fn the_breaker_of_another_host_holds_calls_here_until_it_closes() {
    let world = world(settings(), retry_settings(), |_| Reply::Status(200));
    let dataset = Name::literal("apt_trade");
    world.caller.close_breaker(&provider(), &dataset);
    world.caller.keep_breaker_open(&provider(), &dataset, at(500));
    assert!(!world.caller.is_parked(&provider(), &dataset), "a breaker that is closed stays so");
    world.caller.reopen_breaker(&provider(), &dataset, at(90), 1, "another host: 12 failures in a row");
    // It finds out, and until it has, nobody does so here.
    world.caller.keep_breaker_open(&provider(), &dataset, at(150));
    world.caller.reopen_breaker(&provider(), &dataset, at(20), 1, "another host: 12 failures in a row");
    let calls = world.fetch_many(30);
    world.clock.sleep_until(120 * SECOND).await;
    assert!(world.sends().is_empty());
    world.caller.close_breaker(&provider(), &dataset);
    assert!(calls.join_all().await.iter().all(Result::is_ok));
    assert_eq!(world.sends()[0], 120 * SECOND);
    assert_eq!(breaker_states(&world.ears), [], "the others have told of it");
}

#[tokio::test(start_paused = true)]
async fn a_call_parked_at_it_can_be_abandoned_and_the_run_stopped() {
    let world = world(in_a_row(2), retry_settings(), |_| Reply::Status(500));
    let mut calls = world.fetch_many(3);
    world.sent(3).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let over = CancellationToken::new();
    let abandoned = tokio::spawn(world.begun(Call { abandoned: Some(over.clone()), ..world.call() }));
    tokio::time::sleep(Duration::from_secs(1)).await;
    over.cancel();
    assert_eq!(abandoned.await.unwrap().unwrap_err().end, End::Abandoned);
    world.caller.stop_claiming();
    while let Some(ended) = calls.join_next().await {
        assert_eq!(ended.unwrap().unwrap_err().end, End::Interrupted);
    }
    assert!(world.clock.now() < 15 * SECOND);
}

/// How a night went whose first minute fails in four of five requests.
struct Night {
    requests: usize,
    dead: usize,
    lost: usize,
    took: Duration,
}

async fn night(breakers: Breakers, retry: RetrySettings) -> Night {
    let dead = Arc::new(Mutex::new(0));
    let count = Arc::clone(&dead);
    let settings = CallerSettings {
        providers: vec![limits(6, 40.0)],
        http: HttpSettings::default(),
        retry,
        breakers,
        max_calls: None,
        max_runtime: None,
    };
    let world = World::with(settings, move |asked| {
        let fails = asked.at < 60 * SECOND && asked.index % 5 != 0;
        *count.lock().unwrap() += usize::from(fails);
        Reply::Status(if fails { 500 } else { 200 })
    });
    let places = Places::new(12);
    let mut calls = JoinSet::new();
    for _ in 0..500 {
        let place = places.take().await;
        calls.spawn(world.begun(Call { place: Some(place), ..world.call() }));
    }
    let lost = calls.join_all().await.iter().filter(|answer| answer.is_err()).count();
    let dead = *dead.lock().unwrap();
    Night { requests: world.sends().len(), dead, lost, took: Duration::from_nanos(world.clock.now()) }
}

#[expect(clippy::print_stdout, reason = "the figures are told to whoever asks for them with --no-capture")]
#[tokio::test(start_paused = true)]
async fn a_bad_minute_costs_fewer_requests_with_a_breaker() {
    let told = |what: &str, night: &Night| {
        let Night { requests, dead, lost, took } = night;
        println!("{what}: {requests} requests, {dead} of them dead, {lost} calls lost, {took:.1?}");
    };
    let immediate = RetrySettings { delay: Duration::ZERO, error_pause: Duration::ZERO, ..RetrySettings::default() };
    let hammered = night(Breakers::none(), immediate).await;
    let without = night(Breakers::none(), RetrySettings::default()).await;
    let with = night(breakers(BreakerSettings::default()), RetrySettings::default()).await;
    told("immediate retries", &hammered);
    told("no breaker", &without);
    told("breaker", &with);
    assert_eq!(with.lost, 0);
    assert!(with.dead * 5 < without.dead, "{} dead requests with it, {} without", with.dead, without.dead);
    assert!(without.dead < hammered.dead);
    assert!(with.took < Duration::from_secs(180), "{:?}", with.took);
}
