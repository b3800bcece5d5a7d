use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::grid::{Cell, Grid, TooSoon, slack};
use super::*;

const MS: Nanos = 1_000_000;

/// The gap rule, over every pair: so it holds for every window.
fn assert_spaced(sends: &[Nanos], interval: Nanos) {
    let mut sends = sends.to_vec();
    sends.sort_unstable();
    for (from, first) in sends.iter().enumerate() {
        for (more, later) in sends[from..].iter().enumerate() {
            let least = (more as u64 * interval).saturating_sub(slack(interval));
            assert!(later - first >= least, "{more} sends after {first} within {} of {interval}", later - first);
        }
    }
}

struct LoomCell(loom::sync::atomic::AtomicU64);

impl Cell for LoomCell {
    fn new(value: u64) -> Self {
        Self(loom::sync::atomic::AtomicU64::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load(loom::sync::atomic::Ordering::Relaxed)
    }

    fn store(&self, value: u64) {
        self.0.store(value, loom::sync::atomic::Ordering::Relaxed);
    }

    fn replace(&self, current: u64, new: u64) -> Result<(), u64> {
        let order = loom::sync::atomic::Ordering::Relaxed;
        self.0.compare_exchange(current, new, order, order).map(drop)
    }

    fn raise(&self, floor: u64) {
        self.0.fetch_max(floor, loom::sync::atomic::Ordering::Relaxed);
    }

    fn add(&self, more: u64) {
        self.0.fetch_add(more, loom::sync::atomic::Ordering::Relaxed);
    }

    fn subtract(&self, less: u64) {
        self.0.fetch_sub(less, loom::sync::atomic::Ordering::Relaxed);
    }
}

/// Each number is a thread that sends once and wakes this late, at its slot and at each later look.
fn check_interleavings(lateness: &'static [Nanos], preemptions: usize) {
    const INTERVAL: Nanos = 100;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let grid = loom::sync::Arc::new(Grid::<LoomCell>::new(INTERVAL));
        let send = |grid: &Grid<LoomCell>, late: Nanos| {
            let mut slot = grid.reserve(0);
            let mut now = slot.at() + late;
            while let Err(TooSoon { free_at }) = slot.leave(now) {
                now = free_at + late;
            }
            (slot.at(), now)
        };
        let (last, others) = lateness.split_last().expect("at least one thread");
        let threads: Vec<_> = others
            .iter()
            .map(|&late| {
                let grid = loom::sync::Arc::clone(&grid);
                loom::thread::spawn(move || send(&grid, late))
            })
            .collect();
        let mut sends = vec![send(&grid, *last)];
        sends.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        assert_spaced(&sends.iter().map(|send| send.1).collect::<Vec<_>>(), INTERVAL);
        let mut slots: Vec<Nanos> = sends.iter().map(|send| send.0).collect();
        slots.sort_unstable();
        assert!(slots.windows(2).all(|pair| pair[1] - pair[0] >= INTERVAL), "no slot is given twice: {slots:?}");
    });
}

#[test]
fn no_interleaving_of_two_calls_breaks_the_gap() {
    for lateness in [&[0, 0], &[0, 5], &[5, 35], &[250, 0]] {
        check_interleavings(lateness, 4);
    }
}

#[test]
fn no_interleaving_of_three_calls_breaks_the_gap() {
    check_interleavings(&[0, 35, 250], 1);
}

#[test]
fn calls_that_wake_on_time_or_within_the_slack_use_every_slot() {
    let grid: Grid = Grid::new(25 * MS);
    let sends: Vec<Nanos> = (0..400)
        .map(|index| {
            let mut slot = grid.reserve(7);
            slot.leave(slot.at() + (index % 2) * MS).unwrap();
            slot.at()
        })
        .collect();
    assert_eq!(sends[399] - sends[0], 399 * 25 * MS);
}

#[test]
fn a_late_call_pushes_the_slots_to_come_and_nothing_is_caught_up() {
    let grid: Grid = Grid::new(25 * MS);
    let mut waiting: Vec<_> = (0..4).map(|_| grid.reserve(0)).collect();
    let late = 2_000 * MS;
    waiting[0].leave(late).unwrap();
    assert_eq!(waiting[1].leave(late), Err(TooSoon { free_at: late - MS + 25 * MS }));
    assert_eq!(grid.reserve(late).at(), late - MS + 4 * 25 * MS, "behind the three that still wait");
}

#[test]
fn a_slower_rate_holds_at_the_next_send() {
    let grid: Grid = Grid::new(10 * MS);
    grid.reserve(0).leave(0).unwrap();
    let mut slot = grid.reserve(0);
    grid.set_interval(20 * MS);
    slot.leave(10 * MS).unwrap();
    assert_eq!(grid.reserve(10 * MS).leave(29 * MS), Err(TooSoon { free_at: 30 * MS }));
}

