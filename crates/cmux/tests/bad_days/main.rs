//! Bad days: full disks, taken ports, damaged files, wrong clocks, through the real program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caller;
mod clock;
mod config;
mod damage;
mod disk;
mod doors;
mod files;
mod flips;
mod future;
mod home;
mod stopped;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
