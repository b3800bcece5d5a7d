//! Nights of a backfill under a daily quota, with a clock of its own: who is asked when, and that no call is wasted.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use gapless::caller::{Caller, CallerSettings, Clock, ProviderLimits, Surroundings};
use gapless::collect::conductor::{Conductor, Task, Urgency};
use gapless::collect::harvest::Harvest;
use gapless::collect::ration::{Allowance, DailyCalls};
use gapless::collect::source::{Past, Source};
use gapless::collect::writer::{Keeping, Writer};
use gapless::definition::catalog::Catalog;
use gapless::definition::dataset::Dataset;
use gapless::definition::provider::Provider;
use gapless::model::event::{Event, Listener, Listeners};
use gapless::model::month::Month;
use gapless::model::partition::Partition;
use gapless::model::rate::Rate;
use gapless::plan::condition::condition;
use gapless::plan::selection::{Circumstances, Only, Reason, Standing, order, select};
use gapless::plan::target::{Wish, target};
use gapless::sandbox::{Played, Portal, Quota, RequestLine, Scenario, Spread};
use gapless::settings::resolved::Settings;
use gapless::store::job::Superseded;
use gapless::store::url::StoreUrl;
use gapless::store::{OpenMode, Store};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::world::{lines, month};

/// Calls of one dataset the portal grants a day.
const DAILY_CALLS: u64 = 50;
/// Two regions of 63 months: the current month and the two before it are read every night, 120 partitions are old.
const MONTHS: &str = "2021-09..2026-11";
const REGIONS: [&str; 2] = ["11110", "11680"];
const FRESH: usize = 6;
const OLD: usize = 120;
/// Jobs that may be under way beside the one whose turn it is: two for each call in flight.
const PLACES: usize = 2;

/// What time it is in this test, in seconds; the program takes the time as a plain function.
static CLOCK: AtomicI64 = AtomicI64::new(0);

fn now() -> Timestamp {
    Timestamp::from_second(CLOCK.load(Ordering::SeqCst)).unwrap()
}

/// A store that is collected into night after night.
struct Backfill {
    catalog: Catalog,
    dataset: Arc<Dataset>,
    wanted: Vec<Partition>,
    folder: TempDir,
    /// Who hears of everything beside the program itself.
    ears: Listeners,
}

