use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many workers may walk at once.
#[derive(Clone, Debug)]
pub struct Places {
    free: Arc<Semaphore>,
}

/// A worker's place. Cheap to clone: the calls of one walk share it.
///
/// A place is given up while *all* calls of its walk sit in long waits, so that another worker can use it.
#[derive(Clone)]
pub struct Place {
    places: Places,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    permit: Option<OwnedSemaphorePermit>,
    calls: u32,
    /// Calls of those that sit in a long wait.
    outside: u32,
}

/// A call of the walk, for as long as it lives.
#[derive(Debug)]
pub(super) struct Seat {
    place: Option<Place>,
    is_outside: bool,
}

impl Places {
    pub fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))) }
    }

    /// Waits for a place, first come, first served.
    pub async fn take(&self) -> Place {
        let state = State { permit: Some(self.permit().await), calls: 0, outside: 0 };
        Place { places: self.clone(), state: Arc::new(Mutex::new(state)) }
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.free).acquire_owned().await.expect("places are never closed")
    }
}

impl Place {
    /// Whether a worker sits here at this moment.
    pub fn is_taken(&self) -> bool {
        self.state().permit.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    pub(super) fn new(place: Option<Place>) -> Self {
        if let Some(place) = &place {
            place.state().calls += 1;
        }
        Self { place, is_outside: false }
    }

    pub(super) fn leave(&mut self) {
        let Some(place) = &self.place else { return };
        let mut state = place.state();
        if !std::mem::replace(&mut self.is_outside, true) {
            state.outside += 1;
        }
        state.free_if_idle();
    }

    /// Comes back from a long wait; waits again where the place was given to another.
    pub(super) async fn enter(&mut self) {
        let Some(place) = &self.place else { return };
        if !self.is_outside {
            return;
        }
        if place.state().permit.is_none() {
            let permit = place.places.permit().await;
            // Another call of the walk may have come back first: then this permit goes back by itself.
            place.state().permit.get_or_insert(permit);
        }
        place.state().outside -= 1;
        self.is_outside = false;
    }
}

impl State {
    fn free_if_idle(&mut self) {
        if self.calls > 0 && self.outside == self.calls {
            self.permit = None;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(place) = &self.place else { return };
        let mut state = place.state();
        state.calls -= 1;
        if self.is_outside {
            state.outside -= 1;
        }
        state.free_if_idle();
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place(taken: {})", self.is_taken())
    }
}
