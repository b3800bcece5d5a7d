//! The one integration test binary: the real program against the practice portal, and the rules of the house.

mod memory;
mod readme;
#[allow(dead_code, reason = "the stories of the store use the rest")]
#[path = "../../src/store/stories/server.rs"]
mod server;
mod tidy;
mod together;

mod soundness;
mod truth;
mod world;

mod abreast;
mod answers;
mod auto;
mod breaker;
mod chance;
mod commands;
mod exits;
mod faults;
mod guards;
mod hosts;
mod keys;
mod kills;
mod limiter;
mod limiters;
mod limits;
mod nights;
mod outputs;
mod pooled;
mod postgres;
mod probes;
mod quotas;
mod restarts;
mod sharing;
mod signals;
mod spacing;
mod storm;
mod stranger;
mod sweep;
mod tls;
