//! What the user set and where: from flags, environment and file to values that are valid by construction.

pub mod breaker;
mod combinations;
pub mod error;
pub mod http;
pub mod key;
pub mod layer;
pub mod overrides;
pub mod pace;
mod reader;
pub mod resolved;
pub mod retry;
pub mod saved;
pub mod schema;
pub mod search;
pub mod text;
