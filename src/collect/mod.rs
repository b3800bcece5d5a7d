//! The conductor: workers walk pages, one writer stores them, events tell the world.

mod ahead;
pub mod conductor;
pub mod harvest;
mod judge;
pub mod source;
mod worker;
pub mod writer;
