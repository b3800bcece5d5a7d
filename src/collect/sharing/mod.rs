//! The limits that a run keeps together with the other runs of its store, on whatever host.

mod health;
mod news;
mod part;
mod slots;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::caller::{Caller, Clock, ProviderLimits};
use crate::model::event::{Event, Listener};
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::Store;
use crate::store::error::StoreError;
use crate::store::sharing::{Canary, Share, SharedLimits, Standing, Terms};
use health::Counted;
use news::Told;
use part::{Part, part};

/// Takes part in limits: reserves slots, tells the others what this run learns, and does what they have learned.
pub struct Sharing {
    store: Arc<Store>,
    run: RunId,
    /// The caller's, in nanoseconds.
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// By provider.
    shares: HashMap<Name, Mine>,
    /// The providers of datasets.
    providers: HashMap<Name, Name>,
    listener: Arc<dyn Listener>,
    to_tell: mpsc::UnboundedSender<Told>,
    told: tokio::sync::Mutex<mpsc::UnboundedReceiver<Told>>,
    /// Not all of what happened here stands in the store yet.
    untold: AtomicUsize,
    /// The last line about a breaker that was heard of.
    breaker_mark: AtomicI64,
    /// What others were told, so that it is not told again as our own.
    of_others: Mutex<HashSet<(Option<Name>, String)>>,
    /// Rings when it is time for a look.
    look_now: Notify,
    /// Rings when what could not be reserved may be now.
    try_again: Notify,
    failure: Mutex<Option<StoreError>>,
    failed: Notify,
}

/// What this run has of one provider.
struct Mine {
    share: Share,
    terms: Terms,
    /// Since when the others hold what is due to this run.
    short_since: Mutex<Option<Instant>>,
    /// What was said of the lower limits of others.
    said: Mutex<String>,
    canary: Mutex<Option<Canary>>,
    /// Another run was alive at the last look.
    has_company: AtomicBool,
    /// What the calls of others had come to at the last look.
    counted: Mutex<Counted>,
    /// The last line about a refusal that was heard of.
    stop_mark: AtomicI64,
}

/// Of whom a run asks.
pub struct Asked {
    pub dataset: Name,
    pub provider: Name,
    pub key_id: String,
}

/// How often is looked at what the other runs do; and at every other look, at what they have learned.
const PULSE: Duration = Duration::from_millis(500);

/// A run that is alive gives way at its next look; what one holds that does not is taken all the same.
const GIVES_WAY: Duration = Duration::from_secs(2);

/// While there is no permit yet.
const SOON: Duration = Duration::from_millis(50);

impl Sharing {
    /// Takes part in the limits of each provider that is asked; `None` where a store is of one run. Tells the listener of
    /// what a person should know.
    pub async fn join(
        store: &Arc<Store>,
        run: RunId,
        clock: &Clock,
        limits: &[ProviderLimits],
        asked: Vec<Asked>,
        listener: Arc<dyn Listener>,
    ) -> Result<Option<Arc<Self>>, StoreError> {
        let Some(table) = store.limits() else { return Ok(None) };
        let mut shares = HashMap::new();
        for Asked { provider, key_id, .. } in &asked {
            let Some(limits) = limits.iter().find(|limits| limits.provider == *provider) else { continue };
            if shares.contains_key(provider) {
                continue;
            }
            let share = Share { provider: provider.clone(), key_id: key_id.clone(), run };
            let terms = Terms { interval: limits.rate.interval(), concurrency: limits.concurrency };
            table.join(&share, terms).await?;
            let stop_mark = table.stops_after(&share, 0).await?.last().map_or(0, |stop| stop.id);
            shares.insert(provider.clone(), Mine::new(share, terms, stop_mark));
        }
        let (to_tell, told) = mpsc::unbounded_channel();
        let clock = clock.clone();
        Ok(Some(Arc::new(Self {
            run,
            clock: Arc::new(move || clock.now()),
            shares,
            providers: asked.into_iter().map(|asked| (asked.dataset, asked.provider)).collect(),
            listener,
            to_tell,
            told: tokio::sync::Mutex::new(told),
            untold: AtomicUsize::new(0),
            breaker_mark: AtomicI64::new(store.newest_breaker_change().await?),
            of_others: Mutex::default(),
            look_now: Notify::new(),
            try_again: Notify::new(),
            failure: Mutex::default(),
            failed: Notify::new(),
            store: Arc::clone(store),
        })))
    }

    /// Waits until there is a permit for each provider: nothing is sent before.
    pub async fn begin(&self, caller: &Caller) -> Result<(), StoreError> {
        for mine in self.shares.values() {
            while self.look(mine, caller).await? == 0 {
                tokio::time::sleep(SOON).await;
            }
        }
        Ok(())
    }

