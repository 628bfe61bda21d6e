//! Hooks, from the command that a CLI calls to the log: each is stored once, whatever is killed between.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad;
mod claims;
mod phases;
mod secrets;
mod spooled;
mod stored;
mod yard;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
