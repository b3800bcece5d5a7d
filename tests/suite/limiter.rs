//! Real servers that limit, nginx and HAProxy, between the program and the practice portal.

use std::fmt;
use std::fs;
use std::net::TcpListener;
use std::process::Command;

use tempfile::TempDir;

use crate::world::World;

/// A server of a test's own, gone when the test is. Its log is the judge of what it let through.
pub struct Limiter {
    address: String,
    folder: TempDir,
}

/// One request as the server saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Milliseconds since 1970.
    pub began_ms: i64,
    pub ended_ms: i64,
    pub status: u16,
    pub is_refused: bool,
    /// As sent, without the key.
    pub query: String,
}

/// Pages as a real source takes its time over them.
pub const PAGES: &str = "rows = 20\nlatency_ms = { median = 110, p95 = 160 }";

/// A world whose program asks its portal through a limiter, and nothing else limits it.
pub fn behind(preset: &str) -> (World, Limiter) {
    let world = World::playing(PAGES)
        .set("providers.data_go_kr.documented_rps", "none")
        .without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__RPS")
        .without_variable("GAPLESS__PROVIDERS__DATA_GO_KR__CONCURRENCY");
    let limiter = Limiter::before(&world.portal().base_url(), preset);
    let base_url = limiter.base_url();
    (world.set("providers.data_go_kr.base_url", &base_url), limiter)
}

impl Limiter {
    /// Starts a preset of `scripts/limiters.sh` before what answers at a URL.
    pub fn before(url: &str, preset: &str) -> Self {
        let upstream = url.strip_prefix("http://").unwrap();
        let folder = TempDir::new().unwrap();
        // Between looking for a port that is free and taking it, another may take it.
        let mut said = String::new();
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/limiters.sh"));
            command.args(["serve", preset]).arg(folder.path()).arg(std::process::id().to_string());
            let output = command.args([&address.port().to_string(), upstream]).output().unwrap();
            if output.status.success() {
                return Self { address: address.to_string(), folder };
            }
            said = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        panic!("{preset} does not start: {said}");
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it saw, in order of arrival.
    pub fn seen(&self) -> Vec<Seen> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        let mut seen: Vec<Seen> = log.lines().map(Seen::of).collect();
        seen.sort_by_key(|seen| seen.began_ms);
        seen
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        // A child of nobody, by the number that it wrote down itself.
        let Ok(pid) = fs::read_to_string(self.folder.path().join("pid")) else { return };
        Command::new("kill").arg(pid.trim()).status().ok();
    }
}

impl Seen {
    fn of(line: &str) -> Self {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("a line of six words: {line}"));
        let (which, at, took) = (word(), word(), word());
        let (at, took): (i64, i64) = (at.parse().unwrap(), took.parse().unwrap());
        let began_ms = if which == "ended" { at - took } else { at };
        let (status, verdict) = (word().parse().unwrap(), word());
        let query = word().trim_start_matches('?');
        let query = query.split('&').filter(|pair| !pair.to_ascii_lowercase().starts_with("servicekey=")).collect::<Vec<_>>();
        Self { began_ms, ended_ms: began_ms + took, status, is_refused: verdict == "refused", query: query.join("&") }
    }
}

/// How many were refused, with the first of them.
#[derive(Debug, PartialEq)]
pub struct Refused {
    pub count: usize,
    first: Option<Seen>,
}

pub fn refused(seen: &[Seen]) -> Refused {
    let refused = || seen.iter().filter(|seen| seen.is_refused);
    Refused { count: refused().count(), first: refused().next().cloned() }
}

/// The most requests that were with the server at once. One that ended in the millisecond another began was not.
pub fn most_in_flight(seen: &[Seen]) -> usize {
    let beside = |one: &Seen| seen.iter().filter(|other| other.began_ms <= one.began_ms && one.began_ms < other.ended_ms).count();
    seen.iter().map(beside).max().unwrap_or(0)
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.first {
            Some(first) => write!(f, "{} refused, the first: {first:?}", self.count),
            None => write!(f, "none refused"),
        }
    }
}
