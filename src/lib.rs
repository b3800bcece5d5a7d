//! gapless collects paged public-data APIs without silent gaps.
//!
//! After a run every partition is whole in the database, or named as missing with the reason. ARCHITECTURE.md says where
//! each rule lives; the modules below are its layers, lowest first.

#![warn(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

pub mod model;

pub mod definition;
pub mod sandbox;
pub mod settings;

pub mod decode;
pub mod plan;
pub mod reconcile;

pub mod caller;
pub mod store;

pub mod collect;
pub mod probe;

pub mod report;

pub mod cli;
