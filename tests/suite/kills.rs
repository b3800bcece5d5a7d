//! Runs that are killed at random moments, over and over: nothing is lost, nothing is mixed, little is asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;
use gapless::sandbox::RequestLine;
use gapless::store::url::StoreUrl;
use gapless::store::{OpenMode, Store};

use crate::soundness::{Hashes, visible};
use crate::world::World;

/// Six partitions of three pages each.
const SIX: &str = "collect apt_trade --regions 11110 --months 2024-01..2024-06 --create --format json";
const MONTHS: [&str; 6] = ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06"];
const PAGES: u32 = 3;
/// What the portal holds before, and after all its rows have changed.
const OLD: &str = "rows = 250\nseed = 1\nlatency_ms = { from = 5, to = 30 }";
const NEW: &str = "rows = 250\nseed = 2\nlatency_ms = { from = 5, to = 30 }";

/// Kills of each test. Four tests make a hundred.
const KILLS: usize = 27;
/// No more of them in one world, so that there are several worlds.
const KILLS_OF_A_WORLD: usize = 6;

/// What the ledger holds of the months that are not at rest.
#[derive(Debug, Default)]
struct Left {
    published: BTreeSet<String>,
    live: BTreeMap<String, LiveJob>,
}

/// A job that its run did not end.
#[derive(Debug, PartialEq, Eq)]
struct LiveJob {
    id: u64,
    claims: u64,
    stored: u32,
}

/// What became of the kills of a test.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// Jobs that were gone on with, and how many of them had pages.
    resumed: usize,
    resumed_with_pages: usize,
    asked_again: usize,
}

/// How a run that goes on with what another left must have asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Killed,
    Done,
}

#[test]
fn a_first_run_survives_kills_with_one_page_after_the_other() {
    killed_on_the_way_to_a_first_snapshot("0");
}

#[test]
fn a_first_run_survives_kills_with_pages_side_by_side() {
    killed_on_the_way_to_a_first_snapshot("4");
}

#[test]
fn readers_see_the_old_or_the_new_while_runs_are_killed_with_one_page_after_the_other() {
    killed_on_the_way_to_a_new_snapshot("0");
}

#[test]
fn readers_see_the_old_or_the_new_while_runs_are_killed_with_pages_side_by_side() {
    killed_on_the_way_to_a_new_snapshot("4");
}

fn killed_on_the_way_to_a_first_snapshot(pages_ahead: &str) {
    let (mut moments, mut tally) = (moments(), Tally::default());
    let (unbroken, longest) = unbroken(World::playing(OLD), pages_ahead);
    let rows = unbroken.visible();
    while tally.kills < KILLS {
        let mut world = world(OLD, pages_ahead);
        let mut before = Left::default();
        for _ in 0..KILLS_OF_A_WORLD {
            let is_killed = killed_within(&world, SIX, longest, &mut moments);
            let left = left(&world);
            for month in &left.published {
                assert_eq!(world.visible()[month], rows[month], "{month} is published, so it is whole");
            }
            check_asked(&world.requests(), &before, Until::Killed, &mut tally);
            if !is_killed {
                break;
            }
            tally.kills += 1;
            check_claims(&before, &left);
            before = left;
            world = world.now_playing(OLD);
        }
        world = world.now_playing(OLD);
        before = left(&world);
        world.run(SIX).exits(0);
        check_asked(&world.requests(), &before, Until::Done, &mut tally);
        check_rest(&world, &rows);
    }
    tell(&tally);
}

