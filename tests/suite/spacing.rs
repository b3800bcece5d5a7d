//! That calls leave no closer than the pacer promises, judged by a server that refuses single gaps.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gapless::caller::{Call, Caller, CallerSettings, Clock, Judge, Pace, PageRequest, ProviderLimits, Surroundings, Unrationed};
use gapless::decode::{self, RawAnswer, Reading};
use gapless::definition::catalog::Catalog;
use gapless::model::attempt::CallLabel;
use gapless::model::event::{Event, Listener, Listeners};
use gapless::model::job::{JobId, PageNumber, ReadNumber};
use gapless::model::name::Name;
use gapless::model::partition::Partition;
use gapless::model::rate::Rate;
use gapless::probe::throughput::single_tries;
use gapless::settings::breaker::Breakers;
use gapless::settings::http::HttpSettings;
use jiff::tz::TimeZone;
use tokio::task::JoinSet;

use crate::limiter::{behind, refused};

/// When the requests of each call left, by its own number: one that is refused is asked again.
#[derive(Default)]
struct Stamps(Mutex<HashMap<i64, VecDeque<Instant>>>);

impl Listener for Stamps {
    fn hear(&self, event: &Event) {
        if let Event::AttemptStarted { label, .. } = event {
            self.0.lock().unwrap().entry(label.job.0).or_default().push_back(Instant::now());
        }
    }
}

const CALLS: i64 = 500;
const GAP: Duration = Duration::from_millis(27);

#[test]
fn no_call_that_kept_its_gap_is_refused() {
    let (_world, limiter) = behind("nginx-leaky");
    let stamps = Arc::new(Stamps::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let caller = caller(Arc::clone(&stamps) as Arc<dyn Listener>);
        let mut calls = JoinSet::new();
        for number in 1..=CALLS {
            let (caller, call) = (caller.clone(), call(&limiter.base_url(), number));
            calls.spawn(async move { caller.fetch(call).await });
        }
        calls.join_all().await;
    });
    let mut stamps = stamps.0.lock().unwrap();
    let seen = limiter.seen();
    assert!(seen.len() >= CALLS as usize);
    let number = |query: &str| -> i64 { query.split_once("pageNo=").unwrap().1.split('&').next().unwrap().parse().unwrap() };
    let mut last_let_in = None;
    let mut own_gaps = Vec::new();
    let mut too_close = Vec::new();
    for one in &seen {
        let left = stamps.get_mut(&number(&one.query)).unwrap().pop_front().unwrap();
        if let Some((before, before_ms)) = last_let_in {
            let gap: Duration = left.duration_since(before);
            own_gaps.push(gap);
            if one.is_refused {
                too_close.push((gap, one.began_ms - before_ms));
            }
        }
        if !one.is_refused {
            last_let_in = Some((left, one.began_ms));
        }
    }
    own_gaps.sort_unstable();
    eprintln!(
        "{CALLS} calls, {}; own gaps from {:?} to {:?}, half below {:?}; refused after own gaps, and gaps at the server in ms: {too_close:?}",
        refused(&seen),
        own_gaps[0],
        own_gaps[own_gaps.len() - 1],
        own_gaps[own_gaps.len() / 2],
    );
    assert!(own_gaps[0] >= GAP - Duration::from_millis(1), "two left within {:?}", own_gaps[0]);
    let kept: Vec<_> = too_close.iter().filter(|(gap, _)| *gap >= Duration::from_millis(26)).collect();
    assert!(kept.is_empty(), "refused though they kept their gap: {kept:?}");
}

fn caller(stamps: Arc<dyn Listener>) -> Caller {
    let limits = ProviderLimits {
        provider: Name::literal("data_go_kr"),
        concurrency: 6,
        rate: Rate::PerSecond(1.0 / GAP.as_secs_f64()),
        invalid_in_a_row: u32::MAX,
        pace: Pace::Steered,
        zone: TimeZone::UTC,
    };
    let settings = CallerSettings {
        providers: vec![limits],
        http: HttpSettings::default(),
        retry: single_tries(Duration::from_secs(60)),
        breakers: Breakers::none(),
        max_calls: None,
        max_runtime: None,
    };
    let surroundings = Surroundings {
        clock: Clock::precise(),
        random: Arc::new(fastrand::f64),
        listener: Arc::new(Listeners(vec![stamps])),
        ration: Arc::new(Unrationed),
        slots: None,
    };
    Caller::new(settings, surroundings).unwrap()
}

/// The page of a number, so that the server's log tells which call it saw.
fn call(base_url: &str, number: i64) -> Call {
    let catalog = Catalog::builtin();
    let provider = Name::literal("data_go_kr");
    let dataset = catalog.dataset("apt_trade").unwrap().clone();
    let dialect = catalog.dialect(&provider).unwrap().clone();
    let judge: Judge = Arc::new(move |answer: RawAnswer| decode::judge(&answer, &dialect, &Reading::default()));
    let partition = Partition::new([(Name::literal("region"), "11110"), (Name::literal("month"), "2024-01")]);
    let page = PageNumber(u32::try_from(number).unwrap());
    Call {
        provider,
        label: CallLabel {
            dataset: dataset.id.clone(),
            partition: partition.clone(),
            job: JobId(number),
            read: ReadNumber::FIRST,
            page,
        },
        request: PageRequest {
            base_url: base_url.to_owned(),
            path: dataset.path.clone(),
            query: dataset.query(&partition, page, 10),
            key: None,
        },
        judge,
        place: None,
        abandoned: None,
        failed: None,
    }
}
