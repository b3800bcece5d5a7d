//! The ledger and the rows: what was asked, what came, what is published.

pub mod url;
pub mod value;
