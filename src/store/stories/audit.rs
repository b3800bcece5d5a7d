use super::stories;
use super::world::{World, apartments_page, partition_of, regions};
use crate::model::job::{JobId, PageNumber, ReadNumber};
use crate::model::verdict::Verdict;
use crate::store::audit::{Fault, Pointer};

const SEOUL: &str = "11110,2024-01";
const JOB: JobId = JobId(1);
const FIRST: PageNumber = PageNumber(1);
/// The invariants as queries: each returns no row when all is well.
const INVARIANTS: &str = include_str!("../../../tests/invariants.sql");

stories![
    a_store_with_everything_in_it_passes,
    damage_is_found_and_names_its_partition,
    rows_and_bodies_of_no_page_are_found,
    what_is_seen_twice_is_found,
];

/// The invariants that do not hold, by their sentences.
pub async fn broken_invariants(world: &World) -> Vec<String> {
    let mut broken = Vec::new();
    for query in INVARIANTS.split(';').filter(|query| query.contains("select")) {
        let sentence = query.lines().rfind(|line| line.starts_with("-- ")).unwrap();
        let rows = world.select(query).await;
        if !rows.is_empty() {
            broken.push(format!("{sentence} {rows:?}"));
        }
    }
    broken
}

/// A store in which one partition of two pages is published.
async fn two_pages(mut world: World) -> World {
    let job = world.start(SEOUL).await;
    world.page(&job, 1, 1, &apartments_page(&["a", "b"])).await;
    world.page(&job, 1, 2, &apartments_page(&["c"])).await;
    world.end(&job, Verdict::Complete, 3).await;
    world
}

async fn a_store_with_everything_in_it_passes(world: World) {
    let mut world = two_pages(world).await;
    let now = world.now();
    world.store.declare_regions(&regions("1,A,B,,,leaf,\n2,A,C,,,leaf,\n"), now).await.unwrap();
    world.collected(SEOUL, &["a", "b", "c"], Verdict::Complete).await;
    world.collected(SEOUL, &["x"], Verdict::Complete).await;
    world.held(SEOUL, &["y"], "2026-11-29").await;
    world.collected(SEOUL, &["z"], Verdict::Short).await;
    world.collected("11680,2024-01", &[], Verdict::Empty).await;
    world.collected("11680,2024-02", &["failed"], Verdict::Failed).await;
    world.collected("1,2024-01", &["old"], Verdict::Complete).await;
    let now = world.now();
    let reform = "1,A,B,,2026-07-01,retired,2 3\n2,A,C,2026-07-01,,leaf,\n3,A,D,2026-07-01,,leaf,\n";
    world.store.declare_regions(&regions(reform), now).await.unwrap();
    world.collected("2,2024-01", &["new"], Verdict::Complete).await;
    let open = world.start("11680,2024-03").await;
    world.page(&open, 1, 1, &apartments_page(&["old read"])).await;
    world.store.open_read(&open, ReadNumber(2)).await.unwrap();
    world.page(&open, 2, 1, &apartments_page(&["new read"])).await;
    assert_eq!(world.store.audit().await.unwrap(), []);
    assert_eq!(broken_invariants(&world).await, Vec::<String>::new());
    world.collected("3,2024-01", &["new"], Verdict::Complete).await;
    assert_eq!(world.store.audit().await.unwrap(), []);
    assert_eq!(broken_invariants(&world).await, Vec::<String>::new());
}

