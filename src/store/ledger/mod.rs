//! The rules of the ledger and the rows, written once for every engine: functions on an open transaction.

pub mod audit;
pub mod batch;
pub mod breakers;
pub mod carry;
pub mod carry_tables;
pub mod content;
pub mod held;
pub mod history;
pub mod jobs;
pub mod latency;
pub mod pages;
mod publish;
pub mod quota;
pub mod reforms;
pub mod regions;
pub mod retention;
pub mod settle;
mod spelling;
pub mod states;
pub mod tables;
pub mod takeover;
pub mod values;
