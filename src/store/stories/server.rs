//! The throw-away PostgreSQL server of the tests, of the library and of the suite alike.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The URL of a server, from the variable that the runner of the tests sets; else one is started for this process.
const SERVER: &str = "GAPLESS_TEST_POSTGRES";

/// The URL of a place for a store of its own on the throw-away server.
///
/// Without PostgreSQL on this machine the test is named as left out; in CI it fails.
#[expect(clippy::print_stderr, reason = "a test that is left out is named")]
pub fn place() -> Option<String> {
    static URL: OnceLock<Option<String>> = OnceLock::new();
    let Some(server) = URL.get_or_init(|| std::env::var(SERVER).ok().or_else(|| Server::start(None).map(|server| server.url)))
    else {
        assert!(std::env::var_os("CI").is_none(), "PostgreSQL can not be had here: `scripts/postgres.sh install` brings it");
        eprintln!("left out, for want of PostgreSQL: {}", std::thread::current().name().unwrap_or("a test"));
        return None;
    };
    static STORES: AtomicU32 = AtomicU32::new(0);
    let schema = format!("test_p{}_{}", std::process::id(), STORES.fetch_add(1, Ordering::Relaxed));
    let joint = if server.contains('?') { '&' } else { '?' };
    Some(format!("{server}{joint}schema={schema}"))
}

/// Runs statements on the throw-away server as its administrator.
pub fn administered(sql: &str) {
    let server = place().expect("there is one");
    let folder = server.split_once("host=").unwrap().1.split('&').next().unwrap().to_owned();
    let output = Command::new("psql")
        .args(["-X", "-v", "ON_ERROR_STOP=1", "-h", &folder, "-U", "gapless", "-d", "postgres", "-c", sql])
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server of a test's own, to be broken. It is gone, folder and all, when the process is.
pub struct Server {
    pub url: String,
    pub folder: PathBuf,
}

impl Server {
    /// On a socket in its folder, or on a port of loopback. `None` where PostgreSQL is not installed.
    pub fn start(port: Option<u16>) -> Option<Self> {
        Self::serve(script(), port)
    }

    /// One that has each commit on the disk before it answers.
    pub fn durable() -> Option<Self> {
        let mut script = script();
        script.env("GAPLESS_POSTGRES_FSYNC", "on");
        Self::serve(script, None)
    }

    fn serve(mut command: Command, port: Option<u16>) -> Option<Self> {
        static SERVERS: AtomicU32 = AtomicU32::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(format!("/tmp/gapless-postgres.p{}.{number}", std::process::id()));
        command.arg("serve").arg(&folder).arg(std::process::id().to_string()).args(port.map(|port| port.to_string()));
        let output = command.output().ok()?;
        let url = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(Self { url, folder })
    }

    /// Stops it and leaves it so.
    pub fn stop(&self) {
        self.ask(&["stop", "fast"]);
    }

    pub fn start_again(&self) {
        self.ask(&["start"]);
    }

    /// Stops it (`fast`, `immediate` or `kill`) and starts it again.
    pub fn restart(&self, mode: &str) {
        self.ask(&["restart", mode]);
    }

    /// Makes it take nothing on its port but TLS, with a certificate for `localhost` alone; returns the file of its CA.
    pub fn secure(&self) -> String {
        self.ask(&["secure"]).trim().to_owned()
    }

    /// The URL of a pgbouncer in transaction mode before it, with two connections behind it.
    pub fn pool(&self) -> String {
        self.ask(&["pool", &std::process::id().to_string()]).trim().to_owned()
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = script().arg(words[0]).arg(&self.folder).args(&words[1..]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn script() -> Command {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres.sh"))
}
