use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::model::outcome::Outcome;
use crate::model::verdict::Verdict;
use crate::store::stories::world::{World, apartments_page, attempt, partition_of};

const SEOUL: &str = "11110,2024-01";
const BUSAN: &str = "26110,2024-01";

/// Moves on with every question, so that each transaction has an instant of its own.
fn now() -> Timestamp {
    static SECONDS: AtomicI64 = AtomicI64::new(1_800_000_000);
    Timestamp::from_second(SECONDS.fetch_add(1, Ordering::SeqCst)).unwrap()
}

#[derive(Default)]
struct Ears(Mutex<Vec<u64>>);

impl Listener for Ears {
    fn hear(&self, event: &Event) {
        if let Event::PageStored { rows, .. } = event {
            self.0.lock().unwrap().push(*rows);
        }
    }
}

/// What a writer makes of orders that wait for it together.
struct Written {
    result: Result<(), StoreError>,
    /// Rows of the pages it told of.
    heard: Vec<u64>,
}

async fn written(world: &World, orders: Vec<Order>) -> Written {
    let (run, store, ears) = (world.run, Arc::new(world.neighbour().await), Arc::new(Ears::default()));
    let (desk, inbox) = mpsc::channel(orders.len());
    for order in orders {
        assert!(desk.try_send(order).is_ok(), "the queue has room for all");
    }
    drop(desk);
    let keeping = Keeping { superseded: Superseded::Removed, bodies: true };
    let scribe = Scribe { store, run, keeping, now, listener: ears.clone() };
    let result = scribe.work(inbox).await;
    let heard = ears.0.lock().unwrap().clone();
    Written { result, heard }
}

fn page(job: &Job, number: u32, apartments: &[&str]) -> Order {
    let order = PageOrder {
        job: job.clone(),
        read: ReadNumber::FIRST,
        number: PageNumber(number),
        page: apartments_page(apartments),
        body: KeptBody::of(b"a body"),
        attempts: vec![attempt(job, 1, number, 1, Outcome::Page)],
    };
    let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    Order::Write(Write::Page(Box::new(order), room))
}

fn end(job: &Job, received: u64, reply: oneshot::Sender<Ended>) -> Order {
    let promised = Some(received);
    let (promised_first, promised_last, distinct) = (promised, promised, received);
    let ending = Ending { verdict: Verdict::Complete, cause: None, promised_first, promised_last, received, distinct };
    let day = jiff::civil::date(2026, 11, 29);
    let end = EndOrder { job: job.clone(), read: ReadNumber::FIRST, ending, why: None, store_wait: Duration::ZERO, day };
    Order::Write(Write::End { end: Box::new(end), reply })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_of_any_kind_that_wait_together_are_one_transaction() {
    let mut world = World::on_sqlite().await;
    let job = world.start(SEOUL).await;
    let (start_reply, started) = oneshot::channel();
    let (end_reply, ended) = oneshot::channel();
    let start = Write::Start {
        declared: world.declared.clone(),
        partition: partition_of(BUSAN),
        planned: Planned::Anyhow,
        reply: start_reply,
    };
    let orders = vec![page(&job, 1, &["a", "b"]), Order::Write(start), page(&job, 2, &["c"]), end(&job, 3, end_reply)];

    let written = written(&world, orders).await;
    written.result.unwrap();
    assert_eq!(written.heard, [2, 1]);
    assert!(started.await.unwrap().started().unwrap().job.id() > job.id());
    assert_eq!(ended.await.unwrap().verdict, Verdict::Complete);
    let instants = "select count(distinct at) from (select stored_at as at from page
        union all select started_at from job where state = 'running' union all select ended_at from job where state = 'ended')";
    world.assert_select(instants, &["1"]).await;
    world.assert_select("select apt from apt_trade order by apt", &["a", "b", "c"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_of_what_is_not_on_the_disk() {
    let mut world = World::on_sqlite().await;
    let job = world.start(SEOUL).await;
    let (reply, ended) = oneshot::channel();
    // The page after the end is refused, and all that waited with it is not stored.
    let orders = vec![page(&job, 1, &["a"]), end(&job, 1, reply), page(&job, 2, &["too late"])];

    let written = written(&world, orders).await;
    assert!(matches!(written.result, Err(StoreError::JobOver { .. })), "{:?}", written.result);
    assert!(ended.await.is_err());
    assert_eq!(written.heard, [0_u64; 0]);
    world.assert_select("select state from job", &["running"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_after_what_was_handed_in_before_it() {
    let mut world = World::on_sqlite().await;
    let job = world.start(SEOUL).await;
    let (end_reply, _ended) = oneshot::channel();
    let (reply, published) = oneshot::channel();
    let question = Order::Errand(Errand::Published { job: job.clone(), reply });
    let orders = vec![page(&job, 1, &["a", "b"]), end(&job, 2, end_reply), question];

    written(&world, orders).await.result.unwrap();
    assert_eq!(published.await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_waits_for_room_and_nothing_else_does() {
    let mut world = World::on_sqlite().await;
    let job = world.start(SEOUL).await;
    let (orders, mut inbox) = mpsc::channel(MOST_AT_ONCE);
    let desk = Desk { orders, room: Arc::new(Semaphore::new(1)), waited: Arc::default() };
    let order = |number| match page(&job, number, &["a"]) {
        Order::Write(Write::Page(order, _)) => *order,
        _ => unreachable!("it is a page"),
    };
    desk.page(order(1)).await.unwrap();
    let mut second = Box::pin(desk.page(order(2)));
    tokio::select! {
        biased;
        _ = &mut second => panic!("there was no room"),
        read = desk.open_read(job.clone(), ReadNumber::FIRST) => read.unwrap(),
    }
    // It is stored, or given up: either way there is room again.
    drop(inbox.recv().await);
    second.await.unwrap();
}
