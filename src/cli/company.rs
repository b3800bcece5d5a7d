//! What a run calls with: alone, or together with the runs of other hosts.

use std::sync::Arc;

use crate::caller::{Caller, Clock, ProviderLimits, Ration, Slots, Surroundings};
use crate::collect::sharing::{Asked, Sharing};
use crate::model::event::{Listener, Listeners};
use crate::model::job::RunId;
use crate::store::Store;
use crate::store::error::StoreError;

/// The other runs of a store, where it may have others and limits are shared.
pub struct Company {
    sharing: Option<Arc<Sharing>>,
    clock: Clock,
    /// Hears what happens, for those who were there before and for the others.
    pub listener: Arc<dyn Listener>,
}

impl Company {
    /// Takes part in the limits of all that is asked, if they `are_shared`.
    pub async fn join(
        store: &Arc<Store>,
        run: RunId,
        are_shared: bool,
        limits: &[ProviderLimits],
        asked: Vec<Asked>,
        listener: Arc<dyn Listener>,
    ) -> Result<Self, StoreError> {
        let clock = Clock::precise();
        let sharing = match are_shared {
            true => Sharing::join(store, run, &clock, limits, asked, Arc::clone(&listener)).await?,
            false => None,
        };
        let listener = match &sharing {
            Some(sharing) => Arc::new(Listeners(vec![listener, sharing.clone()])),
            None => listener,
        };
        Ok(Self { sharing, clock, listener })
    }

    pub fn surroundings(&self, ration: Arc<dyn Ration>) -> Surroundings {
        Surroundings {
            clock: self.clock.clone(),
            random: Arc::new(fastrand::f64),
            listener: Arc::clone(&self.listener),
            ration,
            slots: self.sharing.clone().map(|sharing| sharing as Arc<dyn Slots>),
        }
    }

    /// Waits for a permit of each provider: nothing is sent before.
    pub async fn begin(&self, caller: &Caller) -> Result<(), StoreError> {
        match &self.sharing {
            Some(sharing) => sharing.begin(caller).await,
            None => Ok(()),
        }
    }

    /// Why the limits can be kept together with others no more; alone, it never comes to that.
    pub async fn parting(&self, caller: &Caller) -> StoreError {
        match &self.sharing {
            Some(sharing) => sharing.watch(caller).await,
            None => std::future::pending().await,
        }
    }
}
