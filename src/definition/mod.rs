//! Dialects, providers, datasets and region lists: from TOML to values that are valid by construction.

pub mod column;
pub mod dataset;
pub mod provider;