fn killed_on_the_way_to_a_new_snapshot(pages_ahead: &str) {
    let (mut moments, mut tally) = (moments(), Tally::default());
    let all = format!("{SIX} --only all");
    let (old, longest) = unbroken(World::playing(OLD), pages_ahead);
    let (new, _) = unbroken(World::playing(NEW), pages_ahead);
    let (before, after) = (old.visible(), new.visible());
    assert!(MONTHS.iter().all(|month| before[*month] != after[*month]), "old and new differ");
    let mut mixed = 0;
    while tally.kills < KILLS {
        let mut world = world(NEW, pages_ahead).with_the_store_of(&old);
        let reader = Reader::of(&world, &before, &after);
        for _ in 0..KILLS_OF_A_WORLD {
            let left_before = left(&world);
            let is_killed = killed_within(&world, &all, longest, &mut moments);
            check_resumed(&world.requests(), &left_before.live, Until::Killed, &mut tally);
            if !is_killed {
                break;
            }
            tally.kills += 1;
            check_claims(&left_before, &left(&world));
            world = world.now_playing(NEW);
        }
        world = world.now_playing(NEW);
        let left = left(&world);
        world.run(&all).exits(0);
        check_resumed(&world.requests(), &left.live, Until::Done, &mut tally);
        check_rest(&world, &after);
        mixed += reader.seen().mixed;
    }
    assert!(mixed > 0, "the reader was there while one month after the other changed");
    tell(&tally);
    eprintln!("{mixed} looks at a view of old and new months");
}

