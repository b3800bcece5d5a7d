use super::stories;
use super::world::{MAX_AGE, World, apartments_page, attempt, end, partition_of, regions};
use crate::model::body::KeptBody;
use crate::model::job::{PageNumber, ReadNumber};
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;
use crate::store::error::StoreError;
use crate::store::job::{Change, Changed, Claim, Ended, JobStart, Planned, Settled, StoredPage};
use crate::store::state::RegionYield;

const SEOUL: &str = "11110,2024-01";
const BUSAN: &str = "26110,2024-01";

stories![
    every_request_has_its_line,
    several_changes_are_all_made_or_none,
    the_guards_see_the_pages_that_are_stored_with_the_end,
    a_run_and_its_jobs_can_be_told_afterwards,
    states_and_coverage_name_every_partition_that_was_asked_for,
    a_dataset_has_rows_once_a_whole_snapshot_has,
    a_kept_body_comes_back_as_it_was,
    the_salt_belongs_to_the_store,
    regions_follow_their_list,
];

async fn every_request_has_its_line(mut world: World) {
    let job = world.start(SEOUL).await;
    let mut first = attempt(&job, 1, 1, 1, Outcome::Retry);
    first.sent = false;
    first.http_status = None;
    first.code = None;
    first.why = Some("connect: refused".to_owned());
    world.store.record_attempts(&[first, attempt(&job, 1, 1, 2, Outcome::SlowDown)]).await.unwrap();
    world.page(&job, 1, 1, &apartments_page(&["a"])).await;
    world
        .assert_select(
            "select job, read, page, try, sent, sent_at, took_ms, waited_ms, outcome, http_status, code, why, body_bytes, \
             retry_ms, permit_ms, slot_ms from attempt order by id",
            &[
                "1|1|1|1|0|2026-11-29T18:00:00.500Z|112|25|retry|NULL|NULL|connect: refused|2048|2000|1|20",
                "1|1|1|2|1|2026-11-29T18:00:00.500Z|112|25|slow_down|200|000|NULL|2048|2000|1|20",
                "1|1|1|1|1|2026-11-29T18:00:00.500Z|112|25|page|200|000|NULL|2048|2000|1|20",
            ],
        )
        .await;
}

async fn several_changes_are_all_made_or_none(mut world: World) {
    let job = world.start(SEOUL).await;
    let (page, now) = (apartments_page(&["a", "b"]), world.now());
    let stored = |number| {
        let (job, read, page) = (&job, ReadNumber::FIRST, &page);
        Change::Page(StoredPage { job, read, number: PageNumber(number), page, body: None, attempts: &[], now })
    };
    let (run, declared, busan) = (world.run, world.declared.clone(), partition_of(BUSAN));
    let start =
        Change::Start(JobStart { run, declared: &declared, partition: &busan, planned: Planned::Anyhow, max_age: MAX_AGE, now });
    let attempts = [attempt(&job, 1, 4, 1, Outcome::Retry)];
    world.store.write_batch(&[stored(1), stored(2)]).await.unwrap();
    let twice = [
        start.clone(),
        stored(3),
        Change::Attempts(&attempts),
        Change::OpenRead { job: &job, read: ReadNumber(2) },
        Change::End(end(&job, Verdict::Short, 6, now)),
        stored(4),
    ];
    let error = world.store.write_batch(&twice).await.unwrap_err();
    assert!(matches!(error, StoreError::JobOver { .. }), "{error}");
    world.assert_select("select number, rows, total from page", &["1|2|2", "2|2|2"]).await;
    world.assert_select("select _page, _ordinal from apt_trade_rows", &["1|1", "1|2", "2|1", "2|2"]).await;
    world.assert_select("select (select count(*) from body), (select count(*) from attempt)", &["0|0"]).await;
    world.assert_select("select state, read from job", &["running|1"]).await;

    let whole = [start, stored(3), Change::Attempts(&attempts), Change::End(end(&job, Verdict::Complete, 6, now))];
    let changed = world.store.write_batch(&whole).await.unwrap();
    let [Changed::Claimed(Claim::Started(begun)), Changed::Stored, Changed::Stored, Changed::Ended(ended)] = &changed[..] else {
        panic!("not what came of each, in order: {changed:?}");
    };
    assert_eq!((begun.job.partition(), ended.settled), (&busan, Settled::Published { superseded_rows: 0 }));
    world.assert_select("select state from job order by id", &["ended", "running"]).await;
}

async fn the_guards_see_the_pages_that_are_stored_with_the_end(mut world: World) {
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    let job = world.start(SEOUL).await;
    let (page, now) = (apartments_page(&["c", "d"]), world.now());
    let (read, number) = (ReadNumber::FIRST, PageNumber::FIRST);
    let stored = Change::Page(StoredPage { job: &job, read, number, page: &page, body: None, attempts: &[], now });
    let changed = world.store.write_batch(&[stored, Change::End(end(&job, Verdict::Complete, 2, now))]).await.unwrap();
    // Seen without its page the job would be zero rows after two.
    assert!(matches!(&changed[1], Changed::Ended(Ended { suspicion: None, .. })), "{changed:?}");
    world.assert_select("select apt from apt_trade order by apt", &["c", "d"]).await;
}

