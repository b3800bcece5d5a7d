//! A pace that is looked for, against models of limiters, in paused time: what it wastes, how long it takes, and where it
//! ends.

use std::time::Instant;

use super::*;
use crate::sandbox::{Bucket, Limit, Limiter, WindowKind};

/// A limiter, and what it refuses with.
struct Model {
    name: &'static str,
    limit: Limit,
    status: u16,
    refused_in_ms: u64,
    /// Calls a second that it bears for long.
    truth: f64,
    /// What a probe of it would have saved.
    probed: Start,
    /// Calls that a cold search may waste, and the share of the truth that it must reach at the end.
    wasted: usize,
    share: f64,
}

/// How a search went.
struct Trial {
    pages: usize,
    wasted: usize,
    seconds: f64,
    /// Calls a second of the last five.
    rate: f64,
    most_in_flight: u32,
    pauses: Vec<u64>,
}

fn bucket(per_second: f64, burst: f64) -> Limit {
    Limit { bucket: Some(Bucket { per_second, burst }), ..Limit::default() }
}

fn window(per_second: u32) -> Limit {
    Limit { per_second: Some(per_second), ..Limit::default() }
}

fn model(name: &'static str, limit: Limit, truth: f64, rate: f64, in_flight: u32) -> Model {
    let probed = Start { rate, in_flight: Some(in_flight) };
    Model { name, limit, status: 429, refused_in_ms: 14, truth, probed, wasted: 4, share: 0.7 }
}

fn models() -> Vec<Model> {
    vec![
        model("no limit", Limit::default(), 50.0, 44.0, 8),
        model("40/s, no burst", bucket(40.0, 1.0), 40.0, 32.0, 6),
        Model { status: 503, ..model("40/s, no burst, 503", bucket(40.0, 1.0), 40.0, 32.0, 6) },
        Model { status: 500, ..model("40/s, sliding window, 500", window(40), 40.0, 30.0, 6) },
        // No status of any kind: a page for people that the judge does not know.
        Model { status: 299, ..model("40/s, no burst, garbled", bucket(40.0, 1.0), 40.0, 32.0, 6) },
        Model { status: 500, ..model("4 in flight, 500", Limit { in_flight: Some(4), ..Limit::default() }, 34.0, 27.0, 4) },
        model("40/s, burst 40", bucket(40.0, 40.0), 40.0, 24.0, 6),
        model("3/s, no burst", bucket(3.0, 1.0), 3.0, 2.4, 1),
        model("40/s, sliding window", window(40), 40.0, 30.0, 6),
        model("40/s, fixed window", Limit { window: WindowKind::Fixed, ..window(40) }, 40.0, 34.0, 7),
        model("40/s, refused ones count", Limit { counts_refused: true, ..window(40) }, 40.0, 28.0, 6),
        model("4 in flight", Limit { in_flight: Some(4), ..Limit::default() }, 34.0, 27.0, 4),
        model("4 in flight and 40/s", Limit { in_flight: Some(4), ..bucket(40.0, 10.0) }, 34.0, 18.0, 4),
        Model { wasted: 8, share: 0.6, ..model("40/s, ban of 10 s", Limit { ban_ms: 10_000, ..window(40) }, 40.0, 22.0, 5) },
        // As many as were in flight: nothing comes back from any of them.
        Model {
            refused_in_ms: 15_000,
            status: 504,
            wasted: 16,
            share: 0.6,
            ..model("40/s, ban of 10 s, silent", Limit { ban_ms: 10_000, ..window(40) }, 40.0, 22.0, 5)
        },
        Model { refused_in_ms: 3_000, wasted: 12, share: 0.6, ..model("40/s, refused after 3 s", window(40), 40.0, 20.0, 5) },
    ]
}

