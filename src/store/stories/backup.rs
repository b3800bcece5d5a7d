use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::stories_of_files;
use super::world::{World, apartments_page, select};
use crate::model::verdict::Verdict;
use crate::store::error::{StoreError, StoreErrorKind};
use crate::store::url::StoreUrl;
use crate::store::{OpenMode, Store};

const SEOUL: &str = "11110,2024-01";

stories_of_files![
    a_copy_is_a_whole_store_of_its_own,
    a_copy_taken_during_a_run_is_of_one_moment,
    a_copy_takes_the_place_of_nothing,
    a_copy_left_half_by_a_kill_is_taken_again,
    a_copy_that_fails_leaves_nothing,
];

async fn open(world: &World, name: &str) -> Store {
    Store::open(&StoreUrl::of_file(world.beside(name)), OpenMode::OpenExisting).await.unwrap()
}

async fn a_copy_is_a_whole_store_of_its_own(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    let open_job = world.start("11680,2024-01").await;
    world.page(&open_job, 1, 1, &apartments_page(&["half"])).await;
    world.store.backup(&world.beside("copy.db")).await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(world.beside("copy.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(!world.beside("copy.db.new").exists());
    world.collected(SEOUL, &["later"], Verdict::Complete).await;

    let copy = open(&world, "copy.db").await;
    copy.check().await.unwrap();
    assert_eq!(copy.audit().await.unwrap(), []);
    assert_eq!(select(&copy, "select apt from apt_trade order by apt").await, ["a", "b"]);
    assert_eq!(select(&copy, "select state from job order by id").await, ["ended", "running"]);
    assert_eq!(copy.salt().await.unwrap(), world.store.salt().await.unwrap());
}

async fn a_copy_taken_during_a_run_is_of_one_moment(mut world: World) {
    world.collected(SEOUL, &["0"], Verdict::Complete).await;
    let (reader, is_over) = (world.reader().await, Arc::new(AtomicBool::new(false)));
    let folder = world.beside("");
    let copying = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            for number in 0..8 {
                reader.backup(&folder.join(format!("copy-{number}.db"))).await.unwrap();
            }
            is_over.store(true, Relaxed);
        }
    });
    let mut round = 0;
    while !is_over.load(Relaxed) && !copying.is_finished() {
        round += 1;
        let name = round.to_string();
        world.collected(SEOUL, &[&name, &name, &name], Verdict::Complete).await;
    }
    copying.await.unwrap();
    for number in 0..8 {
        let copy = open(&world, &format!("copy-{number}.db")).await;
        assert_eq!(copy.audit().await.unwrap(), [], "copy {number}");
        assert_eq!(select(&copy, "select count(distinct apt) from apt_trade").await, ["1"], "copy {number}");
    }
}

async fn a_copy_takes_the_place_of_nothing(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let check = async |name: &str, content: &[u8]| {
        fs::write(world.beside(name), content).unwrap();
        let error = world.store.backup(&world.beside("copy.db")).await.unwrap_err();
        assert!(matches!(&error, StoreError::AlreadyThere { path } if *path == world.beside(name)), "{error}");
        assert_eq!(fs::read(world.beside(name)).unwrap(), content);
        fs::remove_file(world.beside(name)).unwrap();
        assert!(!world.beside("copy.db").exists());
    };
    check("copy.db", b"somebody's letters").await;
    check("copy.db-wal", b"a log of another store").await;
    check("copy.db-journal", b"a journal of another store").await;
    let error = world.store.backup(&world.beside("gapless.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::AlreadyThere { .. }), "{error}");
}

async fn a_copy_left_half_by_a_kill_is_taken_again(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    fs::write(world.beside("copy.db.new"), b"half a copy").unwrap();
    world.store.backup(&world.beside("copy.db")).await.unwrap();
    assert_eq!(select(&open(&world, "copy.db").await, "select apt from apt_trade").await, ["a"]);
}

async fn a_copy_that_fails_leaves_nothing(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let error = world.store.backup(&world.beside("no/such/folder.db")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::LocalResource, "{error}");
    // What is damaged can not be copied.
    world.collected(SEOUL, &["long".repeat(30_000).as_str()], Verdict::Complete).await;
    let copy = world.beside("copy.db");
    world.store.backup(&copy).await.unwrap();
    let mut damaged = fs::read(&copy).unwrap();
    let rows = damaged.len() - 60_000..damaged.len() - 20_000;
    damaged[rows].fill(0x5a);
    fs::write(&copy, &damaged).unwrap();
    let store = Store::open(&StoreUrl::of_file(&copy), OpenMode::ReadOnly).await.unwrap();
    store.backup(&world.beside("copy of copy.db")).await.unwrap_err();
    assert!(!world.beside("copy of copy.db").exists());
    assert!(!world.beside("copy of copy.db.new").exists());
}
