use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use crate::report::exit::Exit;
use crate::store::url::{StoreUrl, StoreUrlError};
use crate::store::{OpenMode, Store};

use super::args::InitArgs;
use super::error::CliError;
use super::setup::refuse_password;
use super::terminal::Terminal;

const FILE: &str = "gapless.toml";

const COMMENTED: &str = r#"# Settings of gapless. Everything not set here has the default that `gapless config show` prints; every setting is explained
# in the reference, `gapless config default`. A relative path is relative to this file.

[store]
url = "{url}"

[paths]
# Your own dialects/, providers/, datasets/ and regions/, in front of the shipped ones.
definitions = "gapless.d"

[providers.data_go_kr]
# A file with the key as the portal shows it, in either of its two forms; or the environment: GAPLESS_KEY_DATA_GO_KR.
# key_file = "data_go_kr.key"
# Calls in flight at once, calls a second, calls a day for each dataset. The portal documents 30 a second.
concurrency = 2
rps = 10
daily_calls = 10000

# What is meant to be there: `gapless collect` without flags collects this.
# [collect.apt_trade]
# months = "2024-01.."
# regions = "all"
"#;

/// Writes a commented settings file and makes the store.
pub async fn run(args: &InitArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let written = args.store.as_deref().unwrap_or("sqlite://gapless.db");
    let url: StoreUrl = written.parse().map_err(|error: StoreUrlError| CliError::usage(error.to_string()))?;
    refuse_password(&url)?;
    let mut file = match OpenOptions::new().write(true).create_new(true).open(FILE) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let what = format!("`{FILE}` is there already; nothing was changed");
            return Err(CliError::usage(what).with_hint("look at it with `gapless config show`, or run `gapless init` elsewhere"));
        }
        Err(error) => return Err(CliError::local(&format!("`{FILE}` cannot be written"), error)),
    };
    file.write_all(COMMENTED.replace("{url}", written).as_bytes())
        .map_err(|error| CliError::local(&format!("`{FILE}` cannot be written"), error))?;
    let made = match Store::exists(&url).await? {
        true => "uses the store that is there",
        false => {
            Store::open(&url, OpenMode::Create).await?.close().await;
            "made the store"
        }
    };
    terminal.print(&format!(
        "wrote {FILE}\n{made} {url}\nnext: put your key into a file and name it as `key_file`, then `gapless doctor apt_trade`\n"
    ))
}
