//! What a store does on a machine that is full, locked, poor or read only. Each test runs itself again in a child whose
//! machine is made so.

#![cfg(unix)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;

use super::NetworkFiles::{Allowed, Refused};
use super::*;
use crate::model::job::RunId;
use crate::model::verdict::Verdict;
use crate::store::OpenMode::{Create, OpenExisting, ReadOnly};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::error::{DatabaseFailure, StoreErrorKind};
use crate::store::stories::world::{World, apartments_page, end};

const FOLDER: &str = "GAPLESS_TEST_DEFENCE_FOLDER";
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// In the child, the folder it is to work in. In the parent `None`, after the child, started by a script as `"$0" "$@"`,
/// has passed; a machine that can not run the script leaves the test out, except in CI.
#[expect(clippy::print_stderr, reason = "a test that is left out is named")]
fn in_child(test: &str, script: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return Some(folder.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str, name: &str| {
        let exe = std::env::current_exe().unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(exe).args(["--exact", name, "--nocapture"]).env(FOLDER, folder.path());
        command.output().unwrap()
    };
    let is_possible = run(&script.replace(r#"exec "$0" "$@""#, "exec true"), test).status.success();
    if !is_possible {
        assert!(std::env::var_os("CI").is_none(), "{test} can not run here: `{script}` fails");
        eprintln!("{test} is left out: `{script}` fails here");
        return None;
    }
    let output = run(script, &format!("store::sqlite::defence_tests::{test}"));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "{told}");
    None
}

/// A file system of two megabytes, gone with the child.
const SMALL_DISK: &str =
    r#"exec unshare -m sh -c 'mount -t tmpfs -o size=2m none "$GAPLESS_TEST_DEFENCE_FOLDER" && exec "$0" "$@"' "$0" "$@""#;
const FEW_FILES: &str = r#"ulimit -n 24 && exec "$0" "$@""#;
const ON_NFS: &str = r#"exec unshare -m sh -c 'f=$(mktemp) && echo "22 1 254:1 / / rw shared:1 - nfs4 nas:/vol rw" > $f && mount --bind $f /proc/$$/mountinfo && rm -f $f && exec "$0" "$@"' "$0" "$@""#;

/// The store at `path`.
async fn opened(path: &Path, mode: OpenMode, network: NetworkFiles) -> Result<Store, StoreError> {
    Ok(Store { engine: Engine::Sqlite(SqliteStore::open(path, mode, network).await?) })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn tmp_in(folder: &Path) -> tempfile::TempDir {
    tempfile::Builder::new().tempdir_in(folder).unwrap()
}

#[test]
fn a_full_disk_stops_the_run_and_costs_nothing_that_was_stored() {
    let Some(folder) = in_child("a_full_disk_stops_the_run_and_costs_nothing_that_was_stored", SMALL_DISK) else { return };
    runtime().block_on(async {
        let ballast = folder.join("ballast");
        fs::write(&ballast, vec![1; 600_000]).unwrap();
        let mut world = World::on_sqlite_in(tmp_in(&folder)).await;
        world.collected("11110,2024-01", &["good"], Verdict::Complete).await;
        let job = world.start("11680,2024-01").await;
        let long = "x".repeat(10_000);
        let page = apartments_page(&[long.as_str(); 10]);
        let mut pages = 0;
        let error = loop {
            match world.try_page(&job, 1, pages + 1, &page).await {
                Ok(()) => pages += 1,
                Err(error) => break error,
            }
            assert!(pages < 30, "the disk is small");
        };
        assert!(matches!(error, StoreError::Database { failure: DatabaseFailure::DiskFull, .. }), "{error:?}");
        assert_eq!(error.kind(), StoreErrorKind::LocalResource);
        assert!(error.hint().unwrap().contains("free some space"));
        assert!(pages > 0);

        let error = world.store.backup(&world.beside("copy.db")).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Database { place, failure: DatabaseFailure::DiskFull, .. }
            if *place == StorePlace::File(world.beside("copy.db.new"))),
            "{error:?}"
        );
        assert!(!world.beside("copy.db.new").exists());

        world.assert_select("select apt from apt_trade", &["good"]).await;
        assert_eq!(world.store.audit().await.unwrap(), []);
        fs::remove_file(&ballast).unwrap();
        world.try_page(&job, 1, pages + 1, &page).await.unwrap();
        let received = u64::from(pages + 1) * 10;
        let now = world.now();
        world.store.end_job(end(&job, Verdict::Complete, received, now)).await.unwrap();
        world.assert_select("select count(*) from apt_trade where region = '11680'", &[&received.to_string()]).await;
        world.store.check().await.unwrap();
    });
}

#[test]
fn a_store_that_can_not_be_written_is_refused_before_any_call() {
    let Some(folder) = in_child("a_store_that_can_not_be_written_is_refused_before_any_call", SMALL_DISK) else { return };
    runtime().block_on(async {
        let path = folder.join("gapless.db");
        SqliteStore::open(&path, Create, Refused).await.unwrap().close().await;
        let before = fs::read(&path).unwrap();
        let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&folder).status().unwrap();
        assert!(remount.success());
        for mode in [OpenExisting, Create] {
            let error = SqliteStore::open(&path, mode, Refused).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::LocalResource, "{error:?}");
            assert!(error.hint().is_some());
        }
        let error = SqliteStore::open(&folder.join("new.db"), Create, Refused).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::LocalResource, "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1 + usize::from(folder.join("gapless.db.lock").exists()));
    });
}

