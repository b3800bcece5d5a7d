use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Slots that others have all of, and canaries that they let go or not.
#[derive(Default)]
struct AllTaken {
    grants_canaries: AtomicBool,
}

impl Slots for AllTaken {
    fn reserve<'a>(&'a self, _: Wish) -> Pin<Box<dyn Future<Output = Batch> + Send + 'a>> {
        Box::pin(std::future::pending())
    }

    fn grants_canary<'a>(&'a self, _: &'a Name) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(std::future::ready(self.grants_canaries.load(Ordering::Relaxed)))
    }
}

fn world(slots: &Arc<AllTaken>) -> World {
    let settings = CallerSettings {
        providers: vec![limits(2, 40.0)],
        http: HttpSettings::default(),
        retry: retry_settings(),
        breakers: Breakers::none(),
        max_calls: None,
        max_runtime: None,
    };
    World::sharing(settings, Some(Arc::clone(slots) as Arc<dyn Slots>), |_| Reply::Status(200))
}

/// Requests and calls that hold a permit.
fn out(world: &World) -> u32 {
    world.caller.share(&provider(), Others { count: 1, slowest: Duration::ZERO }, 2)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_without_a_slot() {
    let world = world(&Arc::default());
    let _calls = world.fetch_many(3);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((world.sends().len(), out(&world)), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_slot_give_their_permits_back_in_the_dark_and_one_becomes_the_canary() {
    let slots: Arc<AllTaken> = Arc::default();
    let world = world(&slots);
    let _calls = world.fetch_many(3);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(out(&world), 2);
    assert!(world.caller.pause_as_elsewhere(&provider(), Duration::from_secs(2), "too fast"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(out(&world), 0);
    // The pause is over, and the canary of another host is out.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(out(&world), 0);
    slots.grants_canaries.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(out(&world), 1, "one of ours waits for a slot now, alone");
    world.caller.resume_as_elsewhere(&provider());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(out(&world), 2);
}
