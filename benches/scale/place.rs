//! A folder with settings and definitions, for the program to run in.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use gapless::definition::dataset::Dataset;
use gapless::store::url::StoreUrl;
use tempfile::TempDir;

use super::Outcome;

/// Not a secret: the portal takes any.
const KEY: &str = "practice+key/for=the=bench==";

/// Wants every district in a span of months that is long past.
pub struct Place {
    folder: TempDir,
    /// A SPAN.
    pub months: String,
}

impl Place {
    pub fn new(months: usize, base_url: &str) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let first = 12 * 2025 - months;
        let months = format!("{:04}-{:02}..2024-12", first / 12, first % 12 + 1);
        let definitions = folder.path().join("gapless.d/datasets");
        fs::create_dir_all(&definitions)?;
        fs::write(definitions.join("apt_trade.toml"), definition())?;
        let settings = format!(
            "[providers.data_go_kr]\nbase_url = \"{base_url}\"\ndaily_calls = 1000000\nconcurrency = 4\nrps = \"none\"\n\
             [collect.apt_trade]\nregions = \"all\"\nmonths = \"{months}\"\n"
        );
        fs::write(folder.path().join("gapless.toml"), settings)?;
        Ok(Self { folder, months })
    }

    pub fn dataset(&self) -> Outcome<Dataset> {
        Ok(toml::from_str(&definition())?)
    }

    pub fn program(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gapless"));
        command.current_dir(self.folder.path()).env("GAPLESS_KEY_DATA_GO_KR", KEY).args(words);
        command
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("gapless.db")
    }

    pub fn url(&self) -> StoreUrl {
        StoreUrl::of_file(self.file())
    }
}

/// The shipped one begins in 2006, which is too late for so many months.
fn definition() -> String {
    include_str!("../../config/datasets/apt_trade.toml").replace("first = \"2006-01\"", "first = \"1950-01\"")
}