/// Asks for so many pages behind the limiter, each of which must come.
async fn tried(model: &Model, start: Start, ceiling: f64, pages: usize) -> Trial {
    let most = Arc::new(Mutex::new(0));
    let script = {
        let (limit, status, refused_in) = (model.limit.clone(), model.status, Duration::from_millis(model.refused_in_ms));
        let (base, most) = (Instant::now(), Arc::clone(&most));
        let state = Mutex::new((Limiter::default(), fastrand::Rng::with_seed(7)));
        move |asked: &Asked<'_>| {
            let (limiter, random) = &mut *state.lock().unwrap();
            let mut most = most.lock().unwrap();
            *most = asked.in_flight.max(*most);
            match limiter.refuses(&limit, asked.in_flight, base + Duration::from_nanos(asked.at)) {
                Some(_) => Reply::After(refused_in, status),
                None => Reply::After(usual(random), 200),
            }
        }
    };
    let limits = ProviderLimits { pace: Pace::Sought(start), ..limits(16, ceiling) };
    let world = World::playing(limits, retry_settings(), None, script);
    let mut calls = world.fetch_many(pages);
    let mut came = 0;
    while let Some(call) = calls.join_next().await {
        came += usize::from(call.unwrap().is_ok());
    }
    let sends = world.sends();
    let end = world.clock.now();
    let last = sends.iter().filter(|at| **at + 5 * SECOND >= end).count();
    let most_in_flight = *most.lock().unwrap();
    let pauses = world.ears.pauses();
    let seconds = end as f64 / SECOND as f64;
    Trial { pages: came, wasted: sends.len() - came, seconds, rate: last as f64 / 5.0, most_in_flight, pauses }
}

/// Lognormal, with a median of 110 ms.
fn usual(random: &mut fastrand::Rng) -> Duration {
    let (a, b) = (random.f64().max(1e-9), random.f64());
    let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    Duration::from_secs_f64(0.110 * (0.25 * normal).exp())
}

