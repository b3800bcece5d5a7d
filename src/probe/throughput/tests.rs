use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use super::learn::Learner;
use super::report::{Confidence, Ended, LimitKind, Subject, Throughput};
use super::step::{Step, StepKind, StepVerdict};
use super::*;
use crate::caller::{Call, Caller, CallerSettings, Clock, Judge, Pace, PageRequest, ProviderLimits, Surroundings, Unrationed};
use crate::decode::{self, RawAnswer, Reading};
use crate::definition::catalog::Catalog;
use crate::model::attempt::CallLabel;
use crate::model::event::Listeners;
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::name::Name;
use crate::model::partition::Partition;
use crate::model::rate::Rate;
use crate::sandbox::{Played, Portal, Scenario};
use crate::settings::breaker::Breakers;
use crate::settings::http::HttpSettings;

fn provider() -> Name {
    Name::literal("data_go_kr")
}

/// A portal behind a limiter, and calls that ask it.
struct Stand {
    portal: Portal,
}

impl Stand {
    async fn behind(limit: &str) -> Self {
        Self::playing(&format!("rows = 5\nlatency_ms = {{ from = 60, to = 90 }}\n{limit}")).await
    }

    async fn playing(scenario: &str) -> Self {
        let scenario = Scenario::from_toml(scenario).unwrap_or_else(|error| panic!("{error:?}"));
        Self { portal: Portal::start(scenario, (Ipv4Addr::LOCALHOST, 0).into()).await.unwrap() }
    }

    fn calls(&self) -> Box<MakeCall> {
        let catalog = Catalog::builtin();
        let dataset = catalog.dataset("apt_trade").unwrap().clone();
        let dialect = catalog.dialect(&provider()).unwrap().clone();
        let judge: Judge = Arc::new(move |answer: RawAnswer| decode::judge(&answer, &dialect, &Reading::default()));
        let base_url = self.portal.base_url();
        Box::new(move |_| {
            let partition = Partition::new([(Name::literal("region"), "11110"), (Name::literal("month"), "2024-01")]);
            Call {
                provider: provider(),
                label: CallLabel {
                    dataset: dataset.id.clone(),
                    partition: partition.clone(),
                    job: JobId(0),
                    read: ReadNumber::FIRST,
                    page: PageNumber::FIRST,
                },
                request: PageRequest {
                    base_url: base_url.clone(),
                    path: dataset.path.clone(),
                    query: dataset.query(&partition, PageNumber::FIRST, 10),
                    key: None,
                },
                judge: Arc::clone(&judge),
                place: None,
                abandoned: None,
                failed: None,
            }
        })
    }

    fn caller(&self, ears: &Arc<Ears>) -> Caller {
        let limits = ProviderLimits {
            provider: provider(),
            concurrency: 1,
            rate: Rate::PerSecond(1.0),
            invalid_in_a_row: u32::MAX,
            pace: Pace::Steered,
            zone: TimeZone::UTC,
        };
        let http = HttpSettings { read_timeout: Duration::from_secs(6), ..HttpSettings::default() };
        let settings = CallerSettings {
            providers: vec![limits],
            http,
            retry: single_tries(Duration::from_secs(60)),
            breakers: Breakers::none(),
            max_calls: None,
            max_runtime: None,
        };
        let surroundings = Surroundings {
            clock: Clock::precise(),
            random: Arc::new(fastrand::f64),
            listener: Arc::new(Listeners(vec![ears.clone()])),
            ration: Arc::new(Unrationed),
            slots: None,
        };
        Caller::new(settings, surroundings).unwrap()
    }

    async fn probed(&self, bounds: Bounds) -> Throughput {
        let ears = Ears::new();
        let target = Target {
            caller: self.caller(&ears),
            provider: provider(),
            make: self.calls(),
            ears,
            learner: Learner::new(10),
            stop: CancellationToken::new(),
        };
        let subject = Subject {
            provider: "data_go_kr".to_owned(),
            dataset: "apt_trade".to_owned(),
            source: self.portal.base_url(),
            started: String::new(),
        };
        search(target, bounds, subject, &mut |_| {}).await
    }

