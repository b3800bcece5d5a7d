//! The README's commands are run, and print what it says they print.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use gapless::sandbox::{Portal, Scenario};

/// A command of the README and the lines it shows below it.
struct Example {
    command: String,
    shown: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn blocks(language: &str) -> Vec<Vec<String>> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut blocks = Vec::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{language}") {
            blocks.push(lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect());
        }
    }
    assert!(!blocks.is_empty(), "the README has blocks of {language}");
    blocks
}

fn examples(block: &[String]) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block {
        match line.strip_prefix("$ ") {
            Some(command) => examples.push(Example { command: command.to_owned(), shown: Vec::new() }),
            None => examples.last_mut().expect("a block begins with a command").shown.push(line.clone()),
        }
    }
    examples
}

/// Numbers differ from run to run, and with them the widths of columns; words do not.
fn without_numbers(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        let is_of_number = c.is_ascii_digit() || (shape.ends_with('#') && matches!(c, '.' | ',' | ':' | '-' | 'T' | 'Z'));
        match c {
            _ if is_of_number && shape.ends_with('#') => {}
            _ if is_of_number => shape.push('#'),
            ' ' if shape.ends_with(' ') => {}
            c => shape.push(c),
        }
    }
    // What bound a run depends on how busy the machine is.
    match shape.find("bound by ") {
        Some(at) => shape[..at + "bound by ".len()].to_owned(),
        None => shape,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_shows_what_its_commands_print() {
    let scenario = fs::read_to_string(root().join("fixtures/readme.toml")).unwrap();
    let portal = Portal::start(Scenario::from_toml(&scenario).unwrap(), (Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    for block in blocks("console") {
        let folder = tempfile::tempdir().unwrap();
        for Example { command, shown } in examples(&block) {
            let mut words = command.split(' ');
            assert_eq!(words.next(), Some("gapless"), "{command}");
            let output = Command::new(env!("CARGO_BIN_EXE_gapless"))
                .args(words)
                .current_dir(folder.path())
                .env_clear()
                .env("GAPLESS_KEY_DATA_GO_KR", "pasted+from/the=portal=here=")
                .env("GAPLESS__PROVIDERS__DATA_GO_KR__BASE_URL", portal.base_url())
                .env("GAPLESS__RETRY__DELAY", "50ms")
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed: Vec<String> = printed.lines().map(without_numbers).collect();
            let shown: Vec<String> = shown.iter().map(|line| without_numbers(line)).collect();
            assert_eq!(printed, shown, "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn the_dataset_of_the_readme_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let datasets = folder.path().join("datasets");
    fs::create_dir(&datasets).unwrap();
    let file = datasets.join("apt_trade.toml");
    fs::write(&file, blocks("toml")[0].join("\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_gapless")).args(["datasets", "check"]).arg(&file).env_clear().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_readme_is_short_enough_to_be_read() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 200);
}

#[test]
fn the_makefile_has_the_commands_of_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    for target in ["demo", "build"] {
        assert!(readme.contains(&format!("make {target}")) && makefile.contains(&format!("\n{target}:")), "{target}");
    }
    assert!(ci.contains("make test") && makefile.contains("\ntest:"));
}
