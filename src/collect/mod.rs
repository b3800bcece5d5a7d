//! The conductor: workers walk pages, one writer stores them, events tell the world.

mod ahead;
pub mod breakers;
mod calls;
pub mod conductor;
mod gathering;
pub mod harvest;
mod judge;
mod left;
mod panic;
mod queue;
pub mod ration;
pub mod recheck;
pub mod replay;
pub mod sharing;
pub mod source;
mod worker;
pub mod writer;
