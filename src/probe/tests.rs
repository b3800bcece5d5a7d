use std::time::Duration;

use jiff::tz::TimeZone;

use super::limits::{Finding, Measurement, Proof, ProofVerdict, proof, prove};
use super::stand::without_limits;
use super::{pauses, permits};
use crate::caller::{CallerSettings, Pace, ProviderLimits};
use crate::model::name::Name;
use crate::model::rate::Rate;
use crate::settings::breaker::Breakers;
use crate::settings::http::HttpSettings;
use crate::settings::resolved::Settings;
use crate::settings::retry::{RetryAfterRule, RetrySettings};

const FOR_EVER: Duration = Duration::from_secs(86_400);

fn stated() -> CallerSettings {
    let provider = Name::literal("data_go_kr");
    let limits = ProviderLimits {
        provider,
        concurrency: 6,
        rate: Rate::PerSecond(40.0),
        invalid_in_a_row: 5,
        pace: Pace::Careful,
        zone: TimeZone::UTC,
    };
    let (http, retry) = (HttpSettings::default(), RetrySettings::default());
    CallerSettings {
        providers: vec![limits],
        http,
        retry,
        breakers: Settings::defaults().breakers,
        max_calls: None,
        max_runtime: None,
    }
}

fn verdicts(proofs: &[Proof], verdict: ProofVerdict) -> Vec<&'static str> {
    proofs.iter().filter(|proof| proof.verdict == verdict).map(|proof| proof.limit).collect()
}

/// Switches one limit off where it acts; just its proof must fail.
async fn check(switch_off: impl Fn(&mut CallerSettings), failing: &str) {
    let mut acting = stated();
    switch_off(&mut acting);
    let proofs = prove(&stated(), &acting).await.unwrap();
    assert_eq!(verdicts(&proofs, ProofVerdict::Fails), [failing], "{proofs:#?}");
}

async fn check_all_act(settings: &CallerSettings, not_set: &[&str]) {
    let proofs = prove(settings, settings).await.unwrap();
    assert_eq!(proofs.len(), 10);
    assert!(verdicts(&proofs, ProofVerdict::Fails).is_empty(), "{proofs:#?}");
    assert_eq!(verdicts(&proofs, ProofVerdict::NotSet), not_set, "{proofs:#?}");
}

#[tokio::test]
async fn every_limit_acts_when_none_is_switched_off() {
    check_all_act(&stated(), &[]).await;
}

#[tokio::test]
async fn limits_that_are_unusual_act_too() {
    let mut quick = stated();
    quick.http.connect_timeout = Duration::from_millis(100);
    quick.http.read_timeout = Duration::from_millis(150);
    quick.http.total_timeout = Duration::from_millis(200);
    quick.retry.max_retries = 0;
    quick.retry.error_pause = Duration::ZERO;
    quick.retry.throttle_patience = Duration::ZERO;
    quick.retry.retry_after = RetryAfterRule::Ignore;
    quick.providers[0].concurrency = 1;
    quick.providers[0].rate = Rate::Unlimited;

    let mut slow = stated();
    slow.http.total_timeout = FOR_EVER;
    slow.retry.max_retries = 20;
    slow.retry.error_pause = Duration::from_secs(90);
    slow.retry.jitter = Duration::from_secs(10);
    slow.retry.retry_after = RetryAfterRule::Capped;
    slow.providers[0].concurrency = 1_000;
    slow.providers[0].rate = Rate::PerSecond(0.01);
    slow.max_calls = Some(1);
    tokio::join!(check_all_act(&quick, &["calls a second", "rest after an error"]), check_all_act(&slow, &[]));
}

#[tokio::test]
async fn permits_switched_off_are_found_out() {
    check(|acting| acting.providers[0].concurrency = 1_000, "calls in flight").await;
}

#[tokio::test]
async fn a_rate_switched_off_or_doubled_is_found_out() {
    let faster = async |rate| check(|acting| acting.providers[0].rate = rate, "calls a second").await;
    tokio::join!(faster(Rate::Unlimited), faster(Rate::PerSecond(80.0)));
}

