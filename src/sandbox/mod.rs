//! A practice portal: answers like the ministry's real-transaction services on data.go.kr, over real sockets.
//!
//! It plays scenarios, which say what goes wrong when, and it logs every request, so that a test can judge from the
//! server's side. Rows are a pure function of scenario, service, region, month and index: what the portal would serve
//! if nothing went wrong is known beforehand, as [`Portal::truth`].

mod answer;
mod content;
mod fault;
mod journal;
mod limiter;
mod portal;
mod regions;
mod request;
mod scenario;
mod service;
mod spread;
mod wire;

mod connection;
mod deal;
mod digits;
mod field;
mod flood;
mod page;
mod render;
mod send;
mod sheet;
mod spoil;
mod stage;
mod words;

#[cfg(test)]
mod tests;

pub use answer::{AgencyShape, Answer, PlainText, RetryAfter};
pub use content::{Breakage, Content};
pub use fault::{ConnectionAge, Fault, KeyEcho, OneOrMany, Pages};
pub use journal::{Played, RequestLine};
pub use limiter::{Bucket, Limit, Limiter, WindowKind};
pub use portal::{Portal, PortalError};
pub use request::{KeyForm, KeySeen};
pub use scenario::{Quota, Scenario, ScenarioError, SizeRule};
pub use service::{Service, UnknownService};
pub use sheet::TrueRow;
pub use spread::Spread;
pub use wire::{ChunkCut, Framing, Wire};
