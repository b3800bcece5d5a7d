use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::*;
use crate::caller::pacer::{Pacer, slack};
use crate::caller::slots::{Batch, Reading};

const MS: Nanos = 1_000_000;
const INTERVAL: Duration = Duration::from_millis(25);

/// Keeps the time of a provider for all hosts, on a clock of its own.
#[derive(Clone)]
struct Keeper {
    /// When the next slot is free, and how often was asked.
    next: Arc<Mutex<Nanos>>,
    asked: Arc<AtomicUsize>,
    began: Instant,
}

/// One host's way to the keeper.
struct Way {
    keeper: Keeper,
    clock: Clock,
    /// In milliseconds: there, and back.
    delays: Box<dyn Fn(usize) -> (u64, u64) + Send + Sync>,
    slowest: Duration,
}

impl Slots for Way {
    fn reserve<'a>(&'a self, wish: Wish) -> std::pin::Pin<Box<dyn Future<Output = Batch> + Send + 'a>> {
        Box::pin(async move {
            let (there, back) = (self.delays)(self.keeper.asked.fetch_add(1, Ordering::Relaxed));
            let asked = self.clock.now();
            tokio::time::sleep(Duration::from_millis(there)).await;
            let told = self.keeper.now();
            let interval = wish.interval.max(self.slowest);
            let length = nanos(interval) * u64::from(wish.count) + nanos(wish.margin);
            let start = {
                let mut next = self.keeper.next.lock().unwrap();
                let start = (*next).max(told);
                *next = start + length;
                start
            };
            tokio::time::sleep(Duration::from_millis(back)).await;
            let reading = Reading { asked, told, heard: self.clock.now() };
            Batch { start, end: start + length, count: wish.count, interval, reading }
        })
    }

    fn grants_canary<'a>(&'a self, _: &'a Name) -> std::pin::Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(std::future::ready(true))
    }
}

impl Keeper {
    fn new() -> Self {
        Self { next: Arc::default(), asked: Arc::default(), began: Instant::now() }
    }

    fn now(&self) -> Nanos {
        3_600_000_000_000 + nanos(self.began.elapsed())
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// A host that begins now, by its own clock.
    fn host(&self, delays: impl Fn(usize) -> (u64, u64) + Send + Sync + 'static) -> Host {
        self.slow_host(delays, Duration::ZERO)
    }

    fn slow_host(&self, delays: impl Fn(usize) -> (u64, u64) + Send + Sync + 'static, slowest: Duration) -> Host {
        let clock = Clock::tokio(jiff::Timestamp::UNIX_EPOCH);
        let way = Way { keeper: self.clone(), clock: clock.clone(), delays: Box::new(delays), slowest };
        let lane = Lane::new(Name::literal("open_data"), Arc::new(way), clock.clone());
        Host { pacer: Arc::new(Pacer::sharing(INTERVAL, clock, lane)), keeper: self.clone(), sends: Arc::default() }
    }
}

#[derive(Clone)]
struct Host {
    pacer: Arc<Pacer>,
    keeper: Keeper,
    /// When requests left, by the clock of the keeper.
    sends: Arc<Mutex<Vec<Nanos>>>,
}

impl Host {
    /// So many workers, each of which sends again as soon as its answer has come.
    fn works(&self, workers: usize, each: usize, latency: u64) -> JoinSet<()> {
        let mut set = JoinSet::new();
        for _ in 0..workers {
            let host = self.clone();
            set.spawn(async move {
                for _ in 0..each {
                    host.pacer.turn().await;
                    host.sends.lock().unwrap().push(host.keeper.now());
                    tokio::time::sleep(Duration::from_millis(latency)).await;
                }
            });
        }
        set
    }

    fn sends(&self) -> Vec<Nanos> {
        self.sends.lock().unwrap().clone()
    }
}

fn sorted<'a>(hosts: impl IntoIterator<Item = &'a Host>) -> Vec<Nanos> {
    let mut sends: Vec<Nanos> = hosts.into_iter().flat_map(Host::sends).collect();
    sends.sort_unstable();
    sends
}

fn assert_spaced(sends: &[Nanos]) {
    let least = nanos(INTERVAL) - slack(nanos(INTERVAL));
    let gap = sends.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(gap >= least, "two requests leave within {gap} ns: {sends:?}");
}

/// The part of the slots between the first request and the last that were used.
fn used(sends: &[Nanos]) -> f64 {
    (sends.len() - 1) as f64 * nanos(INTERVAL) as f64 / (sends[sends.len() - 1] - sends[0]) as f64
}