#[tokio::test]
async fn timeouts_switched_off_are_found_out() {
    tokio::join!(
        check(|acting| acting.http.connect_timeout = FOR_EVER, "connect timeout"),
        check(|acting| acting.http.read_timeout = FOR_EVER, "read timeout"),
        check(|acting| acting.http.total_timeout = FOR_EVER, "total timeout"),
    );
}

#[tokio::test]
async fn timeouts_that_are_cut_are_found_out() {
    check(|acting| acting.http.read_timeout /= 2, "read timeout").await;
}

#[tokio::test]
async fn retries_that_are_fewer_or_more_are_found_out() {
    let others = async |retries| check(|acting| acting.retry.max_retries = retries, "retries and their waits").await;
    tokio::join!(others(0), others(3), others(5));
}

#[tokio::test]
async fn waits_that_are_not_the_ones_set_are_found_out() {
    tokio::join!(
        check(|acting| acting.retry.delay = Duration::ZERO, "retries and their waits"),
        check(|acting| acting.retry.multiplier = 1.0, "retries and their waits"),
        check(|acting| acting.retry.delay *= 2, "retries and their waits"),
    );
}

#[tokio::test]
async fn a_rest_switched_off_is_found_out() {
    check(|acting| acting.retry.error_pause = Duration::ZERO, "rest after an error").await;
}

#[tokio::test]
async fn a_server_that_is_not_heard_is_found_out() {
    check(|acting| acting.retry.retry_after = RetryAfterRule::Ignore, "pause after a refusal for speed").await;
}

#[tokio::test]
async fn a_breaker_switched_off_or_half_as_long_is_found_out() {
    tokio::join!(
        check(|acting| acting.breakers = Breakers::none(), "breaker"),
        check(|acting| acting.breakers.template.open_for /= 2, "breaker"),
        check(|acting| acting.breakers.template.failures_in_a_row = 13, "breaker"),
    );
}

/// No setting makes a call keep its permit while it waits to be tried again. A rest as long as the wait comes to the same.
#[tokio::test]
async fn permits_held_through_a_wait_are_found_out() {
    let mut settings = without_limits(&stated());
    assert_eq!(permits::freed(settings.clone()).await.unwrap().finding, Finding::Acts);
    settings.retry.error_pause = permits::WAIT;
    assert_eq!(permits::freed(settings).await.unwrap().finding, Finding::Late);
}

/// No setting switches the pause off. A refusal that the dialect takes for a passing fault does: nobody pauses.
#[tokio::test]
async fn a_pause_that_nobody_makes_is_found_out() {
    const PASSING_FAULT: &str = "05";
    let mut settings = stated();
    settings.retry.retry_after = RetryAfterRule::Ignore;
    let check = async |code: &str, verdict| {
        let proof = proof("pause", async || pauses::measure(&settings, &settings, code).await).await.unwrap();
        assert_eq!(proof.verdict, verdict, "{proof:?}");
    };
    check(pauses::TOO_FAST, ProofVerdict::Acts).await;
    check(PASSING_FAULT, ProofVerdict::Fails).await;
}

#[tokio::test]
async fn what_comes_late_once_is_measured_again_and_what_is_always_late_fails() {
    let check = async |findings: &[Finding], verdict, measured: &str| {
        let next = std::cell::Cell::new(0);
        let measure = async || {
            let finding = findings[next.replace(next.get() + 1)];
            Ok(Measurement { expected: String::new(), measured: "so much".to_owned(), finding })
        };
        let proof = proof("any", measure).await.unwrap();
        assert_eq!((proof.verdict, &*proof.measured), (verdict, measured));
        assert_eq!(next.get(), findings.len());
    };
    check(&[Finding::Acts], ProofVerdict::Acts, "so much").await;
    check(&[Finding::NotSet], ProofVerdict::NotSet, "so much").await;
    check(&[Finding::Fails], ProofVerdict::Fails, "so much").await;
    check(&[Finding::Late, Finding::Late, Finding::Acts], ProofVerdict::Acts, "so much (measurement 3)").await;
    check(&[Finding::Late, Finding::Fails], ProofVerdict::Fails, "so much (measurement 2)").await;
    check(&[Finding::Late; 3], ProofVerdict::Fails, "so much (measurement 3)").await;
}
