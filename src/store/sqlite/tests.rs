//! What only SQLite does: files, locks, versions.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::open::PAGE_BYTES;
use super::*;
use crate::store::OpenMode::{Create, OpenExisting, ReadOnly};
use crate::store::Store;
use crate::store::engine::Engine;
use crate::store::error::{DatabaseFailure, StoreErrorKind};
use crate::store::lock::LockError;

const SOON: Duration = Duration::from_millis(50);

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gapless.db");
    (folder, path)
}

async fn open(path: &Path, mode: OpenMode, busy_timeout: Duration) -> Result<Store, StoreError> {
    Ok(Store { engine: Engine::Sqlite(super::open::open(path, mode, busy_timeout).await?) })
}

async fn made() -> (TempDir, PathBuf) {
    let (folder, path) = place();
    open(&path, Create, SOON).await.unwrap().close().await;
    (folder, path)
}

async fn refused(path: &Path, mode: OpenMode) -> StoreError {
    open(path, mode, SOON).await.expect_err("the store is not to be opened")
}

fn execute(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn the_linked_engine_loses_no_committed_write() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[tokio::test]
async fn a_missing_store_is_made_only_when_that_is_asked_for() {
    let (folder, path) = place();
    for mode in [OpenExisting, ReadOnly] {
        let error = refused(&path, mode).await;
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        assert_eq!((error.kind(), fs::read_dir(folder.path()).unwrap().count()), (StoreErrorKind::NeedsDecision, 0));
    }
    open(&path, Create, SOON).await.unwrap().close().await;
    for mode in [Create, OpenExisting, ReadOnly] {
        open(&path, mode, SOON).await.unwrap().close().await;
    }
    let error = refused(&folder.path().join("no/such/folder.db"), Create).await;
    assert_eq!(error.kind(), StoreErrorKind::LocalResource, "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_and_left_as_it_is() {
    let (folder, path) = place();
    let foreign = folder.path().join("foreign.db");
    execute(&foreign, "create table t (a)");
    let foreign = fs::read(foreign).unwrap();
    let check = async |content: &[u8], kind: StoreErrorKind| {
        fs::write(&path, content).unwrap();
        for mode in [Create, OpenExisting, ReadOnly] {
            let error = refused(&path, mode).await;
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().is_some());
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    };
    check(b"", StoreErrorKind::Damaged).await;
    check(b"region,month\n11110,2024-01\n", StoreErrorKind::Damaged).await;
    check(&[b'x'; 4096], StoreErrorKind::Damaged).await;
    check(&foreign, StoreErrorKind::NeedsDecision).await;
}

#[tokio::test]
async fn a_store_cut_off_or_overwritten_is_damaged() {
    let (_folder, path) = made().await;
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - PAGE_BYTES as usize]).unwrap();
    let error = refused(&path, OpenExisting).await;
    assert!(matches!(error, StoreError::CutOff { .. }), "{error}");
    let mut overwritten = whole.clone();
    overwritten[100..].fill(0x5a);
    fs::write(&path, &overwritten).unwrap();
    assert_eq!(refused(&path, OpenExisting).await.kind(), StoreErrorKind::Damaged);
    // Damage away from what opening reads is found by the check.
    fs::write(&path, &whole).unwrap();
    execute(&path, "insert into run (command, started_at, version) values (hex(zeroblob(100000)), '', '')");
    let mut scratched = fs::read(&path).unwrap();
    assert!(scratched.len() > whole.len());
    let last = scratched.len() - PAGE_BYTES as usize;
    scratched[last..].fill(0x5a);
    fs::write(&path, &scratched).unwrap();
    let store = open(&path, ReadOnly, SOON).await.unwrap();
    assert_eq!(store.check().await.unwrap_err().kind(), StoreErrorKind::Damaged);
}

