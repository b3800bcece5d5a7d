//! How exactly the pacer keeps a rate, beside `governor` without bursts: 64 tasks that each send again and again.
//!
//! Prints requests a second against the cap, the most in any one second, and the smallest gap.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gapless::caller::{Clock, Pacer};
use governor::{Quota, RateLimiter};

const TASKS: usize = 64;
const EACH: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    println!("{:<10} {:>8} {:>10} {:>8} {:>10} {:>12}", "", "cap /s", "sent /s", "of cap", "worst 1 s", "min gap ms");
    for rps in [40_u32, 200, 2_000] {
        let interval = Duration::from_secs(1) / rps;
        let pacer = Arc::new(Pacer::new(interval, Clock::precise()));
        let sends = measure(move || {
            let pacer = Arc::clone(&pacer);
            async move {
                pacer.turn().await;
            }
        });
        print("gapless", rps, sends.await);
        let quota = Quota::with_period(interval).expect("not zero").allow_burst(NonZeroU32::MIN);
        let limiter = Arc::new(RateLimiter::direct(quota));
        let sends = measure(move || {
            let limiter = Arc::clone(&limiter);
            async move { limiter.until_ready().await }
        });
        print("governor", rps, sends.await);
    }
}

/// When each of the requests left, in order.
async fn measure<F: Future<Output = ()> + Send>(turn: impl Fn() -> F + Clone + Send + 'static) -> Vec<Instant> {
    let end = Instant::now() + EACH;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        let turn = turn.clone();
        tasks.spawn(async move {
            let mut sends = Vec::new();
            while Instant::now() < end {
                turn().await;
                sends.push(Instant::now());
            }
            sends
        });
    }
    let mut sends = tasks.join_all().await.concat();
    sends.sort_unstable();
    sends.retain(|send| *send < end);
    sends
}

fn print(name: &str, rps: u32, sends: Vec<Instant>) {
    let took = (sends[sends.len() - 1] - sends[0]).as_secs_f64();
    let sent = (sends.len() - 1) as f64 / took;
    let second = Duration::from_secs(1);
    let in_second = |from: usize| sends[from..].partition_point(|send| *send - sends[from] < second);
    let worst = (0..sends.len()).map(in_second).max().unwrap_or(0);
    let gap = sends.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or_default().as_secs_f64() * 1e3;
    println!("{name:<10} {rps:>8} {sent:>10.2} {:>7.2}% {worst:>10} {gap:>12.3}", 100.0 * sent / f64::from(rps));
}