async fn damage_is_found_and_names_its_partition(world: World) {
    let check = async |sql: &str, expected: Fault| {
        let mut world = two_pages(world.another().await).await;
        world.collected("11680,2024-01", &["whole"], Verdict::Complete).await;
        world.tampered(sql).await;
        let findings = world.store.audit().await.unwrap();
        let whose: Vec<_> = findings.iter().map(|it| (it.dataset.as_str(), it.partition.as_deref())).collect();
        assert_eq!(whose, [("apt_trade", Some("region=11110,month=2024-01"))], "{sql}: {findings:?}");
        assert_eq!(findings[0].fault, expected, "{sql}");
        findings[0].to_string()
    };
    let counted = |stored| Fault::RowsMiscounted { job: JOB, page: FIRST, ledger: 2, stored };
    check("delete from apt_trade_rows where apt = 'a'", counted(1)).await;
    check("delete from apt_trade_rows where _job = 1 and _page = 1", counted(0)).await;
    let changed = Fault::RowsChanged { job: JOB, page: FIRST };
    check("update apt_trade_rows set _row_hash = zeroblob(16) where apt = 'a'", changed.clone()).await;
    check("update apt_trade_rows set _ordinal = 9 where apt = 'a'", changed.clone()).await;
    check("update page set rows_hash = zeroblob(16) where job = 1 and number = 1", changed).await;
    let elsewhere = Fault::RowsElsewhere { job: JOB, page: FIRST, stored: 1 };
    check("update apt_trade_rows set region = '11680' where apt = 'b'", elsewhere).await;
    check("update job set received = 4 where id = 1", Fault::JobMiscounted { job: JOB, received: 4, pages: 3 }).await;
    let damaged = Fault::BodyDamaged { job: JOB, page: FIRST };
    check("update body set zstd = x'00' where job = 1 and page = 1", damaged.clone()).await;
    check("update body set blake3 = zeroblob(32) where job = 1 and page = 1", damaged.clone()).await;
    check("update body set blake3 = x'00' where job = 1 and page = 1", damaged.clone()).await;
    check("update body set raw_bytes = -1 where job = 1 and page = 1", damaged.clone()).await;
    check("update body set raw_bytes = 9000000000000000000 where job = 1 and page = 1", damaged).await;
    let dangling = |job| Fault::Dangling { pointer: Pointer::Published, job: JobId(job) };
    check("update job set verdict = 'failed' where id = 1", dangling(1)).await;
    check("update partition set published_job = 77 where published_job = 1", dangling(77)).await;
    let live = "drop index job_live; insert into job (run, partition, state, definition_hash, started_at) values \
        (1, 1, 'running', '', ''), (1, 1, 'running', '', '')";
    check(live, Fault::TwoLiveJobs { jobs: 2 }).await;
    let other = Fault::PageOfOtherRead { job: JOB, read: ReadNumber(2), page: FIRST, open: ReadNumber(1) };
    check("insert into page (job, read, number, rows, rows_hash, stored_at) values (1, 2, 1, 0, x'', '')", other).await;
}

async fn rows_and_bodies_of_no_page_are_found(world: World) {
    let world = two_pages(world).await;
    world.tampered("delete from page where job = 1 and number = 1").await;
    let faults: Vec<_> = world.store.audit().await.unwrap().into_iter().map(|finding| finding.fault).collect();
    let expected = [
        Fault::RowsOfNoPage { job: JOB, page: FIRST, stored: 2 },
        Fault::BodyOfNoPage { job: JOB, page: FIRST },
        Fault::JobMiscounted { job: JOB, received: 3, pages: 1 },
    ];
    assert_eq!(faults, expected);
    world.tampered("update apt_trade_rows set _job = 88; delete from body").await;
    let findings: Vec<_> = world.store.audit().await.unwrap().iter().map(ToString::to_string).collect();
    assert!(findings.contains(&"`apt_trade`: 1 rows are of page 2 of job 88, which the ledger does not keep".to_owned()));
    assert_ne!(broken_invariants(&world).await, Vec::<String>::new());
}

async fn what_is_seen_twice_is_found(mut world: World) {
    world.collected("1,2024-01", &["a"], Verdict::Complete).await;
    world.collected("2,2024-01", &["a"], Verdict::Complete).await;
    let now = world.now();
    let reform = "1,A,B,,2026-07-01,retired,2\n2,A,C,2026-07-01,,leaf,\n";
    world.store.declare_regions(&regions(reform), now).await.unwrap();
    assert_eq!(world.store.audit().await.unwrap(), []);
    world.tampered("update partition set published_job = 1, replaced_job = null where region = '1'").await;
    let findings = world.store.audit().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let told =
        "partition `region=1,month=2024-01` of `apt_trade`: it is visible beside `region=2,month=2024-01`, which took its place";
    assert_eq!(findings[0].to_string(), told);
    assert_eq!(broken_invariants(&world).await.len(), 1);
    assert_eq!(world.store.published_hashes(&world.declared, &partition_of("1,2024-01")).await.unwrap().len(), 1);
}
