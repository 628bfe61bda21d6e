//! The scripted agent in a real tmux pane: what is typed and pasted at it, what it takes, and every way in
//! which it goes wrong on request.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod composer;
mod door;
mod faults;
mod hooks;
mod manifest;
mod pane;
mod screens;
mod turns;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