/// What one night asked and brought.
struct Night {
    requests: Vec<RequestLine>,
    harvest: Harvest,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_days_of_a_backfill_ask_fresh_months_first_and_never_more_than_the_day_grants() {
    let backfill = Backfill::new();
    assert_eq!(backfill.wanted.len(), FRESH + OLD);
    let mut missing = OLD;
    for (day, calls) in [("2026-11-10", 50), ("2026-11-11", 50), ("2026-11-12", 38)] {
        let night = backfill.night(&format!("{day}T02:00:00+09:00")).await;
        night.assert_fresh_months_came_first(day);
        night.assert_the_newest_of_the_old_came_first(day);
        assert_eq!(night.requests.len(), calls, "calls on {day}");
        missing -= calls - FRESH;
        let left = night.harvest.partitions;
        assert_eq!((left.complete, left.deferred, left.failed), (calls as u64, missing as u64, 0), "{day}: {left:?}");
        assert_eq!(backfill.whole().await, FRESH + OLD - missing, "whole after {day}");

        let again = backfill.night(&format!("{day}T23:00:00+09:00")).await;
        let left_of_the_day = DAILY_CALLS as usize - calls;
        let asked_again = FRESH.min(left_of_the_day);
        assert_eq!(again.requests.len(), asked_again, "calls in the second run on {day}");
    }
    assert_eq!(missing, 0);
    let after = backfill.night("2026-11-13T02:00:00+09:00").await;
    after.assert_fresh_months_came_first("the day after");
    assert_eq!(after.requests.len(), FRESH, "a backfill that is done asks for fresh months alone");
}

/// Breaks whenever a request for its partition is about to leave.
struct Bug {
    partition: &'static str,
}

impl Listener for Bug {
    fn hear(&self, event: &Event) {
        if let Event::AttemptStarted { label, .. } = event {
            assert_ne!(label.partition.key(), self.partition, "the bug of this test");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bug_at_one_partition_fails_it_alone_and_is_told() {
    let partition = "region=11680,month=2026-10";
    let backfill = Backfill { ears: Listeners(vec![Arc::new(Bug { partition })]), ..Backfill::new() };
    let Night { harvest, .. } = backfill.night("2026-11-10T02:00:00+09:00").await;
    assert_eq!((harvest.bugs, harvest.partitions.failed), (1, 1), "{:?}", harvest.partitions);
    // The call it never made is counted for the day all the same.
    assert_eq!(harvest.partitions.complete, DAILY_CALLS - 1);
    let gap = harvest.gaps.iter().find(|gap| gap.verdict == "failed").unwrap();
    assert_eq!(gap.partition.key(), partition);
    assert!(gap.why.contains("a bug of gapless") && gap.hint.as_ref().unwrap().contains("report it"), "{gap:?}");
    assert_eq!(backfill.told("select count(*) from job where state <> 'ended'").await, [["0"]]);

    let mended = Backfill { ears: Listeners::default(), ..backfill };
    mended.night("2026-11-11T02:00:00+09:00").await;
    let told = mended.told(&format!("select verdict, rows from coverage where partition = '{partition}'")).await;
    assert_eq!(told, [["complete", "3"]]);
}

impl Backfill {
    fn new() -> Self {
        let catalog = Catalog::builtin();
        let dataset = Arc::clone(catalog.dataset("apt_trade").unwrap());
        let wish = Wish { months: Some(MONTHS.to_owned()), regions: Some(REGIONS.join(",")), ..Wish::default() };
        let no_file = |_: &str| unreachable!("the wish names no file");
        let wanted = target(&dataset, &wish, &catalog, month("2026-11"), &no_file).unwrap().partitions;
        Self { catalog, dataset, wanted, folder: TempDir::new().unwrap(), ears: Listeners::default() }
    }

    /// One run at that time, as `gapless collect` makes it, against a portal that refuses what is above the day's calls.
    ///
    /// The portal keeps the count of the day: what earlier runs of it were granted is not granted again.
    async fn night(&self, at: &str) -> Night {
        CLOCK.store(at.parse::<Timestamp>().unwrap().as_second(), Ordering::SeqCst);
        let store = Arc::new(Store::open(&self.url(), OpenMode::Create).await.unwrap());
        let granted = DAILY_CALLS - self.used_today(&store).await;
        let quota = Some(Quota { daily_calls: granted, ..toml::from_str("daily_calls = 1").unwrap() });
        let scenario = Scenario { rows: Spread::Fixed(3), quota, ..Scenario::default() };
        let portal = Portal::start(scenario, (Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let harvest = self.collect(Arc::clone(&store), self.provider(&portal)).await;
        let requests = portal.requests();
        let refused = requests.iter().filter(|line| line.played == Played::QuotaSpent).count();
        assert_eq!(refused, 0, "calls that the portal had to refuse, {at}");
        Night { requests, harvest }
    }

    async fn collect(&self, store: Arc<Store>, provider: Arc<Provider>) -> Harvest {
        let lock = store.try_lock("a night").unwrap();
        let source = self.source(&store, Arc::clone(&provider)).await;
        let tasks = self.tasks(&store, &source).await;
        let run = store.begin_run(&lock, "collect apt_trade", "0.1.0", now()).await.unwrap();
        let listener = Arc::new(self.ears.clone());
        let zone = TimeZone::get(&provider.zone).unwrap();
        let (dataset, key_id) = (self.dataset.id.clone(), source.key_id.clone());
        let allowance = Allowance { dataset, key_id, daily_calls: provider.daily_calls, zone };
        let calls = Arc::new(DailyCalls::new(Arc::clone(&store), now, vec![allowance]));
        let settings = Settings::defaults();
        let calling = CallerSettings {
            providers: vec![ProviderLimits::of(&provider)],
            http: settings.http,
            retry: settings.retry,
            breakers: settings.breakers,
            max_calls: None,
            max_runtime: None,
        };
        let surroundings = Surroundings {
            clock: Clock::tokio(now()),
            random: Arc::new(|| 0.0),
            listener: listener.clone(),
            ration: calls.clone(),
            slots: None,
        };
        let caller = Caller::new(calling, surroundings).unwrap();
        let keeping = Keeping { superseded: Superseded::Removed, bodies: false };
        let writer = Writer::start(Arc::clone(&store), run, keeping, 4, now, listener.clone()).unwrap();
        let conductor = Conductor {
            caller,
            desk: writer.desk(),
            listener,
            max_pages: settings.max_pages,
            pages_ahead: 0,
            now,
            calls: Arc::clone(&calls),
            stop: CancellationToken::new(),
        };
        let harvest = conductor.collect(tasks).await.unwrap();
        calls.settle().await.unwrap();
        writer.finish().await.unwrap();
        store.end_run(run, 0, now()).await.unwrap();
        harvest
    }

    async fn tasks(&self, store: &Store, source: &Arc<Source>) -> Vec<Task> {
        let (refresh, month) = (Settings::defaults().refresh, Month::containing(source.day(now())));
        let circumstances = Circumstances { only: Only::Due, refresh, now: now(), month };
        let mut selected = select(&(), &self.wanted, &self.standings(store).await, circumstances).selected;
        order(&mut selected);
        let task = |(partition, reason)| Task { source: Arc::clone(source), partition, urgency: urgency(reason) };
        selected.into_iter().map(|item| task((item.partition, item.reason))).collect()
    }

    async fn standings(&self, store: &Store) -> HashMap<String, Standing> {
        let states = store.states(&self.dataset.id).await.unwrap();
        let standing = |state: gapless::store::state::PartitionState| Standing {
            is_published: state.published.is_some(),
            last_verdict: state.last.as_ref().map(|last| last.verdict),
            last_ended: state.last.map(|last| last.ended_at),
            checked_at: state.checked_at,
            strikes: state.strikes,
            pages: state.published.map(|snapshot| snapshot.pages as u32),
        };
        states.into_iter().map(|state| (state.key.clone(), standing(state))).collect()
    }

    async fn source(&self, store: &Store, provider: Arc<Provider>) -> Arc<Source> {
        let declared = store.declare(&self.dataset, now()).await.unwrap();
        let dialect = Arc::clone(self.catalog.dialect(&provider.dialect).unwrap());
        let (dataset, key_id) = (Arc::clone(&self.dataset), "none".to_owned());
        Arc::new(Source::new(dataset, provider, dialect, None, key_id, declared, Past::HadRows))
    }

    fn provider(&self, portal: &Portal) -> Arc<Provider> {
        let shipped = self.catalog.provider(&self.dataset.provider).unwrap();
        let (base_url, daily_calls) = (portal.base_url(), Some(DAILY_CALLS));
        Arc::new(Provider { base_url, daily_calls, rps: Rate::Unlimited, concurrency: 1, ..Provider::clone(shipped) })
    }

    async fn used_today(&self, store: &Store) -> u64 {
        let today = now().to_zoned_datetime(TimeZone::get("Asia/Seoul").unwrap()).date();
        let states = store.api_states().await.unwrap();
        states.iter().filter(|state| state.day == Some(today)).map(|state| state.calls).sum()
    }

    async fn whole(&self) -> usize {
        let store = Store::open(&self.url(), OpenMode::ReadOnly).await.unwrap();
        condition(&self.wanted, &self.standings(&store).await).whole as usize
    }

    async fn told(&self, sql: &str) -> Vec<Vec<String>> {
        let store = Store::open(&self.url(), OpenMode::ReadOnly).await.unwrap();
        lines(&store, sql).await
    }

    fn url(&self) -> StoreUrl {
        StoreUrl::of_file(self.folder.path().join("gapless.db"))
    }
}

impl Night {
    /// The portal hears of them before it hears of any other, but for what is under way beside them.
    fn assert_fresh_months_came_first(&self, day: &str) {
        let is_fresh = |line: &&RequestLine| ["202609", "202610", "202611"].contains(&asked_month(line));
        let among_the_first = self.requests.iter().take(FRESH + PLACES).filter(is_fresh).count();
        let asked = self.requests.iter().filter(is_fresh).count();
        assert_eq!((among_the_first, asked), (FRESH, FRESH), "fresh months on {day}");
    }

    fn assert_the_newest_of_the_old_came_first(&self, day: &str) {
        let old = self.requests.iter().map(asked_month).filter(|month| *month < "202609");
        let mut months: Vec<&str> = old.collect();
        let newest_first = {
            let mut months = months.clone();
            months.sort_unstable_by(|one, other| other.cmp(one));
            months
        };
        // Neighbours may overtake each other on their way.
        months.chunks_mut(PLACES).for_each(|pair| pair.sort_unstable_by(|one, other| other.cmp(one)));
        assert_eq!(months.first(), newest_first.first(), "the newest missing month on {day}");
        assert_eq!(months.last(), newest_first.last(), "the oldest month asked for on {day}");
    }
}

fn asked_month(line: &RequestLine) -> &str {
    line.param("DEAL_YMD").unwrap()
}

fn urgency(reason: Reason) -> Urgency {
    match reason {
        Reason::Recent => Urgency::Recent,
        Reason::Failed | Reason::Held | Reason::Refresh => Urgency::Known,
        Reason::Backfill => Urgency::Backlog,
    }
}
