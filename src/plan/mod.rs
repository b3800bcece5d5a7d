//! Which partitions are due, in which order, and what they will cost. Values in, values out.

pub mod barren;
pub mod condition;
pub mod cost;
pub mod night;
pub mod selection;
pub mod span;
pub mod target;
