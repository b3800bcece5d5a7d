//! Bytes → what kind of body this really is → one neutral tree → an answer, by dialect.
//!
//! Only a recognised success envelope makes a page. Everything else is a trouble a rule of the dialect names, a body that
//! was cut, or garbled: never "0 rows".

mod answer;
mod body;
mod charset;
mod envelope;
mod excerpt;
mod json;
mod judge;
mod place;
mod records;
mod row_hash;
mod span;
mod total;
mod xml;
mod xml_text;

#[cfg(test)]
mod tests;

pub use answer::{RawAnswer, Reading};
pub use judge::judge;