#[expect(clippy::print_stdout, reason = "the table is told to whoever asks for it with --no-capture")]
fn tell(name: &str, how: &str, trial: &Trial) {
    let Trial { pages, wasted, seconds, rate, most_in_flight, pauses } = trial;
    println!(
        "{name:<26} {how:<6} {pages:>3} pages {wasted:>2} wasted {seconds:>5.1} s -> {rate:>4.1}/s, {most_in_flight:>2} in flight, pauses {pauses:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_search_that_begins_cold_wastes_few_calls_and_comes_near_the_limit() {
    for model in models() {
        let trial = tried(&model, Start::COLD, 50.0, 600).await;
        tell(model.name, "cold", &trial);
        let name = model.name;
        assert_eq!(trial.pages, 600, "{name}: every page comes");
        assert!(trial.wasted <= model.wasted, "{name}: {} wasted", trial.wasted);
        assert!(trial.rate >= model.share * model.truth, "{name}: {} of {}", trial.rate, model.truth);
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_that_begins_with_what_a_probe_found_wastes_nothing() {
    for model in models() {
        let start = model.probed;
        let ceiling = start.rate / 0.95;
        let trial = tried(&model, start, ceiling, 600).await;
        tell(model.name, "seeded", &trial);
        let name = model.name;
        assert_eq!((trial.pages, trial.wasted), (600, 0), "{name}");
        assert!(trial.rate <= ceiling + 0.5, "{name}: {} of {ceiling}", trial.rate);
        assert!(trial.most_in_flight <= start.in_flight.unwrap(), "{name}: {} in flight", trial.most_in_flight);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_a_minute_is_kept_to_after_its_second_ban() {
    let minute = Limit { per_second: Some(600), window_ms: 60_000, window: WindowKind::Fixed, ..Limit::default() };
    let model = model("600 a minute", minute, 10.0, 9.0, 3);
    let trial = tried(&model, Start::COLD, 50.0, 3_000).await;
    tell(model.name, "cold", &trial);
    assert_eq!(trial.pages, 3_000);
    assert!(trial.wasted <= 16 && (5.0..=10.0).contains(&trial.rate), "{} wasted, {}/s", trial.wasted, trial.rate);
}

/// Refuses a call in the middle, and everybody from then on until nobody has asked for ten seconds.
fn bans_in_the_middle(middle: usize) -> impl Fn(&Asked<'_>) -> Reply {
    let banned_until = Mutex::new(0);
    move |asked: &Asked<'_>| {
        let mut banned_until = banned_until.lock().unwrap();
        if asked.index != middle && asked.at >= *banned_until {
            return Reply::After(Duration::from_millis(110), 200);
        }
        *banned_until = asked.at + 10 * SECOND;
        Reply::After(Duration::from_millis(14), 429)
    }
}

#[tokio::test(start_paused = true)]
async fn a_ban_in_the_middle_loses_no_page_where_waits_of_single_calls_keep_it_alive() {
    let limits = ProviderLimits { pace: Pace::Sought(Start::COLD), ..limits(16, 20.0) };
    let world = World::playing(limits, retry_settings(), None, bans_in_the_middle(150));
    let calls = world.fetch_many(300).join_all().await;
    assert!(calls.iter().all(Result::is_ok));
    let (took, wasted) = (world.clock.now(), world.sends().len() - 300);
    assert!(wasted <= 8 && took < 90 * SECOND, "{wasted} wasted in {} s", took / SECOND);

    // Eight workers that wait each for itself, longer each time.
    let (clock, script) = (Clock::tokio(START.parse().unwrap()), Arc::new(bans_in_the_middle(150)));
    let (asked, came) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let mut workers = JoinSet::new();
    for worker in 0..8 {
        let (clock, script, asked, came) = (clock.clone(), Arc::clone(&script), Arc::clone(&asked), Arc::clone(&came));
        workers.spawn(async move {
            let mut random = fastrand::Rng::with_seed(worker);
            while *came.lock().unwrap() < 300 {
                for tries in 0.. {
                    let index = std::mem::replace(&mut *asked.lock().unwrap(), 0) + 1;
                    *asked.lock().unwrap() = index;
                    let Reply::After(took, status) = script(&Asked { index, at: clock.now(), url: "", in_flight: 1 }) else {
                        break;
                    };
                    clock.sleep(took).await;
                    if status == 200 {
                        *came.lock().unwrap() += 1;
                        break;
                    }
                    clock.sleep(Duration::from_secs_f64((0.2 * f64::powi(2.0, tries)).min(10.0) * (0.5 + random.f64()))).await;
                }
            }
        });
    }
    assert!(tokio::time::timeout(Duration::from_nanos(2 * took), workers.join_all()).await.is_err());
    let came = *came.lock().unwrap();
    assert!(came < 160, "{came} pages in twice the time");
}

#[tokio::test(start_paused = true)]
async fn the_third_ban_ends_the_run_at_the_provider_with_what_it_has() {
    // Every sixtieth second begins a ban of ten.
    let script = |asked: &Asked<'_>| {
        let second = asked.at / SECOND;
        Reply::After(Duration::from_millis(110), if second % 60 >= 50 { 429 } else { 200 })
    };
    let limits = ProviderLimits { pace: Pace::Sought(Start::COLD), ..limits(16, 20.0) };
    let world = World::playing(limits, retry_settings(), None, script);
    let calls = world.fetch_many(6_000).join_all().await;
    let came = calls.iter().filter(|call| call.is_ok()).count();
    let deferred = calls
        .iter()
        .filter_map(|call| call.as_ref().err())
        .filter(|failure| matches!(&failure.end, End::Deferred { until: None, why } if why.contains("shut us out 3 times")));
    assert_eq!(came + deferred.count(), 6_000);
    assert!((1_000..3_000).contains(&came), "{came}");
    assert!((170..180).contains(&(world.clock.now() / SECOND)), "{} s", world.clock.now() / SECOND);
    assert_eq!(world.ears.count(|event| matches!(event, Event::ApiBlocked { .. })), 1, "said once");
}

#[tokio::test(start_paused = true)]
async fn one_stray_failure_changes_nothing() {
    for stray in [Reply::After(Duration::from_millis(10), 503), Reply::Fails(Connection::Stale)] {
        let script = move |index, _| if index == 100 { stray.clone() } else { Reply::Status(200) };
        let limits = ProviderLimits { pace: Pace::Sought(Start::COLD), ..limits(16, 40.0) };
        let world = World::scripted(limits, retry_settings(), script);
        assert!(world.fetch_many(600).join_all().await.iter().all(Result::is_ok));
        assert_eq!((world.sends().len(), world.ears.pauses()), (601, Vec::new()));
        assert!(world.clock.now() < 25 * SECOND, "{} s", world.clock.now() / SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn quick_failures_that_come_at_any_pace_do_not_slow_a_search_down_for_good() {
    let random = Mutex::new(fastrand::Rng::with_seed(7));
    let script = move |_: &Asked<'_>| {
        let is_bad = random.lock().unwrap().f64() < 0.05;
        if is_bad { Reply::After(Duration::from_millis(10), 500) } else { Reply::After(Duration::from_millis(110), 200) }
    };
    let limits = ProviderLimits { pace: Pace::Sought(Start::COLD), ..limits(16, 40.0) };
    let world = World::playing(limits, retry_settings(), None, script);
    let calls = world.fetch_many(1_200).join_all().await;
    assert!(calls.iter().all(Result::is_ok));
    assert!(world.clock.now() < 70 * SECOND, "{} s", world.clock.now() / SECOND);
}
