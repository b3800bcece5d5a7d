//! Measures limits through the very caller that collects.

mod breakers;
pub mod limits;
mod pauses;
mod permits;
mod rates;
mod rests;
mod retries;
mod stand;
#[cfg(test)]
mod tests;
pub mod throughput;
mod timeouts;