    /// Tells and looks, again and again, until the limits can be kept no more; then says why.
    pub async fn watch(&self, caller: &Caller) -> StoreError {
        tokio::select! {
            failure = self.failure() => failure,
            failure = self.tell_and_look(caller) => failure,
        }
    }

    async fn tell_and_look(&self, caller: &Caller) -> StoreError {
        let mut told = self.told.lock().await;
        let mut pulse = tokio::time::interval(PULSE);
        pulse.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut looks: u64 = 0;
        loop {
            // Told first: then a look sees it.
            let done = tokio::select! {
                biased;
                Some(news) = told.recv() => self.pass_on(news).await,
                () = self.look_now.notified() => self.look_at_all(caller).await,
                _ = pulse.tick() => {
                    looks += 1;
                    match self.look_at_all(caller).await {
                        Ok(()) if looks.is_multiple_of(2) => self.learn(caller).await,
                        done => done,
                    }
                }
            };
            if let Err(error) = done {
                return error;
            }
        }
    }

    async fn look_at_all(&self, caller: &Caller) -> Result<(), StoreError> {
        for mine in self.shares.values() {
            self.look(mine, caller).await?;
        }
        Ok(())
    }

    /// Does what the others let us do; returns the permits that are held.
    async fn look(&self, mine: &Mine, caller: &Caller) -> Result<u32, StoreError> {
        let Mine { share, terms, .. } = mine;
        let standing = self.table().standing(share).await?;
        let part = part(share.run, *terms, &standing.others);
        mine.has_company.store(part.others.count > 0, Ordering::Relaxed);
        if let Some(what) = mine.news_of(&part) {
            self.listener.hear(&Event::Warned { what });
        }
        self.heed_pauses(share, &standing, caller);
        let due = part.permits;
        let given = if due > standing.held { due.min(part.free).max(standing.held) } else { due };
        let (mut want, most) = if mine.is_short_for_long(given < due) { (due, u32::MAX) } else { (given, part.most) };
        if want < standing.held {
            // What is still in flight is given up when it has landed.
            let in_flight = caller.share(&share.provider, part.others, want);
            want = want.max(in_flight).min(standing.held);
        }
        let is_held = want == standing.held || self.table().hold(share, want, most).await?;
        let held = if is_held { want } else { standing.held };
        if held > 0 {
            caller.share(&share.provider, part.others, held.min(due));
        }
        Ok(held)
    }

    /// What the store says of a pause is older than what happened here and does not stand there yet.
    fn heed_pauses(&self, share: &Share, standing: &Standing, caller: &Caller) {
        if self.untold.load(Ordering::Acquire) > 0 {
            return;
        }
        match &standing.dark {
            Some(dark) => {
                if caller.pause_as_elsewhere(&share.provider, dark.left, &dark.why) {
                    let what = format!("{}: another host was refused for speed and all wait: {}", share.provider, dark.why);
                    self.listener.hear(&Event::Warned { what });
                }
            }
            None => caller.resume_as_elsewhere(&share.provider),
        }
    }

    async fn failure(&self) -> StoreError {
        loop {
            let failed = self.failed.notified();
            if let Some(error) = lock(&self.failure).take() {
                return error;
            }
            failed.await;
        }
    }

    fn table(&self) -> SharedLimits<'_> {
        self.store.limits().expect("whoever has joined is in a store that is shared")
    }
}

impl Mine {
    fn new(share: Share, terms: Terms, stop_mark: i64) -> Self {
        let (short_since, said, canary, counted) = (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        let (has_company, stop_mark) = (AtomicBool::new(false), AtomicI64::new(stop_mark));
        Self { share, terms, short_since, said, canary, has_company, counted, stop_mark }
    }

    /// What is to be said of others with lower limits, once for each change.
    fn news_of(&self, part: &Part) -> Option<String> {
        let Self { share: Share { provider, .. }, terms, said, .. } = self;
        let rate = (part.others.slowest > terms.interval).then(|| format!("{:.3}/s", 1.0 / part.others.slowest.as_secs_f64()));
        let in_flight = (part.fewest < terms.concurrency).then(|| format!("{} in flight", part.fewest));
        let lower: Vec<String> = rate.into_iter().chain(in_flight).collect();
        let what = match lower.is_empty() {
            true => String::new(),
            false => format!("{provider}: another host allows {}, which holds for all", lower.join(" and ")),
        };
        let mut said = lock(said);
        let is_news = *said != what && !what.is_empty();
        said.clone_from(&what);
        is_news.then_some(what)
    }

    fn is_short_for_long(&self, is_short: bool) -> bool {
        let mut since = lock(&self.short_since);
        if !is_short {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() >= GIVES_WAY
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