fn moments() -> Rng {
    let seed = std::env::var("KILL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    eprintln!("KILL_SEED={seed}");
    Rng::with_seed(seed)
}

fn tell(tally: &Tally) {
    assert!(tally.resumed_with_pages > 0, "no kill left a job half way: {tally:?}");
    eprintln!("{tally:?}");
}

fn world(scenario: &str, pages_ahead: &str) -> World {
    World::playing(scenario).set("collect.pages_ahead", pages_ahead)
}

/// A whole run that nobody disturbs, and how long it took.
fn unbroken(world: World, pages_ahead: &str) -> (World, Duration) {
    let world = world.set("collect.pages_ahead", pages_ahead);
    let began = Instant::now();
    world.run(SIX).exits(0);
    let took = began.elapsed();
    for month in MONTHS {
        world.assert_rows_are_true("11110", month);
    }
    (world, took)
}

/// Kills a run at a random moment; whether it was still at work then. What it leaves is sound.
fn killed_within(world: &World, line: &str, longest: Duration, moments: &mut Rng) -> bool {
    let moment = longest.mul_f64(moments.f64());
    let run = world.start(line);
    // Not a wait for something: the moment itself is the case.
    std::thread::sleep(moment);
    run.signal("KILL");
    let run = run.ended();
    world.assert_store_is_sound(&format!("killed after {moment:?}"));
    match run.exit {
        137 => true,
        0 => false,
        other => panic!("exit {other} of a run that was to be killed: {}", run.stderr),
    }
}

/// After the last run: the rows of an unbroken one, and nothing left over.
fn check_rest(world: &World, rows: &Hashes) {
    world.assert_store_is_sound("after the last run");
    assert!(world.visible() == *rows, "the rows of an unbroken run");
    assert_eq!(left(world).live, BTreeMap::new(), "no job is left behind");
    assert_eq!(world.count("select count(*) from apt_trade_rows"), 6 * 250, "no row is left behind");
    assert_eq!(world.count("select count(*) from job where verdict = 'lost'"), 0, "nothing was given up");
}

/// In a first collection: what is published is not asked for, and of a job that was begun only what it did not store.
fn check_asked(requests: &[RequestLine], before: &Left, until: Until, tally: &mut Tally) {
    let asked = pages_asked(requests);
    for month in &before.published {
        assert_eq!(asked.get(month), None, "{month} was whole already");
    }
    check_resumed(requests, &before.live, until, tally);
    if until == Until::Done {
        for month in MONTHS.iter().filter(|month| !before.published.contains(**month) && !before.live.contains_key(**month)) {
            assert_eq!(asked[*month], [1, 2, 3], "{month} was not begun before");
        }
    }
}

/// Of what a job stored only the last page is asked for again, to see that it is still the same, and each page once.
fn check_resumed(requests: &[RequestLine], live: &BTreeMap<String, LiveJob>, until: Until, tally: &mut Tally) {
    let asked = pages_asked(requests);
    for (month, job) in live {
        let due: Vec<u32> = (job.stored.max(1)..=PAGES).collect();
        let asked = asked.get(month).map(Vec::as_slice).unwrap_or_default();
        match until {
            Until::Done => assert_eq!(asked, due, "{month} of {job:?}"),
            Until::Killed => {
                let is_due_once = asked.is_sorted_by(|one, next| one < next) && asked.iter().all(|page| due.contains(page));
                assert!(is_due_once, "{month}: {asked:?} of {due:?}, {job:?}");
            }
        }
        tally.resumed += usize::from(!asked.is_empty());
        tally.resumed_with_pages += usize::from(!asked.is_empty() && job.stored > 0);
        tally.asked_again += asked.iter().filter(|page| **page <= job.stored).count();
    }
}

/// A job goes on as the same job, under a new claim, and no job ever has fewer pages than before.
fn check_claims(before: &Left, after: &Left) {
    for (month, job) in &before.live {
        let Some(now) = after.live.get(month) else { continue };
        assert_eq!(now.id, job.id, "{month} goes on as the same job");
        assert!(now.claims == job.claims || now.claims == job.claims + 1, "{month}: {job:?}, then {now:?}");
        assert!(now.stored >= job.stored, "{month}: {job:?}, then {now:?}");
    }
}

/// The pages that were asked for of each month, sorted.
fn pages_asked(requests: &[RequestLine]) -> BTreeMap<String, Vec<u32>> {
    let mut asked: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for line in requests {
        let (year, month) = line.param("DEAL_YMD").unwrap().split_at(4);
        asked.entry(format!("{year}-{month}")).or_default().push(line.param("pageNo").unwrap().parse().unwrap());
    }
    asked.values_mut().for_each(|pages| pages.sort_unstable());
    asked
}

fn left(world: &World) -> Left {
    if !world.has_its_tables() {
        return Left::default();
    }
    let published = world.query("select month from partition where published_job is not null");
    let live = world.query(
        "select partition.month, job.id, job.claims,
         (select count(*) from page where page.job = job.id and page.read = job.read)
         from job join partition on partition.id = job.partition where job.state <> 'ended'",
    );
    let job = |line: Vec<String>| {
        let [month, id, claims, stored] = line.try_into().expect("four cells");
        let number = |text: &str| text.parse::<u64>().unwrap();
        (month, LiveJob { id: number(&id), claims: number(&claims), stored: number(&stored) as u32 })
    };
    Left { published: published.into_iter().flatten().collect(), live: live.into_iter().map(job).collect() }
}

/// Somebody who looks at the view all the time.
struct Reader {
    over: Arc<AtomicBool>,
    looks: JoinHandle<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    looks: usize,
    /// Looks that saw some months old and some new.
    mixed: usize,
}

impl Reader {
    fn of(world: &World, old: &Hashes, new: &Hashes) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (url, old, new) = (StoreUrl::of_file(world.folder().join("gapless.db")), old.clone(), new.clone());
        let is_over = Arc::clone(&over);
        let looks = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(look(&url, &old, &new, &is_over))
        });
        Self { over, looks }
    }

    fn seen(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        let seen = self.looks.join().expect("the reader saw only whole months");
        assert!(seen.looks > KILLS_OF_A_WORLD, "{seen:?}");
        seen
    }
}

async fn look(url: &StoreUrl, old: &Hashes, new: &Hashes, is_over: &AtomicBool) -> Seen {
    let store = Store::open(url, OpenMode::ReadOnly).await.unwrap();
    let mut seen = Seen::default();
    while !is_over.load(Ordering::Relaxed) {
        let view = visible(&store).await;
        assert_eq!(view.len(), MONTHS.len(), "no month is away, not even for a moment");
        let count = |whole: &Hashes| view.iter().filter(|(month, rows)| whole[*month] == **rows).count();
        let (of_old, of_new) = (count(old), count(new));
        assert_eq!(of_old + of_new, MONTHS.len(), "each month is the old one or the new one");
        seen.looks += 1;
        seen.mixed += usize::from(of_old > 0 && of_new > 0);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    store.close().await;
    seen
}
