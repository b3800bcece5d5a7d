//! Pure values, one noun a file. Nothing here reads a clock, a file or the network.

pub mod attempt;
pub mod body;
pub mod breaker;
pub mod event;
pub mod job;
pub mod month;
pub mod name;
pub mod outcome;
pub mod page;
pub mod partition;
pub mod password;
pub mod rate;
pub mod record;
pub mod secret;
pub mod tree;
pub mod verdict;