#[derive(Clone, Debug)]
enum Step {
    Reserve,
    Pass(Nanos),
    /// One of the waiting calls wakes.
    Wake(usize),
    GiveUp(usize),
    Connected,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Reserve),
        4 => (0..40 * MS).prop_map(Step::Pass),
        1 => (0..3_000 * MS).prop_map(Step::Pass),
        8 => any::<usize>().prop_map(Step::Wake),
        1 => any::<usize>().prop_map(Step::GiveUp),
        1 => Just(Step::Connected),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    #[test]
    fn no_sequence_of_reserving_idling_and_stalling_breaks_the_gap(steps in steps(), interval in 1..60 * MS) {
        let grid: Grid = Grid::new(interval);
        let (mut now, mut waiting, mut sends) = (0, Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Reserve => waiting.push(grid.reserve(now)),
                Step::Pass(time) => now += time,
                Step::Wake(_) | Step::GiveUp(_) if waiting.is_empty() => {}
                Step::Wake(index) => {
                    let index = index % waiting.len();
                    if now >= waiting[index].at() && waiting[index].leave(now).is_ok() {
                        waiting.remove(index);
                        sends.push(now);
                    }
                }
                Step::GiveUp(index) => drop(waiting.remove(index % waiting.len())),
                Step::Connected => grid.left_late(now),
            }
        }
        assert_spaced(&sends, interval);
    }
}

/// `tasks` that send again and again at this interval, and when they did.
fn senders(pacer: &Arc<Pacer>, tasks: usize, each: usize) -> tokio::task::JoinSet<Vec<Nanos>> {
    let mut set = tokio::task::JoinSet::new();
    for _ in 0..tasks {
        let pacer = Arc::clone(pacer);
        set.spawn(async move {
            let mut sends = Vec::new();
            for _ in 0..each {
                sends.push(pacer.turn().await);
            }
            sends
        });
    }
    set
}

fn pacer(interval: Duration) -> (Arc<Pacer>, Clock) {
    let clock = Clock::tokio(jiff::Timestamp::UNIX_EPOCH);
    (Arc::new(Pacer::new(interval, clock.clone())), clock)
}

#[tokio::test(start_paused = true)]
async fn after_a_stall_no_two_sends_are_too_close() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    let set = senders(&pacer, 16, 5);
    clock.sleep(Duration::from_millis(110)).await;
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_spaced(&set.join_all().await.concat(), 25 * MS);
}

#[tokio::test(start_paused = true)]
async fn after_idling_there_is_no_burst() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    senders(&pacer, 4, 2).join_all().await;
    clock.sleep(Duration::from_secs(2)).await;
    let idle_until = clock.now();
    let sends = senders(&pacer, 16, 3).join_all().await.concat();
    assert_spaced(&sends, 25 * MS);
    assert!(sends.iter().filter(|send| **send < idle_until + 100 * MS).count() <= 5);
}

#[tokio::test(start_paused = true)]
async fn paused_time_keeps_the_whole_rate() {
    let (pacer, _) = pacer(Duration::from_millis(25));
    let sends = senders(&pacer, 8, 50).join_all().await.concat();
    let took = sends.iter().max().unwrap() - sends.iter().min().unwrap();
    assert!(took <= 399 * 25 * MS + 2 * MS, "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_shuts_the_gate_and_the_gap_counts_from_its_end() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    pacer.turn().await;
    let handshake = pacer.handshake();
    let next = senders(&pacer, 1, 1);
    clock.sleep(Duration::from_millis(310)).await;
    let connected = clock.now();
    handshake.connected().await;
    let sends = next.join_all().await.concat();
    assert!(sends[0] >= connected + 24 * MS, "{sends:?}, connected at {connected}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_handshake_opens_the_gate() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    let handshake = pacer.handshake();
    let next = senders(&pacer, 1, 1);
    clock.sleep(Duration::from_millis(100)).await;
    drop(handshake);
    next.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_on_its_way_out_shuts_the_gate_and_the_gap_counts_from_where_it_is_written() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    pacer.turn().await;
    let departure = pacer.departure();
    let next = senders(&pacer, 1, 1);
    clock.sleep(Duration::from_millis(40)).await;
    drop(departure);
    assert_eq!(next.join_all().await.concat(), [(40 + 24) * MS]);
}

#[tokio::test(start_paused = true)]
async fn two_handshakes_in_a_row_keep_the_gap_too() {
    let (pacer, clock) = pacer(Duration::from_millis(25));
    let (first, second) = (pacer.handshake(), pacer.handshake());
    clock.sleep(Duration::from_millis(10)).await;
    first.connected().await;
    let before = clock.now();
    second.connected().await;
    assert!(clock.now() - before >= 24 * MS);
}

#[tokio::test(start_paused = true)]
async fn no_interval_is_no_pacing() {
    let (pacer, clock) = pacer(Duration::ZERO);
    let before = clock.now();
    senders(&pacer, 10, 100).join_all().await;
    assert_eq!(clock.now(), before);
}

#[test]
fn the_slack_is_a_tenth_and_a_millisecond_at_most() {
    assert_eq!([slack(500_000), slack(5 * MS), slack(25 * MS), slack(0)], [50_000, 500_000, MS, 0]);
}
