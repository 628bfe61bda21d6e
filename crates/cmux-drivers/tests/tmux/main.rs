//! What the tmux driver promises, asked of real servers: one program, one file for each thing asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cut_off;
mod flood;
mod glanced;
mod guarded;
mod guide;
mod lent;
mod many;
mod secrets;
mod servers;
mod visited;
mod watched;
mod words;
mod world;
