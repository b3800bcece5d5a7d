use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::caller::{Exhausted, Ration};
use crate::model::name::Name;
use crate::store::Store;

/// The daily calls of every API of a run, reserved in the store in small batches before they are sent.
///
/// A kill loses at most a batch, and never lets a day have more calls than it is granted.
pub struct DailyCalls {
    store: Arc<Store>,
    now: fn() -> Timestamp,
    apis: HashMap<Name, Api>,
}

/// Whether the calls of a day leave room for an older month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    Enough,
    /// That depends on how many calls those need that have been begun.
    Unsure,
    KeptBack {
        why: String,
    },
}

/// One API to be counted.
#[derive(Clone, Debug)]
pub struct Allowance {
    pub dataset: Name,
    /// A salted digest of the key.
    pub key_id: String,
    /// Calls a day; `None` is counted without a limit.
    pub daily_calls: Option<u64>,
    /// Whose midnight ends the day.
    pub zone: TimeZone,
}

struct Api {
    allowance: Allowance,
    /// Taken while a batch is reserved, so that one batch is reserved at a time.
    reserving: tokio::sync::Mutex<()>,
    granted: Mutex<Granted>,
    /// Calls of this run.
    taken: AtomicU64,
}

/// Calls that are reserved and not sent yet.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    day: Option<Date>,
    left: u64,
}

/// Few enough that a kill wastes little, many enough that counting costs nothing.
const BATCH: u64 = 20;

impl DailyCalls {
    pub fn new(store: Arc<Store>, now: fn() -> Timestamp, allowances: Vec<Allowance>) -> Self {
        let api = |allowance: Allowance| Api {
            allowance,
            reserving: tokio::sync::Mutex::default(),
            granted: Mutex::default(),
            taken: AtomicU64::new(0),
        };
        let apis = allowances.into_iter().map(|allowance| (allowance.dataset.clone(), api(allowance))).collect();
        Self { store, now, apis }
    }

    /// Gives back what was reserved and not sent: the end of a run that ends by itself.
    pub async fn settle(&self) -> Result<(), crate::store::error::StoreError> {
        for api in self.apis.values() {
            let Granted { day, left } = std::mem::take(&mut *api.granted());
            if let Some(day) = day.filter(|_| left > 0) {
                self.store.give_back(&api.allowance.dataset, &api.allowance.key_id, day, left).await?;
            }
        }
        Ok(())
    }

    /// Whether a partition of an old backlog may be begun: what is left of the day is kept for fresh ones. Each is taken to
    /// need as many calls as those of the dataset that have `ended`, and so are the `begun` older ones that have not.
    pub async fn room(&self, dataset: &Name, reserve: u64, begun: u64, ended: u64) -> Room {
        let Some(Allowance { key_id, daily_calls: Some(limit), zone, .. }) = self.apis.get(dataset).map(|api| &api.allowance)
        else {
            return Room::Enough;
        };
        if reserve == 0 {
            return Room::Enough;
        }
        // A store that cannot be read fails whoever writes next, with its reason.
        let Ok(states) = self.store.api_states().await else { return Room::Enough };
        let today = (self.now)().to_zoned_datetime(zone.clone()).date();
        let state = states.into_iter().find(|state| state.dataset == *dataset && state.key_id == *key_id);
        let reserved = state.filter(|state| state.day == Some(today)).map_or(0, |state| state.calls);
        // What this run has reserved and not sent is not used yet.
        let used = reserved.saturating_sub(self.unsent(dataset, today));
        // Those that have not ended have mostly had a call each.
        let needed = self.taken(dataset).saturating_sub(begun).div_ceil(ended.max(1)).max(1);
        if used + needed + reserve > *limit {
            let why = format!("{used} of the day's {limit} calls are used, and {reserve} are kept back for fresh months");
            return Room::KeptBack { why };
        }
        if used + (begun + 1) * needed + reserve > *limit { Room::Unsure } else { Room::Enough }
    }

    /// Calls of this run.
    fn taken(&self, dataset: &Name) -> u64 {
        self.apis.get(dataset).map_or(0, |api| api.taken.load(Ordering::Relaxed))
    }

    fn unsent(&self, dataset: &Name, today: Date) -> u64 {
        let granted = self.apis.get(dataset).map(|api| *api.granted());
        granted.filter(|granted| granted.day == Some(today)).map_or(0, |granted| granted.left)
    }

    async fn reserve(&self, api: &Api) -> Result<(), Exhausted> {
        let _reserving = api.reserving.lock().await;
        let Allowance { dataset, key_id, daily_calls, zone } = &api.allowance;
        let today = (self.now)().to_zoned_datetime(zone.clone());
        if api.granted().take(today.date()) {
            return Ok(());
        }
        let limit = daily_calls.unwrap_or(u64::MAX);
        let granted = self.store.reserve_calls(dataset, key_id, today.date(), BATCH, limit).await;
        match granted {
            Ok(0) => {
                let until =
                    today.tomorrow().and_then(|tomorrow| tomorrow.start_of_day()).map(|midnight| midnight.timestamp()).ok();
                let why = format!(
                    "the {limit} calls of {} are used up; if the real limit differs, set `providers.….daily_calls`",
                    today.date()
                );
                Err(Exhausted { until, why })
            }
            Ok(left) => {
                *api.granted() = Granted { day: Some(today.date()), left: left - 1 };
                Ok(())
            }
            // The writer will meet the same trouble and say how the store failed.
            Err(error) => Err(Exhausted { until: None, why: format!("the calls of the day cannot be counted: {error}") }),
        }
    }
}

impl Ration for DailyCalls {
    fn take<'a>(&'a self, dataset: &'a Name) -> Pin<Box<dyn Future<Output = Result<(), Exhausted>> + Send + 'a>> {
        Box::pin(async move {
            let Some(api) = self.apis.get(dataset) else { return Ok(()) };
            let today = (self.now)().to_zoned_datetime(api.allowance.zone.clone()).date();
            let is_granted = api.granted().take(today);
            if !is_granted {
                self.reserve(api).await?;
            }
            api.taken.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }

    fn give_back(&self, dataset: &Name) {
        if let Some(api) = self.apis.get(dataset) {
            api.granted().left += 1;
            api.taken.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Api {
    fn granted(&self) -> MutexGuard<'_, Granted> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Granted {
    /// Takes one call of `today`; what is left of an earlier day is worth nothing.
    fn take(&mut self, today: Date) -> bool {
        let may_send = self.day == Some(today) && self.left > 0;
        self.left -= u64::from(may_send);
        may_send
    }
}
