use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many requests of a provider may be in flight. The number can be changed while they are: what is taken away from
/// those in flight goes when they land.
#[derive(Debug)]
pub(super) struct Permits {
    free: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What the limits allow.
    allowed: u32,
    /// What the provider is found to bear.
    borne: u32,
    /// The lower of both.
    most: u32,
    /// Permits out that are not to come back.
    debt: u32,
}

/// Leave to be in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'p> {
    permits: &'p Permits,
    inner: Option<SemaphorePermit<'p>>,
}

impl Permits {
    pub(super) fn new(most: u32) -> Self {
        Self { free: Semaphore::new(most as usize), state: Mutex::new(State { allowed: most, borne: u32::MAX, most, debt: 0 }) }
    }

    /// First come, first served.
    pub(super) async fn acquire(&self) -> Permit<'_> {
        let inner = self.free.acquire().await.expect("permits are never closed");
        Permit { permits: self, inner: Some(inner) }
    }

    pub(super) fn most(&self) -> u32 {
        self.state().most
    }

    /// How many are out, those among them that are not to come back.
    pub(super) fn out(&self) -> u32 {
        let state = self.state();
        let free = u32::try_from(self.free.available_permits()).unwrap_or(u32::MAX);
        (state.most + state.debt).saturating_sub(free)
    }

    /// What the limits allow from now on: at least 1.
    pub(super) fn set_most(&self, most: u32) {
        let mut state = self.state();
        state.allowed = most.max(1);
        self.settle(&mut state);
    }

    /// What the provider is found to bear, at least 1; the limits hold beside it.
    pub(super) fn set_borne(&self, borne: u32) {
        let mut state = self.state();
        state.borne = borne.max(1);
        self.settle(&mut state);
    }

    fn settle(&self, state: &mut State) {
        let most = state.allowed.min(state.borne);
        let before = std::mem::replace(&mut state.most, most);
        let (more, fewer) = (state.most.saturating_sub(before), before.saturating_sub(state.most));
        let forgiven = more.min(state.debt);
        state.debt -= forgiven;
        self.free.add_permits((more - forgiven) as usize);
        let gone = self.free.forget_permits(fewer as usize);
        state.debt += fewer - u32::try_from(gone).expect("no more are gone than asked for");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else { return };
        let mut state = self.permits.state();
        if state.debt > 0 {
            state.debt -= 1;
            inner.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fewer_permits_hold_as_soon_as_those_in_flight_have_landed() {
        let permits = Permits::new(3);
        let [a, b, c] = [permits.acquire().await, permits.acquire().await, permits.acquire().await];
        permits.set_most(1);
        assert_eq!(permits.out(), 3);
        drop((a, b));
        assert_eq!((permits.most(), permits.free.available_permits()), (1, 0), "two went for good");
        assert_eq!(permits.out(), 1);
        drop(c);
        assert_eq!((permits.free.available_permits(), permits.out()), (1, 0));
    }

    #[tokio::test]
    async fn permits_taken_away_and_given_again_are_neither_lost_nor_doubled() {
        let permits = Permits::new(4);
        let out = [permits.acquire().await, permits.acquire().await, permits.acquire().await];
        for most in [1, 6, 2, 5, 0, 3] {
            permits.set_most(most);
        }
        drop(out);
        assert_eq!((permits.most(), permits.free.available_permits()), (3, 3));
        for (allowed, borne, most) in [(8, 5, 5), (4, 5, 4), (4, 2, 2), (8, 9, 8)] {
            permits.set_borne(borne);
            permits.set_most(allowed);
            assert_eq!((permits.most(), permits.free.available_permits()), (most, most as usize), "{allowed} {borne}");
        }
    }
}
