use std::sync::Arc;

use tokio::sync::watch;

/// Shut while a request of the provider is on its way out: it leaves when its handshake is done and its head is written, not
/// at its slot.
#[derive(Debug)]
pub(super) struct Gate {
    under_way: Arc<watch::Sender<u32>>,
}

/// Keeps the gate shut while it lives.
#[derive(Debug)]
pub(super) struct Shut {
    under_way: Arc<watch::Sender<u32>>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { under_way: Arc::new(watch::Sender::new(0)) }
    }

    pub(super) fn shut(&self) -> Shut {
        self.under_way.send_modify(|under_way| *under_way += 1);
        Shut { under_way: Arc::clone(&self.under_way) }
    }

    pub(super) async fn open(&self) {
        if *self.under_way.borrow() == 0 {
            return;
        }
        let waited = self.under_way.subscribe().wait_for(|under_way| *under_way == 0).await.map(drop);
        waited.expect("the gate holds the sender");
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        self.under_way.send_modify(|under_way| *under_way -= 1);
    }
}
