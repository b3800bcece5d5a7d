//! How the ledger spells values.

use jiff::Timestamp;

/// RFC 3339 in UTC with milliseconds: sorts as text.
pub fn instant(timestamp: Timestamp) -> String {
    format!("{timestamp:.3}")
}
