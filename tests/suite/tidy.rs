//! The rules of the house that a reader of the sources can check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Layer of each folder of `src/`; a lower layer never imports a higher one.
const LAYERS: &[(&str, u8)] = &[
    ("model", 0),
    ("definition", 1),
    ("settings", 1),
    ("sandbox", 1),
    ("decode", 2),
    ("plan", 2),
    ("reconcile", 2),
    ("caller", 3),
    ("store", 3),
    ("collect", 4),
    ("probe", 4),
    ("export", 4),
    ("report", 5),
    ("cli", 6),
];

/// Lines of a source file, its tests included.
const LONGEST_FILE: usize = 330;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn sources() -> BTreeMap<String, String> {
    let root = root();
    let files = files_below(&root.join("src"), "rs");
    assert!(files.len() > 50, "the sources were found");
    files.into_iter().map(|path| (shown(&root, &path), fs::read_to_string(&path).unwrap())).collect()
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap().display().to_string()
}

fn layer_of(folder: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == folder).map(|(_, layer)| *layer)
}

/// The folders that a source file imports from, by `crate::NAME` anywhere in it.
fn imports(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| line.split("crate::").skip(1));
    names.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()).collect()
}

#[test]
fn a_lower_layer_never_imports_a_higher_one() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        let folder = path.split('/').nth(1).unwrap();
        if folder == "lib.rs" || folder == "bin" {
            continue;
        }
        let own = layer_of(folder).unwrap_or_else(|| panic!("{path} is in no layer"));
        for import in imports(&text) {
            if layer_of(import).is_some_and(|layer| layer > own) {
                violations.push(format!("{path} imports crate::{import}"));
            }
        }
    }
    assert_eq!(violations, Vec::<String>::new());
}

#[test]
fn only_the_http_file_of_the_caller_names_the_http_client() {
    let namers: Vec<String> = sources().into_iter().filter(|(_, text)| text.contains("reqwest")).map(|(path, _)| path).collect();
    assert_eq!(namers, ["src/caller/http.rs"]);
}

#[test]
fn no_file_is_longer_than_a_reader_likes() {
    let long = |(path, text): (String, String)| {
        let lines = text.lines().count();
        let is_test = path.contains("tests");
        (lines > LONGEST_FILE && !is_test).then(|| format!("{path}: {lines} lines"))
    };
    assert_eq!(sources().into_iter().filter_map(long).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn only_one_file_is_unsafe() {
    let unsafe_files: Vec<String> =
        sources().into_iter().filter(|(_, text)| text.contains("unsafe {")).map(|(path, _)| path).collect();
    assert_eq!(unsafe_files, ["src/store/sqlite/rows.rs"]);
}

#[test]
fn migrations_are_numbered_without_a_gap_and_all_compiled_in() {
    let root = root();
    let sources: String = sources().into_values().collect();
    let names = |engine: &str| -> Vec<String> {
        let files = files_below(&root.join("migrations").join(engine), "sql");
        files.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("sqlite"), names("postgres"), "both engines take the same steps");
    for engine in ["sqlite", "postgres"] {
        for (position, name) in names(engine).iter().enumerate() {
            assert_eq!(name[..4].parse::<usize>().ok(), Some(position + 1), "{name}");
            assert!(sources.contains(&format!("migrations/{engine}/{name}")), "{name} is not compiled in");
        }
    }
}

#[test]
fn every_definition_file_is_compiled_in() {
    let root = root();
    let builtin = fs::read_to_string(root.join("src/definition/builtin.rs")).unwrap();
    for folder in ["dialects", "providers", "datasets", "regions"] {
        let extension = if folder == "regions" { "csv" } else { "toml" };
        for path in files_below(&root.join("config").join(folder), extension) {
            let path = shown(&root, &path);
            assert!(builtin.contains(&path), "{path} is not compiled in");
        }
    }
}
