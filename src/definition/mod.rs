//! Dialects, providers, datasets and region lists: from TOML to values that are valid by construction.

pub mod column;
pub mod dataset;
pub mod dialect;
pub mod envelope;
pub mod path;
pub mod provider;
pub mod rule;
pub mod spelling;
