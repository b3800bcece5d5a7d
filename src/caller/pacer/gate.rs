use tokio::sync::watch;

/// Shut while a handshake of the provider is under way: its request leaves when it ends, not at its slot.
#[derive(Debug)]
pub(super) struct Gate {
    handshakes: watch::Sender<u32>,
}

/// Keeps the gate shut while it lives.
#[derive(Debug)]
pub(super) struct Shut<'g> {
    gate: &'g Gate,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { handshakes: watch::Sender::new(0) }
    }

    pub(super) fn shut(&self) -> Shut<'_> {
        self.handshakes.send_modify(|under_way| *under_way += 1);
        Shut { gate: self }
    }

    pub(super) async fn open(&self) {
        if *self.handshakes.borrow() == 0 {
            return;
        }
        let waited = self.handshakes.subscribe().wait_for(|under_way| *under_way == 0).await.map(drop);
        waited.expect("the gate holds the sender");
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.gate.handshakes.send_modify(|under_way| *under_way -= 1);
    }
}
