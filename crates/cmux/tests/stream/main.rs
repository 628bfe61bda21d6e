//! The log over a WebSocket, told by a real daemon: everybody hears all of it, in order and once, whoever
//! sleeps, comes late or is cut off.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cut_off;
mod fan_out;
mod history;
mod listener;
mod writer;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