#[tokio::test(start_paused = true)]
async fn a_host_alone_has_the_whole_rate_for_few_questions() {
    let keeper = Keeper::new();
    let host = keeper.host(|_| (1, 1));
    host.works(6, 50, 115).join_all().await;
    let sends = sorted([&host]);
    assert_spaced(&sends);
    assert!(used(&sends) > 0.99, "{}", used(&sends));
    assert!(keeper.asked() < 300 / 6, "{} questions for 300 requests", keeper.asked());
}

#[tokio::test(start_paused = true)]
async fn three_hosts_with_two_permits_each_use_every_slot() {
    let keeper = Keeper::new();
    let hosts = [0, 1, 2].map(|_| keeper.host(|_| (0, 0)));
    let mut work: Vec<_> = hosts.iter().map(|host| host.works(2, 50, 115)).collect();
    for set in &mut work {
        while set.join_next().await.is_some() {}
    }
    let sends = sorted(&hosts);
    assert_spaced(&sends);
    assert!(used(&sends) > 0.96, "{}", used(&sends));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_idle_reserves_nothing() {
    let keeper = Keeper::new();
    let host = keeper.host(|_| (1, 1));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(keeper.asked(), 0);
    host.works(1, 1, 0).join_all().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(keeper.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_sent_in_its_batch_is_forfeited() {
    let keeper = Keeper::new();
    let host = keeper.host(|_| (1, 1));
    let mut work = host.works(4, 10, 5);
    while host.sends().len() < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The process stands still: timers ring late, all at once, and other hosts have gone on meanwhile.
    let (asked, before) = (keeper.asked(), host.sends().len());
    *keeper.next.lock().unwrap() = keeper.now() + 1_900 * MS;
    tokio::time::advance(Duration::from_secs(2)).await;
    let late = keeper.now();
    while work.join_next().await.is_some() {}
    let sends = host.sends();
    assert!(keeper.asked() > asked, "a batch that is over is worth nothing");
    assert!(sends[before] >= late, "{sends:?}");
    assert_spaced(&sends[before..]);
    assert_spaced(&sends);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_outlasts_its_batch_waits_for_another() {
    let keeper = Keeper::new();
    let host = keeper.host(|_| (1, 1));
    host.pacer.turn().await;
    let handshake = host.pacer.handshake();
    tokio::time::sleep(Duration::from_millis(310)).await;
    let others = keeper.now() + 200 * MS;
    *keeper.next.lock().unwrap() = others;
    handshake.connected().await;
    assert!(keeper.now() >= others, "the request leaves in the time of another host");
}

#[tokio::test(start_paused = true)]
async fn the_slowest_host_sets_the_pace_of_all() {
    let keeper = Keeper::new();
    let host = keeper.slow_host(|_| (1, 1), Duration::from_millis(200));
    host.works(4, 5, 5).join_all().await;
    let sends = sorted([&host]);
    let gaps = sends.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.min().unwrap() >= 199 * MS, "{sends:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_keeps_nobody_waiting() {
    let keeper = Keeper::new();
    let host = keeper.host(|_| (20, 20));
    for _ in 0..5 {
        let pacer = Arc::clone(&host.pacer);
        drop(tokio::time::timeout(Duration::from_millis(7), pacer.turn()).await);
    }
    host.works(2, 5, 10).join_all().await;
    assert_eq!(host.sends().len(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn no_two_hosts_ever_send_closer_than_the_gap(
        begins in prop::collection::vec(0_u64..400, 2..4),
        delays in prop::collection::vec((0_u64..40, 0_u64..40), 1..20),
        latency in 1_u64..150,
        stalls in prop::collection::vec(1_u64..900, 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let keeper = Keeper::new();
            let (mut hosts, mut work) = (Vec::new(), Vec::new());
            for wait in begins {
                // Each begins its clock at another moment.
                tokio::time::sleep(Duration::from_millis(wait)).await;
                let delays = delays.clone();
                let host = keeper.host(move |index| delays[index % delays.len()]);
                work.push(host.works(3, 12, latency));
                hosts.push(host);
            }
            for stall in stalls {
                tokio::time::sleep(Duration::from_millis(90)).await;
                tokio::time::advance(Duration::from_millis(stall)).await;
            }
            for set in &mut work {
                while set.join_next().await.is_some() {}
            }
            let sends = sorted(&hosts);
            assert_eq!(sends.len(), hosts.len() * 36);
            assert_spaced(&sends);
        });
    }
}
