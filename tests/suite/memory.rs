//! What a run holds in memory: what is in flight, never what there is to collect.

use std::fs;
use std::net::Ipv4Addr;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gapless::sandbox::{Portal, Scenario, Spread};

/// The most a run of pages of 1,000 rows may hold, whatever their number.
const LIMIT_MB: u64 = 64;
/// Together their pages are far above the limit, so that a run which kept them would show.
const PARTITIONS: u32 = 24;
const ROWS: u64 = 2_500;

/// Watches the largest resident set of a process, each time the portal has answered it.
#[derive(Default)]
struct Watch {
    process: AtomicU32,
    peak_kb: AtomicU64,
}

impl Watch {
    /// The kernel keeps the largest value itself, so it does not matter when it is read, as long as it is read late.
    fn look(&self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.load(Ordering::SeqCst))).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        self.peak_kb.fetch_max(kb.unwrap_or(0), Ordering::SeqCst);
    }

    fn peak_mb(&self) -> u64 {
        self.peak_kb.load(Ordering::SeqCst) / 1000
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_many_large_pages_stays_within_64_megabytes() {
    for rps in ["none", "100"] {
        let (watch, output) = collected(rps).await;
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        let rows = u64::from(PARTITIONS) * ROWS;
        assert!(told.contains(&format!("\"published\":{rows}")), "{told}");
        let peak = watch.peak_mb();
        assert!((5..LIMIT_MB).contains(&peak), "--rps {rps}: {peak} MB at most, the limit is {LIMIT_MB} MB");
    }
}

async fn collected(rps: &str) -> (Arc<Watch>, Output) {
    let watch = Arc::new(Watch::default());
    let watcher = Arc::clone(&watch);
    let scenario = Scenario { rows: Spread::Fixed(ROWS), ..Scenario::default() };
    let portal = Portal::start_telling(scenario, (Ipv4Addr::LOCALHOST, 0).into(), move |_| watcher.look()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gapless"));
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("GAPLESS_KEY_DATA_GO_KR", "practice+key/for=the=memory==");
    command.env("GAPLESS__PROVIDERS__DATA_GO_KR__BASE_URL", portal.base_url());
    command.args(["collect", "apt_trade", "--regions", "11110", "--format", "json", "--create", "--concurrency", "4"]);
    command.args(["--months", &format!("2020-01..{}-12", 2019 + PARTITIONS / 12), "--rps", rps]);
    let run = command.spawn().unwrap();
    watch.process.store(run.id(), Ordering::SeqCst);
    let output = tokio::task::spawn_blocking(move || run.wait_with_output()).await.unwrap().unwrap();
    (watch, output)
}
