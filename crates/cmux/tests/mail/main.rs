//! Messages that arrive, whatever is killed: with the real daemon, real tmux, and an agent that notes what it
//! was asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cleared;
mod deaths;
mod door;
mod full;
mod kills;
mod names;
mod people;
mod post;
mod queues;
mod restored;
mod stalls;
mod steps;
mod storm;
mod unanswered;
#[path = "../keeping/world.rs"]
#[expect(dead_code, reason = "another test looks at more of it")]
mod world;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
