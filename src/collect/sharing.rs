use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::part::{Part, part};
use crate::caller::{Batch, Caller, Clock, ProviderLimits, Reading, Slots, Wish};
use crate::model::event::{Event, Listener};
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::Store;
use crate::store::error::StoreError;
use crate::store::sharing::{Share, SharedLimits, SlotOrder, Terms};

/// The limits that a run keeps together with the other runs of its store, on whatever host.
pub struct Sharing {
    store: Arc<Store>,
    /// The caller's, in nanoseconds.
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// By provider.
    shares: HashMap<Name, Mine>,
    listener: Arc<dyn Listener>,
    failure: Mutex<Option<StoreError>>,
    failed: Notify,
}

struct Mine {
    share: Share,
    terms: Terms,
    /// Since when the others hold what is due to this run.
    short_since: Mutex<Option<Instant>>,
    /// What was said of the lower limits of others.
    said: Mutex<String>,
}

/// How often is looked at what the other runs do.
const PULSE: Duration = Duration::from_millis(500);

/// A run that is alive gives way at its next look; what one holds that does not is taken all the same.
const GIVES_WAY: Duration = Duration::from_secs(2);

/// While there is no permit yet.
const SOON: Duration = Duration::from_millis(50);

impl Sharing {
    /// Takes part in the limits of each provider; `key_ids` are by provider. `None` where a store is of one run.
    pub async fn join(
        store: &Arc<Store>,
        run: RunId,
        clock: &Clock,
        limits: &[ProviderLimits],
        key_ids: &HashMap<Name, String>,
        listener: Arc<dyn Listener>,
    ) -> Result<Option<Arc<Self>>, StoreError> {
        let Some(table) = store.limits() else { return Ok(None) };
        let mut shares = HashMap::new();
        for limits in limits {
            let Some(key_id) = key_ids.get(&limits.provider) else { continue };
            let share = Share { provider: limits.provider.clone(), key_id: key_id.clone(), run };
            let terms = Terms { interval: limits.rate.interval(), concurrency: limits.concurrency };
            table.join(&share, terms).await?;
            shares.insert(limits.provider.clone(), Mine { share, terms, short_since: Mutex::default(), said: Mutex::default() });
        }
        let (store, clock) = (Arc::clone(store), clock.clone());
        let (failure, failed) = (Mutex::default(), Notify::new());
        Ok(Some(Arc::new(Self { store, clock: Arc::new(move || clock.now()), shares, listener, failure, failed })))
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

    /// Looks at the others again and again, until the limits can be kept no more; then says why.
    pub async fn watch(&self, caller: &Caller) -> StoreError {
        tokio::select! {
            failure = self.failure() => failure,
            failure = self.look_again(caller) => failure,
        }
    }

    async fn look_again(&self, caller: &Caller) -> StoreError {
        loop {
            tokio::time::sleep(PULSE).await;
            for mine in self.shares.values() {
                if let Err(error) = self.look(mine, caller).await {
                    return error;
                }
            }
        }
    }

    /// Does what the others let us do; returns the permits that are held.
    async fn look(&self, mine: &Mine, caller: &Caller) -> Result<u32, StoreError> {
        let Mine { share, terms, .. } = mine;
        let standing = self.table().standing(share).await?;
        let part = part(share.run, *terms, &standing.others);
        if let Some(what) = mine.news_of(&part) {
            self.listener.hear(&Event::Warned { what });
        }
        let due = part.permits;
        let given = if due > standing.held { due.min(part.free).max(standing.held) } else { due };
        let (want, most) = if mine.is_short_for_long(given < due) { (due, u32::MAX) } else { (given, part.most) };
        if want < standing.held {
            caller.share(&share.provider, part.slowest, want);
        }
        let is_held = want == standing.held || self.table().hold(share, want, most).await?;
        let held = if is_held { want } else { standing.held };
        if held > 0 {
            caller.share(&share.provider, part.slowest, held);
        }
        Ok(held)
    }

    async fn failure(&self) -> StoreError {
        loop {
            let failed = self.failed.notified();
            if let Some(error) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
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
    /// What is to be said of others with lower limits, once for each change.
    fn news_of(&self, part: &Part) -> Option<String> {
        let Self { share: Share { provider, .. }, terms, said, .. } = self;
        let rate = (part.slowest > terms.interval).then(|| format!("{:.3}/s", 1.0 / part.slowest.as_secs_f64()));
        let in_flight = (part.fewest < terms.concurrency).then(|| format!("{} in flight", part.fewest));
        let lower: Vec<String> = rate.into_iter().chain(in_flight).collect();
        let what = match lower.is_empty() {
            true => String::new(),
            false => format!("{provider}: another host allows {}, which holds for all", lower.join(" and ")),
        };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *said != what && !what.is_empty();
        said.clone_from(&what);
        is_news.then_some(what)
    }

    fn is_short_for_long(&self, is_short: bool) -> bool {
        let mut since = self.short_since.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_short {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() >= GIVES_WAY
    }
}

impl Slots for Sharing {
    fn reserve<'a>(&'a self, wish: Wish) -> Pin<Box<dyn Future<Output = Batch> + Send + 'a>> {
        Box::pin(async move {
            let Wish { provider, count, interval, margin } = wish;
            let Some(Mine { share, .. }) = self.shares.get(&provider) else { return std::future::pending().await };
            match self.table().reserve(share, SlotOrder { count, interval, margin }, &self.clock).await {
                Ok(grant) => {
                    let reading = grant.reading;
                    let reading = Reading { asked: reading.asked, told: reading.told, heard: reading.heard };
                    Batch { start: grant.start, end: grant.end, count, interval: grant.interval, reading }
                }
                Err(error) => {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.failed.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}
