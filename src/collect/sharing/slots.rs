//! Slots and canaries, as the store grants them.

use std::pin::Pin;
use std::time::Duration;

use super::{Sharing, lock};
use crate::caller::{Batch, Reading, Slots, Wish};
use crate::model::name::Name;
use crate::store::error::StoreError;
use crate::store::sharing::SlotOrder;

/// While a provider is dark, slots are asked for again after so long; sooner when a canary of ours may go.
const DARK: Duration = Duration::from_millis(250);

impl Sharing {
    /// The run ends for it; until then nobody gets an answer.
    async fn fail<T>(&self, error: StoreError) -> T {
        *lock(&self.failure) = Some(error);
        self.failed.notify_one();
        std::future::pending().await
    }
}

impl Slots for Sharing {
    fn reserve<'a>(&'a self, wish: Wish) -> Pin<Box<dyn Future<Output = Batch> + Send + 'a>> {
        Box::pin(async move {
            let Wish { provider, count, interval, margin } = wish;
            let mine = self.shares.get(&provider).expect("a run takes part in the limits of each provider it asks");
            loop {
                let try_again = self.try_again.notified();
                let order = SlotOrder { count, interval, margin, canary: *lock(&mine.canary) };
                match self.table().reserve(&mine.share, order, &self.clock).await {
                    Ok(Some(grant)) => {
                        let reading = grant.reading;
                        let reading = Reading { asked: reading.asked, told: reading.told, heard: reading.heard };
                        return Batch { start: grant.start, end: grant.end, count, interval: grant.interval, reading };
                    }
                    Ok(None) => {
                        self.look_now.notify_one();
                        drop(tokio::time::timeout(DARK, try_again).await);
                    }
                    Err(error) => return self.fail(error).await,
                }
            }
        })
    }

    fn grants_canary<'a>(&'a self, provider: &'a Name) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(async move {
            let Some(mine) = self.shares.get(provider) else { return true };
            let before = *lock(&mine.canary);
            match self.table().take_canary(&mine.share, before).await {
                Ok(Some(canary)) => {
                    *lock(&mine.canary) = Some(canary);
                    self.try_again.notify_waiters();
                    true
                }
                Ok(None) => {
                    self.look_now.notify_one();
                    false
                }
                Err(error) => self.fail(error).await,
            }
        })
    }
}
