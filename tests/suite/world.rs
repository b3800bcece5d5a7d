//! A practice portal, a folder with a store and definitions, and the real program between them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gapless::model::month::Month;
use gapless::sandbox::{Portal, RequestLine, Scenario};
use gapless::store::cell::Cell;
use gapless::store::url::StoreUrl;
use gapless::store::{OpenMode, Store};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The key of every world. No other text of program or portal holds its letters, so that a leak shows in any encoding.
pub const CANARY: &str = "cAnArY+key/with=all==signs0123";

/// One portal, one folder and one environment; each [`World::run`] is a process of its own.
pub struct World {
    portal: Portal,
    answers: Arc<Bell>,
    folder: TempDir,
    /// What its processes leave for others of the machine, such as the locks of keys.
    temporary: TempDir,
    environment: BTreeMap<String, String>,
    /// Where its store is.
    store: StoreUrl,
    /// Last, so that the portal's tasks are still alive when it is dropped.
    runtime: Runtime,
}

/// How the dataset `apt_trade` of a world is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Xml,
    Json,
}

/// A process that has ended.
pub struct Ended {
    /// What a shell shows: the exit code, or 128 and the signal.
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A process at work.
pub struct Running(Child);

/// Rings with each answer of a portal.
#[derive(Default)]
struct Bell {
    rung: Mutex<usize>,
    changed: Condvar,
}

/// Longer than any event of the suite takes; a wait that reaches it has failed.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl World {
    /// A portal that plays a scenario, written as TOML, and a program that asks it 100 rows at a time, in XML.
    ///
    /// Waits are short and nothing limits the rate, unless a test says otherwise.
    pub fn playing(scenario: &str) -> Self {
        Self::speaking(Wire::Xml, scenario)
    }

    pub fn speaking(wire: Wire, scenario: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (portal, answers) = open_portal(&runtime, scenario);
        let [folder, temporary] = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = StoreUrl::of_file(folder.path().join("gapless.db"));
        let world = Self { portal, answers, folder, temporary, environment: BTreeMap::new(), store, runtime };
        world.define_pages_of_100_rows(wire);
        let temporary_path = world.temporary.path().display().to_string();
        world
            .variable("TMPDIR", &temporary_path)
            .variable("GAPLESS_KEY_DATA_GO_KR", CANARY)
            // One page after the other, so that a fault has the same calls in every run.
            .set("collect.pages_ahead", "0")
            .set("providers.data_go_kr.rps", "none")
            .set("providers.data_go_kr.concurrency", "4")
            .set("retry.delay", "1ms")
            .set("retry.error_pause", "0s")
            // Many tests play nothing but failures.
            .set("breaker.counts", "none")
            .at_its_portal()
    }

    /// A setting of the program, by its path.
    pub fn set(self, path: &str, value: &str) -> Self {
        self.variable(&format!("GAPLESS__{}", path.replace('.', "__").to_ascii_uppercase()), value)
    }

    /// Its store is at a URL, whose password stands in the environment.
    pub fn storing_at(mut self, url: &str) -> Self {
        self.store = url.parse().unwrap();
        self.set("store.url", url)
    }

    /// A variable of the program's environment, which holds nothing else.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn without_variable(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    /// Another portal takes the place of the first; the store stays.
    pub fn now_playing(mut self, scenario: &str) -> Self {
        (self.portal, self.answers) = open_portal(&self.runtime, scenario);
        self.at_its_portal()
    }

    /// Runs the program with the words of a line and waits for its end.
    pub fn run(&self, line: &str) -> Ended {
        self.start(line).ended()
    }

    pub fn start(&self, line: &str) -> Running {
        self.start_writing_to(line, Stdio::piped())
    }