    /// Asks at the answer for so long; how many were refused.
    async fn used(&self, answer: report::Answer, seconds: f64) -> usize {
        let before = self.portal.requests().len();
        let ears = Ears::new();
        let caller = self.caller(&ears);
        caller.steer(&provider(), Rate::PerSecond(answer.rps), answer.concurrency);
        let make = self.calls();
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..(answer.rps * seconds) as i64 {
            let (caller, call) = (caller.clone(), make(number));
            calls.spawn(async move { caller.fetch(call).await });
        }
        calls.join_all().await;
        self.portal.requests()[before..].iter().filter(|line| line.played != Played::Page).count()
    }
}

const BOUNDS: Bounds =
    Bounds { max_calls: 400, ceiling: 50.0, max_concurrency: 16, max_wait: Duration::from_secs(60), refine: 1 };

/// A limiter, its true lasting rate, the least part of it that must be found, and what must be said.
struct Model {
    name: &'static str,
    limit: &'static str,
    truth: f64,
    share: f64,
    kind: LimitKind,
}

const MODELS: &[Model] = &[
    Model { name: "no limit below the ceiling", limit: "", truth: 50.0, share: 0.6, kind: LimitKind::None },
    Model { name: "40/s, sliding window", limit: "limit = { per_second = 40 }", truth: 40.0, share: 0.6, kind: LimitKind::Rate },
    Model {
        name: "40/s, fixed window, status 200",
        limit: "limit = { per_second = 40, window = 'fixed', answer = { kind = 'gateway3', code = '23', status = 200 } }",
        truth: 40.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "40/s, refused ones count",
        limit: "limit = { per_second = 40, counts_refused = true }",
        truth: 40.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "30/s, no burst, 503",
        limit: "limit = { bucket = { per_second = 30, burst = 1 }, answer = { kind = 'html', status = 503 } }",
        truth: 30.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "30/s, bucket of 30",
        limit: "limit = { bucket = { per_second = 30, burst = 30 } }",
        truth: 30.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "40/s, asks for 5 s after a refusal",
        limit: "limit = { per_second = 40, answer = { kind = 'html', status = 429, retry_after = 5 } }",
        truth: 40.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "1/s, slower than the base",
        limit: "limit = { bucket = { per_second = 1.0, burst = 1 } }",
        truth: 1.0,
        share: 0.6,
        kind: LimitKind::Rate,
    },
    Model {
        name: "20/s, announced",
        limit: "limit = { per_second = 20, policy = '20;w=1' }",
        truth: 20.0,
        share: 0.75,
        kind: LimitKind::None,
    },
    Model {
        name: "100 in ten seconds",
        limit: "limit = { per_second = 100, window_ms = 10000 }",
        truth: 10.0,
        share: 0.6,
        kind: LimitKind::LongWindow,
    },
    Model { name: "3 in flight", limit: "limit = { in_flight = 3 }", truth: 3.0 / 0.076, share: 0.45, kind: LimitKind::InFlight },
    Model {
        name: "35/s, 403 for 4 s",
        limit: "limit = { per_second = 35, ban_ms = 4000, answer = { kind = 'html', status = 403 } }",
        truth: 35.0,
        share: 0.45,
        kind: LimitKind::Ban,
    },
];