#[tokio::test]
async fn a_store_of_a_newer_or_half_migrated_schema_is_refused_before_any_write() {
    let check = async |sql: &str, expected: fn(&StoreError) -> bool| {
        let (_folder, path) = made().await;
        execute(&path, sql);
        let before = fs::read(&path).unwrap();
        for mode in [Create, OpenExisting, ReadOnly] {
            let error = refused(&path, mode).await;
            assert!(expected(&error), "{error}");
            assert_eq!(fs::read(&path).unwrap(), before);
        }
    };
    let newer =
        "insert into _sqlx_migrations select 99, description, installed_on, true, checksum, 0 from _sqlx_migrations limit 1";
    check(newer, |error| matches!(error, StoreError::Newer { found: 99, .. })).await;
    check("update _sqlx_migrations set success = false", |error| matches!(error, StoreError::StrangeSchema { step: 1, .. }))
        .await;
    check("drop table _sqlx_migrations", |error| matches!(error, StoreError::StrangeSchema { .. })).await;
}

#[tokio::test]
async fn a_schema_changed_by_hand_is_not_written_to() {
    let (_folder, path) = made().await;
    execute(&path, "update _sqlx_migrations set checksum = x'00'");
    let error = refused(&path, OpenExisting).await;
    assert!(matches!(error, StoreError::StrangeSchema { step: 1, .. }), "{error}");
}

#[tokio::test]
async fn an_older_schema_is_migrated_but_never_by_a_reader() {
    let (_folder, path) = made().await;
    execute(&path, "delete from _sqlx_migrations");
    let error = refused(&path, ReadOnly).await;
    assert!(matches!(error, StoreError::Older { found: 0, .. }), "{error}");
}

#[tokio::test]
async fn a_store_of_the_first_step_is_brought_up_to_date_with_all_it_holds() {
    let (_folder, path) = made().await;
    execute(&path, "drop table breaker_change; drop index job_held");
    for (table, column) in
        [("job", "ended_on"), ("job", "store_ms"), ("attempt", "retry_ms"), ("attempt", "permit_ms"), ("attempt", "slot_ms")]
    {
        execute(&path, &format!("alter table {table} drop column {column}"));
    }
    execute(&path, "delete from _sqlx_migrations where version > 1");
    execute(&path, "insert into run (command, started_at, version) values ('x', '2026-11-29T18:00:00.000Z', '0.1.0')");
    let error = refused(&path, ReadOnly).await;
    assert!(matches!(error, StoreError::Older { found: 1, .. }), "{error}");
    open(&path, OpenExisting, SOON).await.unwrap().close().await;
    open(&path, ReadOnly, SOON).await.unwrap().close().await;
    execute(
        &path,
        "insert into breaker_change (run, dataset, key_id, changed_at, state, openings, why)
        select id, 'a', 'k', started_at, 'closed', 0, 'x' from run",
    );
}

#[tokio::test]
async fn no_task_of_the_readers_outlasts_the_work() {
    let (_folder, path) = made().await;
    for mode in [OpenExisting, ReadOnly] {
        let store = super::open::open(&path, mode, SOON).await.unwrap();
        let options = store.readers.options();
        assert_eq!((options.get_idle_timeout(), options.get_max_lifetime()), (None, None));
    }
}

#[tokio::test]
async fn a_store_half_made_is_made_again() {
    let (folder, path) = place();
    fs::write(folder.path().join("gapless.db.new"), b"half").unwrap();
    open(&path, Create, SOON).await.unwrap().close().await;
    open(&path, OpenExisting, SOON).await.unwrap().close().await;
    assert!(!folder.path().join("gapless.db.new").exists());
}