async fn a_run_and_its_jobs_can_be_told_afterwards(mut world: World) {
    world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let now = world.now();
    world.store.end_run(world.run, 3, now).await.unwrap();
    world
        .assert_select(
            "select command, started_at, ended_at, exit_code, version from run",
            &["collect apt_trade|2026-11-29T18:00:00.000Z|2026-11-29T18:00:04.000Z|3|0.1.0"],
        )
        .await;
    let hash = world.declared.definition_hash();
    world
        .assert_select(
            "select run, partition, state, verdict, why, read, promised_first, promised_last, received, distinct_rows, \
             definition_hash, started_at, ended_at, ended_on, store_ms from job",
            &[&format!(
                "1|1|ended|complete|NULL|1|1|1|1|1|{hash}|2026-11-29T18:00:01.000Z|2026-11-29T18:00:03.000Z|2026-11-29|7"
            )],
        )
        .await;
}

async fn states_and_coverage_name_every_partition_that_was_asked_for(mut world: World) {
    world.collected("11680,2024-02", &["a"], Verdict::Failed).await;
    world.collected(SEOUL, &["a", "b"], Verdict::Complete).await;
    world.start("41135,2024-02").await;
    let states = world.store.states(&Name::literal("apt_trade")).await.unwrap();
    let told: Vec<_> = states
        .iter()
        .map(|state| {
            let published = state.published.as_ref().map(|snapshot| (snapshot.verdict, snapshot.rows, snapshot.pages));
            (state.key.as_str(), published, state.last.as_ref().map(|last| last.verdict), state.checked_at.is_some())
        })
        .collect();
    let expected = [
        ("region=11110,month=2024-01", Some((Verdict::Complete, 2, 1)), Some(Verdict::Complete), true),
        ("region=11680,month=2024-02", None, Some(Verdict::Failed), false),
        ("region=41135,month=2024-02", None, None, false),
    ];
    assert_eq!(told, expected);
    let lines = "select region, coalesce(verdict, '-'), rows from coverage order by region";
    world.assert_select(lines, &["11110|complete|2", "11680|failed|0", "41135|-|0"]).await;
    let seoul = RegionYield { dataset: Name::literal("apt_trade"), region: "11110".to_owned(), partitions: 1, rows: 2 };
    assert_eq!(world.store.yields().await.unwrap(), [seoul]);
    assert_eq!(world.store.last_checked().await.unwrap(), states[0].checked_at);
}

async fn a_dataset_has_rows_once_a_whole_snapshot_has(mut world: World) {
    let dataset = Name::literal("apt_trade");
    world.collected(SEOUL, &[], Verdict::Empty).await;
    assert!(!world.store.has_rows(&dataset).await.unwrap(), "one that is empty has none");
    world.collected("11680,2024-02", &["a"], Verdict::Short).await;
    assert!(!world.store.has_rows(&dataset).await.unwrap(), "nor has one that is not whole");
    world.collected("41135,2024-02", &["a"], Verdict::Complete).await;
    assert!(world.store.has_rows(&dataset).await.unwrap());
    assert!(!world.store.has_rows(&Name::literal("apt_rent")).await.unwrap());
}

async fn a_kept_body_comes_back_as_it_was(mut world: World) {
    let (job, _) = world.collected(SEOUL, &["a"], Verdict::Complete).await;
    let body = world.store.body(job.id(), ReadNumber(1), PageNumber(1)).await.unwrap().unwrap();
    assert_eq!(body.raw().unwrap(), b"body of page 1");
    assert_eq!(world.store.body(job.id(), ReadNumber(1), PageNumber(2)).await.unwrap(), None);
    let mut damaged = KeptBody::of(b"a body");
    damaged.blake3[0] ^= 1;
    assert_eq!(damaged.raw(), None);
}

async fn the_salt_belongs_to_the_store(world: World) {
    let salt = world.store.salt().await.unwrap();
    let other = World::on_sqlite().await.store.salt().await.unwrap();
    assert_ne!(salt, other);
    let world = world.killed_and_begun_again().await;
    assert_eq!(world.store.salt().await.unwrap(), salt);
}

async fn regions_follow_their_list(mut world: World) {
    let now = world.now();
    world.store.declare_regions(&regions("99999,A,B,,,leaf,\n"), now).await.unwrap();
    let lines = "28125,A,B,2026-07-01,,leaf,\n28155,A,C,2026-07-01,,leaf,\n28110,A,D,,2026-07-01,retired,28125 28155\n";
    world.store.declare_regions(&regions(lines), now).await.unwrap();
    world
        .assert_select(
            "select code, name, valid_from, valid_to, kind, successors from regions order by code",
            &[
                "28110|A D|NULL|2026-07-01|retired|28125,28155",
                "28125|A B|2026-07-01|NULL|leaf|NULL",
                "28155|A C|2026-07-01|NULL|leaf|NULL",
            ],
        )
        .await;
}
