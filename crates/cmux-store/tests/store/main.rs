//! What the store promises, asked of it from outside: one program, one file for each thing asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod archive;
mod backup;
mod chain;
mod doors;
mod flips;
mod hooks;
mod log;
mod mail;
mod nouns;
mod repair;
mod search;
mod trust;
mod usage;
mod versions;
mod wal;
mod world;
