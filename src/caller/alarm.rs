use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

/// One thread that wakes tasks at exact times. It ends when the alarm is dropped.
///
/// The runtime's own timer counts whole milliseconds, and rounds up: at 200 requests a second that alone costs a tenth
/// of the rate.
pub(super) struct Alarm {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    bells: BinaryHeap<Reverse<Bell>>,
    is_closed: bool,
}

struct Bell {
    at: Instant,
    sleeper: oneshot::Sender<()>,
}

impl Alarm {
    pub(super) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let ringing = Arc::clone(&shared);
        thread::Builder::new().name("alarm".to_owned()).spawn(move || ringing.ring())?;
        Ok(Self { shared })
    }

    pub(super) async fn wake_at(&self, at: Instant) {
        let (sleeper, woken) = oneshot::channel();
        {
            let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = queue.bells.peek().is_none_or(|Reverse(first)| at < first.at);
            queue.bells.push(Reverse(Bell { at, sleeper }));
            if is_first {
                self.shared.changed.notify_one();
            }
        }
        // The thread lets a sleeper go without a word only when the alarm itself is gone, and we hold the alarm.
        let _ = woken.await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn ring(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while !queue.is_closed {
            let now = Instant::now();
            queue = match queue.bells.peek() {
                None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(Reverse(first)) if first.at > now => {
                    let wait = first.at - now;
                    self.changed.wait_timeout(queue, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    if let Some(Reverse(bell)) = queue.bells.pop() {
                        // A sleeper that was cancelled hears nothing.
                        let _ = bell.sleeper.send(());
                    }
                    queue
                }
            };
        }
    }
}

impl Ord for Bell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Bell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bell {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Bell {}
