//! Where both are measured: a server of pages, a folder, and the settings of gapless.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::measure::{self, Usage};
use super::{Format, Outcome};

/// Pages of a partition in the bench of speed.
pub const PAGES: usize = 3;
/// Districts of Seoul: each month of the bench has one partition for each.
const REGIONS: [&str; 25] = [
    "11110", "11140", "11170", "11200", "11215", "11230", "11260", "11290", "11305", "11320", "11350", "11380", "11410", "11440",
    "11470", "11500", "11530", "11545", "11560", "11590", "11620", "11650", "11680", "11710", "11740",
];
/// Not a secret: the server takes any.
const KEY: &str = "practice+key/for=the=bench==";

/// The shipped definition, whose answers are XML.
const XML_DATASET: &str = include_str!("../../config/datasets/apt_trade.toml");

/// One page of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// From 1.
    pub number: usize,
}

pub struct Ground {
    server: Child,
    base_url: String,
    folder: TempDir,
}

impl Ground {
    /// Starts a server whose partitions have `rows` rows.
    pub fn new(rows: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let mut server = Command::new(std::env::current_exe()?)
            .args(["serve", &rows.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("it is piped")).read_line(&mut line)?;
        let base_url = line.trim().to_owned();
        let definitions = folder.path().join("gapless.d/datasets");
        fs::create_dir_all(&definitions)?;
        fs::write(definitions.join("apt_trade_json.toml"), json_dataset())?;
        fs::write(folder.path().join("gapless.toml"), format!("[providers.data_go_kr]\nbase_url = \"{base_url}\"\n"))?;
        Ok(Self { server, base_url, folder })
    }

    pub fn floor(&self, format: Format, partitions: usize) -> Outcome<Usage> {
        let file = self.fresh("floor.db")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["floor", format.as_str(), &self.base_url, &partitions.to_string()]).arg(file);
        measure::run(&command)
    }

    pub fn collect(&self, format: Format, partitions: usize, rps: &str) -> Outcome<Usage> {
        let file = self.fresh("gapless.db")?;
        let dataset = match format {
            Format::Json => "apt_trade_json",
            Format::Xml => "apt_trade",
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_gapless"));
        // Settings of whoever runs the bench are none of it, and gapless refuses names it does not know.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GAPLESS_")) {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path()).env("GAPLESS_KEY_DATA_GO_KR", KEY);
        command.args(["collect", dataset, "--concurrency", "4", "--rps", rps, "--store"]);
        command.arg(format!("sqlite://{}", file.display()));
        for (region, month) in partitions_of(partitions) {
            command.args(["--partition", &format!("{region},{}-{}", &month[..4], &month[4..])]);
        }
        measure::run(&command)
    }

    fn fresh(&self, name: &str) -> Outcome<PathBuf> {
        for file in fs::read_dir(self.folder.path())? {
            let file = file?.path();
            if file.file_name().is_some_and(|found| found.to_string_lossy().starts_with(name)) {
                fs::remove_file(file)?;
            }
        }
        Ok(self.folder.path().join(name))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // It serves until its input ends.
        drop(self.server.stdin.take());
        self.server.wait().ok();
    }
}

/// Region and month (`200601`) of the first `count` partitions.
pub fn partitions_of(count: usize) -> impl Iterator<Item = (&'static str, String)> {
    (0..count).map(|partition| {
        let month = partition / REGIONS.len();
        (REGIONS[partition % REGIONS.len()], format!("{}{:02}", 2006 + month / 12, month % 12 + 1))
    })
}

/// The same dataset, asked for as JSON.
fn json_dataset() -> String {
    let asks = "{ name = \"DEAL_YMD\", value = \"{month:compact}\" },";
    XML_DATASET
        .replace("id = \"apt_trade\"", "id = \"apt_trade_json\"")
        .replace(asks, &format!("{asks}\n  {{ name = \"_type\", value = \"json\" }},"))
}
