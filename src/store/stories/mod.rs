//! What a store promises, as stories that every backend must pass.

mod audit;
mod backup;
mod breakers;
mod copying;
mod definitions;
mod engines;
mod held;
mod ledger;
pub mod postgres;
mod publishing;
mod quota;
mod recovery;
mod reforms;
mod retention;
pub mod sent;
#[allow(dead_code, reason = "the suite uses the rest")]
pub mod server;
mod strikes;
mod takeover;
mod values;
pub mod world;

/// One test per story and engine.
macro_rules! stories {
    ($($story:ident),+ $(,)?) => {
        super::stories_of_files![$($story),+];

        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    let Some(world) = crate::store::stories::world::World::on_postgres().await else { return };
                    super::$story(world).await;
                }
            )+
        }
    };
}
use stories;

/// One test per story of what only a store that is a file does.
macro_rules! stories_of_files {
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
use stories_of_files;
