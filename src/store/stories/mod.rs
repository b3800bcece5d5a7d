//! What a store promises, as stories that every backend must pass.

mod audit;
mod backup;
mod breakers;
mod definitions;
mod held;
mod ledger;
mod publishing;
mod quota;
mod recovery;
mod reforms;
mod retention;
mod strikes;
mod takeover;
mod values;
pub mod world;

/// One test per story and backend. A second backend is a second module here.
macro_rules! stories {
    ($($story:ident),+ $(,)?) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    super::$story(crate::store::stories::world::World::on_sqlite().await).await;
                }
            )+
        }
    };
}
use stories;
