//! Events become bars, lines, text and JSON.

pub mod exit;
pub mod latency;
pub mod log;
pub mod number;
pub mod output;
pub mod plot;
pub mod progress;
pub mod result;
pub mod summary;
pub mod table;
pub mod tally;
pub mod throughput;