    /// Starts the program as on a machine of its own, which shares nothing with others but the store and the portal.
    pub fn start_on_host(&self, host: &str, line: &str) -> Running {
        let temporary = self.temporary.path().join(host);
        fs::create_dir_all(&temporary).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gapless"));
        command.args(line.split_whitespace()).env_clear().envs(&self.environment).env("TMPDIR", temporary);
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    pub fn start_writing_to(&self, line: &str, stdout: impl Into<Stdio>) -> Running {
        self.start_as(Command::new(env!("CARGO_BIN_EXE_gapless")), line, stdout)
    }

    /// Runs the program under another, which begins with the words of `tracer`, and waits for its end.
    pub fn run_under(&self, tracer: &[&str], line: &str) -> Ended {
        let mut command = Command::new(tracer[0]);
        command.args(&tracer[1..]).arg(env!("CARGO_BIN_EXE_gapless"));
        self.start_as(command, line, Stdio::piped()).ended()
    }

    fn start_as(&self, mut command: Command, line: &str, stdout: impl Into<Stdio>) -> Running {
        command.args(line.split_whitespace()).env_clear().envs(&self.environment).current_dir(&self.folder);
        Running(command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in the folder the program runs in.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn is_on_a_server(&self) -> bool {
        self.store.server().is_some()
    }

    pub fn has_store(&self) -> bool {
        self.runtime.block_on(Store::exists(&self.store)).unwrap()
    }

    /// What the portal of now saw, in order of arrival.
    pub fn requests(&self) -> Vec<RequestLine> {
        self.portal.requests()
    }

    /// Waits until the portal is done with so many requests.
    pub fn wait_for_answers(&self, count: usize) {
        let rung = self.answers.rung.lock().unwrap();
        let (_rung, waited) = self.answers.changed.wait_timeout_while(rung, LONGEST_WAIT, |rung| *rung < count).unwrap();
        assert!(!waited.timed_out(), "{count} answers are waited for in vain");
    }

    /// Waits until so many requests have reached the portal, answered or not.
    pub fn wait_for_requests(&self, count: usize) {
        let began = Instant::now();
        while self.requests().len() < count {
            assert!(began.elapsed() < LONGEST_WAIT, "{count} requests are waited for in vain");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn portal(&self) -> &Portal {
        &self.portal
    }

    /// Cells of a query as texts, NULL as `-`.
    pub fn query(&self, sql: &str) -> Vec<Vec<String>> {
        self.with_store(async |store| lines(store, sql).await)
    }

    /// The one number a query answers with.
    pub fn count(&self, sql: &str) -> u64 {
        self.query(sql)[0][0].parse().unwrap()
    }

    /// A store in which nothing was ever asked for.
    pub fn create_store(&self) {
        self.runtime.block_on(async { Store::open(&self.store, OpenMode::Create).await.unwrap().close().await });
    }

    pub fn with_store<T>(&self, work: impl AsyncFnOnce(&Store) -> T) -> T {
        self.runtime.block_on(async {
            let store = Store::open(&self.store, OpenMode::ReadOnly).await.unwrap();
            let result = work(&store).await;
            store.close().await;
            result
        })
    }

    /// Each request the portal saw stands in the ledger of the run, and nothing else does.
    pub fn assert_ledger_tells_every_request(&self, run: &Ended) {
        let run = run.json()["run"].as_i64().expect("a run has a number");
        let told = self.count(&format!(
            "select count(*) from attempt join run on run.id = {run} where attempt.sent and attempt.sent_at >= run.started_at"
        ));
        assert_eq!(told, self.requests().len() as u64, "attempts in the ledger, requests at the portal");
    }

    fn at_its_portal(self) -> Self {
        let base_url = self.portal.base_url();
        self.set("providers.data_go_kr.base_url", &base_url)
    }

    /// So that 250 rows are three pages.
    fn define_pages_of_100_rows(&self, wire: Wire) {
        let month = r#"{ name = "DEAL_YMD", value = "{month:compact}" },"#;
        let shipped = include_str!("../../config/datasets/apt_trade.toml");
        assert!(shipped.contains("page_size = 1000\n") && shipped.contains(month), "the definition is as expected");
        let mut definition = shipped.replace("page_size = 1000\n", "page_size = 100\n");
        if wire == Wire::Json {
            definition = definition.replace(month, &format!("{month}\n  {{ name = \"_type\", value = \"json\" }},"));
        }
        self.file("gapless.d/datasets/apt_trade.toml", &definition);
    }
}

impl Running {
    pub fn ended(self) -> Ended {
        Ended::of(self.0.wait_with_output().unwrap())
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.0.id())]).status().unwrap();
        assert!(sent.success(), "the process is there to be sent a {name}");
    }

    /// Waits until the process says so on stderr; what it said until then is gone.
    pub fn wait_to_say(&mut self, text: &str) {
        let stderr = BufReader::new(self.0.stderr.as_mut().unwrap());
        assert!(stderr.lines().any(|line| line.unwrap().contains(text)), "`{text}` is waited for in vain");
    }

    /// What the process writes to stdout, to be closed or read by the test.
    pub fn take_stdout(&mut self) -> std::process::ChildStdout {
        self.0.stdout.take().unwrap()
    }
}

impl Ended {
    fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let exit = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
        Self {
            exit: exit.unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit code; shows everything where it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, code, "exit code of\n{}\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// The object on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

/// A month by its text.
pub fn month(text: &str) -> Month {
    text.parse().unwrap()
}

fn open_portal(runtime: &Runtime, scenario: &str) -> (Portal, Arc<Bell>) {
    let scenario = Scenario::from_toml(scenario).unwrap_or_else(|error| panic!("{error:?}\n{scenario}"));
    let answers = Arc::new(Bell::default());
    let bell = Arc::clone(&answers);
    let portal = Portal::start_telling(scenario, "127.0.0.1:0".parse().unwrap(), move |_| bell.ring());
    (runtime.block_on(portal).unwrap(), answers)
}

/// [`World::query`] of a store that is open.
pub async fn lines(store: &Store, sql: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    store.select(sql, |cells| lines.push(cells.iter().map(shown).collect())).await.unwrap();
    lines
}

fn shown(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "-".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => (*text).to_owned(),
        Cell::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