#[tokio::test]
async fn a_store_locked_by_another_program_is_waited_for_and_then_given_up() {
    let (_folder, path) = made().await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let error = refused(&path, OpenExisting).await;
    assert!(matches!(error, StoreError::Database { failure: DatabaseFailure::Locked, .. }), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    other.execute_batch("rollback").unwrap();
    open(&path, OpenExisting, SOON).await.unwrap();
}

#[tokio::test]
async fn a_store_opened_to_be_read_is_not_written() {
    let (_folder, path) = made().await;
    let store = open(&path, ReadOnly, SOON).await.unwrap();
    let error = store.end_run(crate::model::job::RunId(1), 0, jiff::Timestamp::UNIX_EPOCH).await.unwrap_err();
    assert!(matches!(error, StoreError::OpenedReadOnly { .. }), "{error}");
    let error = store.select("create table t (a)", |_| ()).await.unwrap_err();
    assert!(matches!(error, StoreError::Database { failure: DatabaseFailure::NotAllowed, .. }), "{error}");
}

#[tokio::test]
async fn one_run_at_a_time_may_collect() {
    let (folder, path) = made().await;
    let store = open(&path, OpenExisting, SOON).await.unwrap();
    let lock = store.try_lock("gapless collect, process 4711").unwrap();
    // By whatever name it is opened.
    #[cfg(unix)]
    let other = {
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        open(&link, OpenExisting, SOON).await.unwrap()
    };
    match other.try_lock("another") {
        Err(LockError::Held { holder }) => assert_eq!(holder, "gapless collect, process 4711"),
        other => panic!("{other:?}"),
    }
    drop(lock);
    let _lock = other.try_lock("another").unwrap();
}

#[tokio::test]
async fn a_full_disk_leaves_the_store_as_it_was_and_able_to_go_on() {
    let (_folder, path) = made().await;
    let store = open(&path, OpenExisting, SOON).await.unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH;
    store.engine.write(|tx| tx.first("pragma max_page_count = 1", &[], |_| Ok(())).map(drop)).await.unwrap();
    let long = "x".repeat(1 << 20);
    let lock = store.try_lock("a test").unwrap();
    let error = store.begin_run(&lock, &long, "0.1.0", now).await.unwrap_err();
    assert!(matches!(error, StoreError::Database { failure: DatabaseFailure::DiskFull, .. }), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::LocalResource);
    store.engine.write(|tx| tx.first("pragma max_page_count = 1000000", &[], |_| Ok(())).map(drop)).await.unwrap();
    assert_eq!(store.begin_run(&lock, &long, "0.1.0", now).await.unwrap(), crate::model::job::RunId(1));
}

#[tokio::test]
async fn commits_reach_the_disk_and_foreign_keys_are_checked() {
    let (_folder, path) = made().await;
    let store = open(&path, OpenExisting, SOON).await.unwrap();
    let check = async |pragma: &'static str, expected: &str| {
        let spelled = |line: &crate::store::tx::Line<'_>| Ok(format!("{:?}", line.cell(0)?));
        let value = store.engine.write(|tx| tx.first(pragma, &[], spelled)).await.unwrap();
        assert_eq!(value.unwrap(), expected, "{pragma}");
    };
    check("pragma journal_mode", "Text(\"wal\")").await;
    check("pragma synchronous", "Integer(2)").await;
    check("pragma foreign_keys", "Integer(1)").await;
    assert_eq!(BUSY_TIMEOUT, Duration::from_secs(10));
}

#[tokio::test]
async fn asking_by_axes_uses_their_index() {
    let (_folder, path) = made().await;
    let store = open(&path, OpenExisting, SOON).await.unwrap();
    let dataset = crate::store::stories::world::dataset(crate::store::stories::world::DATASET);
    store.declare(&dataset, jiff::Timestamp::UNIX_EPOCH).await.unwrap();
    let mut plan = String::new();
    let sql = "explain query plan select * from apt_trade where region = '11110' and month = '2024-01'";
    let read = |cells: &[crate::store::cell::Cell<'_>]| plan.push_str(&format!("{:?}\n", cells[3]));
    store.select(sql, read).await.unwrap();
    assert!(plan.contains("INDEX _apt_trade_axes (region=? AND month=?)"), "{plan}");
    assert!(!plan.contains("SCAN"), "{plan}");
}

/// The umask is the process's: the child of this test has one of its own.
#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    const PLACE: &str = "GAPLESS_TEST_STORE_FOLDER";
    if let Ok(folder) = std::env::var(PLACE) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = open(&Path::new(&folder).join("gapless.db"), Create, SOON).await.unwrap();
            let lock = store.try_lock("a test").unwrap();
            store.begin_run(&lock, "collect", "0.1.0", jiff::Timestamp::UNIX_EPOCH).await.unwrap();
            for name in ["gapless.db", "gapless.db-wal", "gapless.db-shm", "gapless.db.lock"] {
                let mode = fs::metadata(Path::new(&folder).join(name)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{name}");
            }
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "store::sqlite::tests::files_are_for_their_owner_alone_whatever_the_umask";
    let status = std::process::Command::new("sh")
        .args(["-c", r#"umask 000; exec "$0" --exact "$1" --nocapture"#])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(PLACE, folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert!(folder.path().join("gapless.db").exists());
}
