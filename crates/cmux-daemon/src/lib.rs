//! The house: one loop that hears, remembers, plans and acts, and the doors to it.

pub mod boot;
pub mod commits;
mod descriptors;
mod feed;
mod finding;
mod hands;
mod hear;
mod heartbeat;
mod http;
pub mod inbox;
mod keeper;
pub mod kernel;
mod moments;
mod names;
pub mod offline;
mod ranks;
mod readers;
mod refusals;
pub mod room;
mod serve;
mod shelf;
mod spool;
mod steady;
mod tally;
mod tenure;
mod turnstile;
mod who;