#[expect(clippy::print_stdout, reason = "the table is told to whoever asks for it with --no-capture")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_is_safe_and_useful_behind_every_kind_of_limiter() {
    let mut trials = tokio::task::JoinSet::new();
    for model in MODELS {
        trials.spawn(async move {
            let stand = Stand::behind(model.limit).await;
            let report = stand.probed(BOUNDS).await;
            let seen = stand.portal.requests();
            let answer = report.result.unwrap_or_else(|| panic!("{}: {report:#?}", model.name));
            // Until what it did to the limiter is over.
            let until_over = match model.kind {
                LimitKind::Ban => 4_100,
                LimitKind::LongWindow => 10_100,
                LimitKind::None | LimitKind::Rate | LimitKind::InFlight | LimitKind::Queue => 1_100,
            };
            tokio::time::sleep(Duration::from_millis(until_over)).await;
            let refused = stand.used(answer, 8.0).await;
            (model, report, answer, seen, refused)
        });
    }
    let mut trials = trials.join_all().await;
    trials.sort_by_key(|(model, ..)| MODELS.iter().position(|known| known.name == model.name));
    for (model, report, answer, seen, refused) in &trials {
        let events = report.steps.iter().filter(|step| step.refused > 0).count();
        println!(
            "{:<32} {:>3} calls {events} refusals {:>4.1} s -> {:>4.1}/s, {:>2} in flight, {:>3.0} %, {:?}, {:?}; in use {refused} refused",
            model.name,
            report.used,
            report.tested.seconds,
            answer.rps,
            answer.concurrency,
            answer.rps / model.truth * 100.0,
            report.kind,
            answer.confidence,
        );
        assert_eq!(report.used, seen.len(), "every request is told");
    }
    for (model, report, answer, seen, refused) in &trials {
        let name = model.name;
        assert_eq!(*refused, 0, "{name}: refused at its answer\n{report:#?}");
        assert!(answer.rps <= model.truth, "{name}: {} is more than it bears", answer.rps);
        assert!(answer.rps >= model.share * model.truth, "{name}: {} of {}\n{report:#?}", answer.rps, model.truth);
        // On a busy machine more seem to be in flight here than there.
        if model.kind != LimitKind::InFlight {
            assert_eq!(report.kind, model.kind, "{name}");
        }
        assert!(seen.len() <= BOUNDS.max_calls, "{name}: {} requests", seen.len());
        let most = seen.iter().map(|line| line.in_flight).max().unwrap();
        assert!(most <= BOUNDS.max_concurrency, "{name}");
        assert!(report.steps.iter().filter(|step| step.refused > 0).count() <= 2, "{name}: refused too often");
        let is_ban = model.kind == LimitKind::Ban;
        let was_shut = is_ban || model.kind == LimitKind::LongWindow;
        assert_eq!(report.ended, if was_shut { Ended::Blocked } else { Ended::Answered }, "{name}");
        assert_eq!(answer.confidence == Confidence::Blocked, is_ban, "{name}");
        let says_of_longer = report.not_ruled_out.iter().any(|what| what.contains("over a longer time"));
        assert!(says_of_longer, "{name}: {:?}", report.not_ruled_out);
        let was_refused = report.steps.iter().any(|step| step.refused > 0);
        assert!(answer.confidence != Confidence::NoLimitSeen || !was_refused, "{name}: nothing was refused, it says");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_was_held_down_is_tried_once_more_with_more_in_flight() {
    // With the second step of the ladder, whenever that is, two in flight are too few all of a sudden.
    let before = "[[fault]]\ntimes = 27\nwait_ms = 100";
    let stand = Stand::playing(&format!("rows = 5\nlatency_ms = 145\n{before}")).await;
    let report = stand.probed(BOUNDS).await;
    let is_held = |step: &Step| step.verdict == StepVerdict::Held;
    let held = report.steps.iter().position(is_held).unwrap_or_else(|| panic!("{report:#?}"));
    let (held, again) = (&report.steps[held], &report.steps[held + 1]);
    assert_eq!((again.kind, again.offered), (StepKind::Ladder, held.offered), "{report:#?}");
    assert!(again.cap > held.cap && again.verdict == StepVerdict::Clean, "{report:#?}");
    let rps = report.result.unwrap().rps;
    assert!(rps > 1.5 * held.sent, "{rps}, and it did not end at {}", held.sent);
}
