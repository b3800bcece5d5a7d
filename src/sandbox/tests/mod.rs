mod client;

mod answers;
mod contents;
mod limits;
mod log;
mod rows;
mod scenarios;
mod wires;
