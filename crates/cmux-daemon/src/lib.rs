//! The house: one loop that hears, remembers, plans and acts, and the doors to it.

pub mod boot;
mod feed;
mod hands;
mod hear;
mod heartbeat;
mod http;
pub mod inbox;
pub mod kernel;
mod names;
pub mod offline;
mod readers;
pub mod room;
mod serve;
