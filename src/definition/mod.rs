//! Dialects, providers, datasets and region lists: from TOML to values that are valid by construction.

mod builtin;
pub mod catalog;
pub mod check;
pub mod column;
pub mod dataset;
pub mod dialect;
pub mod envelope;
pub mod error;
pub mod path;
pub mod provider;
pub mod reform;
pub mod region;
pub mod reserved;
pub mod rule;
pub mod spelling;
pub mod template;
