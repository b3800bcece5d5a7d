use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::model::event::{Event, Listener};
use crate::model::job::RunId;
use crate::model::name::Name;
use crate::store::Store;
use crate::store::error::StoreError;
use crate::store::state::BreakerChange;

/// Enters what becomes of breakers, and how long an API is to be left alone, into the ledger as soon as it happens: the next
/// run begins with what this one left, and other hosts hear of it.
pub struct BreakerLedger {
    /// By dataset.
    key_ids: HashMap<Name, String>,
    now: fn() -> Timestamp,
    changes: mpsc::UnboundedSender<Entry>,
}

enum Entry {
    Change(BreakerChange),
    Block { dataset: Name, key_id: String, until: Timestamp, why: String },
    NoMore,
}

impl BreakerLedger {
    /// A listener, and the task that writes what it hears until it is closed or the store fails.
    pub fn start(
        store: Arc<Store>,
        run: RunId,
        key_ids: HashMap<Name, String>,
        now: fn() -> Timestamp,
    ) -> (Arc<Self>, JoinHandle<Result<(), StoreError>>) {
        let (changes, mut heard) = mpsc::unbounded_channel();
        let written = tokio::spawn(async move {
            while let Some(entry) = heard.recv().await {
                match entry {
                    Entry::Change(change) => store.record_breaker(run, &change).await?,
                    Entry::Block { dataset, key_id, until, why } => store.block(&dataset, &key_id, until, &why).await?,
                    Entry::NoMore => break,
                }
            }
            Ok(())
        });
        (Arc::new(Self { key_ids, now, changes }), written)
    }

    /// No further change is written.
    pub fn close(&self) {
        // Gone already, it has failed, and its task says how.
        self.changes.send(Entry::NoMore).ok();
    }
}

impl Listener for BreakerLedger {
    fn hear(&self, event: &Event) {
        let (Event::BreakerChanged { dataset, .. } | Event::ApiBlocked { dataset, .. }) = event else { return };
        let Some(key_id) = self.key_ids.get(dataset).cloned() else { return };
        let dataset = dataset.clone();
        let entry = match event {
            Event::BreakerChanged { state, until, openings, why, .. } => Entry::Change(BreakerChange {
                dataset,
                key_id,
                changed_at: (self.now)(),
                state: *state,
                open_until: *until,
                openings: *openings,
                why: why.clone(),
            }),
            Event::ApiBlocked { until: Some(until), why, .. } => {
                Entry::Block { dataset, key_id, until: *until, why: why.clone() }
            }
            _ => return,
        };
        self.changes.send(entry).ok();
    }
}