#[test]
fn without_descriptors_a_store_fails_as_such_and_goes_on_when_there_are_some() {
    let name = "without_descriptors_a_store_fails_as_such_and_goes_on_when_there_are_some";
    let Some(folder) = in_child(name, FEW_FILES) else { return };
    runtime().block_on(async {
        let path = folder.join("gapless.db");
        SqliteStore::open(&path, Create, Allowed).await.unwrap().close().await;
        let mut taken = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            taken.push(file);
        }
        let is_poverty = |error: StoreError| assert_eq!(error.kind(), StoreErrorKind::LocalResource, "{error:?}");
        is_poverty(SqliteStore::open(&path, OpenExisting, Allowed).await.unwrap_err());
        // Enough for the writer, too few for a reader.
        taken.truncate(taken.len() - 4);
        let store = opened(&path, OpenExisting, Allowed).await.unwrap();
        while let Ok(file) = File::open("/dev/null") {
            taken.push(file);
        }
        is_poverty(store.api_states().await.unwrap_err());
        drop(taken);
        assert_eq!(store.api_states().await.unwrap(), []);
        let lock = store.try_lock("a test").unwrap();
        store.begin_run(&lock, "collect", "0.1.0", NOW).await.unwrap();
    });
}

#[test]
fn a_store_on_a_network_file_system_is_refused_unless_it_is_allowed() {
    let Some(folder) = in_child("a_store_on_a_network_file_system_is_refused_unless_it_is_allowed", ON_NFS) else { return };
    runtime().block_on(async {
        let path = folder.join("gapless.db");
        let refused = async |mode| {
            let error = SqliteStore::open(&path, mode, Refused).await.unwrap_err();
            assert!(matches!(&error, StoreError::OnNetwork { kind, .. } if kind == "nfs4"), "{error:?}");
            assert_eq!(error.kind(), StoreErrorKind::NeedsDecision);
        };
        refused(Create).await;
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        SqliteStore::open(&path, Create, Allowed).await.unwrap().close().await;
        refused(OpenExisting).await;
        refused(ReadOnly).await;
    });
}

#[tokio::test]
async fn after_a_run_that_was_killed_the_store_is_checked_before_the_next() {
    let begun_on_damage = async |last_run: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gapless.db");
        let store = opened(&path, Create, Refused).await.unwrap();
        let lock = store.try_lock("a test").unwrap();
        store.begin_run(&lock, &"long".repeat(30_000), "0.1.0", NOW).await.unwrap();
        drop(lock);
        store.close().await;
        rusqlite::Connection::open(&path).unwrap().execute_batch(last_run).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        // More than a page, so that the head of one is among it: what a page holds is not what this check reads.
        let end = bytes.len() - 32_768;
        bytes[end..].fill(0x5a);
        fs::write(&path, bytes).unwrap();
        let store = opened(&path, OpenExisting, Refused).await.unwrap();
        let lock = store.try_lock("a test").unwrap();
        store.begin_run(&lock, "collect", "0.1.0", NOW).await.map_err(|error| error.kind())
    };
    assert_eq!(begun_on_damage("update run set ended_at = started_at, exit_code = 0").await, Ok(RunId(2)));
    assert_eq!(begun_on_damage("update run set version = '0.1.1'").await, Err(StoreErrorKind::Damaged));
}
