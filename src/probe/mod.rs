//! Measures limits through the very caller that collects.

pub mod limits;
mod pauses;
mod permits;
mod rates;
mod retries;
mod stand;
mod timeouts;
