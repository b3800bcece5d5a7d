//! What happens here and others must hear, and what happened there.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Mine, Sharing, lock};
use crate::caller::Caller;
use crate::model::breaker::BreakerState;
use crate::model::event::{Event, Listener};
use crate::model::name::Name;
use crate::model::outcome::Scope;
use crate::store::error::StoreError;
use crate::store::sharing::Stop;
use crate::store::state::{BreakerChange, to_come};

/// Something that happened here.
pub(super) enum Told {
    Paused {
        provider: Name,
        pause: Duration,
        why: String,
    },
    Resumed {
        provider: Name,
    },
    /// `None` is the whole provider.
    Stopped {
        provider: Name,
        dataset: Option<Name>,
        why: String,
    },
}

/// Whoever opened a breaker finds out first whether the server is back; the others hear of it meanwhile.
const HEAD_START: SignedDuration = SignedDuration::from_secs(2);

/// While another host finds out. Should it die in the middle, the others do so themselves then.
const FINDING_OUT: SignedDuration = SignedDuration::from_secs(60);

impl Sharing {
    pub(super) async fn pass_on(&self, told: Told) -> Result<(), StoreError> {
        let (Told::Paused { provider, .. } | Told::Resumed { provider } | Told::Stopped { provider, .. }) = &told;
        if let Some(Mine { share, .. }) = self.shares.get(provider) {
            match &told {
                Told::Paused { pause, why, .. } => self.table().darken(share, *pause, why).await?,
                Told::Resumed { .. } => self.table().lighten(share).await?,
                Told::Stopped { dataset, why, .. } => self.table().stop_all(share, dataset.as_ref(), why).await?,
            }
        }
        self.untold.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }

    /// Does what other runs have learned of breakers, quotas and keys.
    pub(super) async fn learn(&self, caller: &Caller) -> Result<(), StoreError> {
        let now = Timestamp::now();
        for (id, change) in self.store.breakers_after(self.breaker_mark.load(Ordering::Relaxed), self.run).await? {
            self.breaker_mark.store(id, Ordering::Relaxed);
            if let Some((provider, _)) = self.api(&change.dataset, &change.key_id) {
                heed_breaker(caller, provider, &change, now);
            }
        }
        for state in self.store.api_states().await? {
            let Some((provider, _)) = self.api(&state.dataset, &state.key_id) else { continue };
            if let Some(until) = to_come(state.blocked_until, now) {
                caller.leave_alone(provider, &state.dataset, until, state.why.as_deref().unwrap_or("another run was told so"));
            }
        }
        for (provider, mine) in &self.shares {
            self.compare_health(mine, caller).await?;
            for Stop { id, run, dataset, why } in self.table().stops_after(&mine.share, mine.stop_mark()).await? {
                mine.stop_mark.store(id, Ordering::Relaxed);
                if run == self.run {
                    continue;
                }
                lock(&self.of_others).insert((dataset.clone(), why.clone()));
                match dataset {
                    Some(dataset) => caller.stop_api(provider, &dataset, &why),
                    None => {
                        let any = self.providers.iter().find(|(_, of)| *of == provider).map(|(dataset, _)| dataset);
                        caller.stop_provider(provider, any.expect("it is asked for one"), &why);
                    }
                }
            }
        }
        Ok(())
    }

    /// The provider of an API that this run asks for as well.
    fn api(&self, dataset: &Name, key_id: &str) -> Option<(&Name, &Mine)> {
        let provider = self.providers.get(dataset)?;
        let mine = self.shares.get(provider).filter(|mine| mine.share.key_id == key_id)?;
        Some((provider, mine))
    }

    fn tell(&self, told: Told) {
        self.untold.fetch_add(1, Ordering::AcqRel);
        // Gone only with whoever would send it.
        self.to_tell.send(told).ok();
    }
}

fn heed_breaker(caller: &Caller, provider: &Name, change: &BreakerChange, now: Timestamp) {
    let BreakerChange { dataset, state, open_until, openings, why, .. } = change;
    match state {
        BreakerState::Open => {
            let until = to_come(*open_until, now).unwrap_or(now);
            let until = until.checked_add(HEAD_START).unwrap_or(until);
            caller.reopen_breaker(provider, dataset, until, *openings, &format!("another host: {why}"));
        }
        BreakerState::HalfOpen => {
            caller.keep_breaker_open(provider, dataset, now.checked_add(FINDING_OUT).unwrap_or(now));
        }
        BreakerState::Closed => caller.close_breaker(provider, dataset),
    }
}

impl Mine {
    fn stop_mark(&self) -> i64 {
        self.stop_mark.load(Ordering::Relaxed)
    }
}

impl Listener for Sharing {
    fn hear(&self, event: &Event) {
        match event {
            Event::ProviderPaused { provider, pause, why } => {
                self.tell(Told::Paused { provider: provider.clone(), pause: *pause, why: why.clone() });
            }
            Event::ProviderResumed { provider, .. } => self.tell(Told::Resumed { provider: provider.clone() }),
            Event::ApiBlocked { dataset, scope, until: None, why } => {
                let Some(provider) = self.providers.get(dataset) else { return };
                let dataset = (*scope != Scope::Run).then(|| dataset.clone());
                if !lock(&self.of_others).contains(&(dataset.clone(), why.clone())) {
                    self.tell(Told::Stopped { provider: provider.clone(), dataset, why: why.clone() });
                }
            }
            _ => {}
        }
    }
}
