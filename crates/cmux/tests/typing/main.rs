//! What is typed at agents, with the real daemon, real tmux and the scripted agent: hostile texts, dialogs that
//! open at any moment, and people at the keyboard.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod dialogs;
mod first;
mod held;
#[expect(dead_code, reason = "other tests ask for more")]
#[path = "../doors/knock.rs"]
mod knock;
mod others;
mod people;
mod scene;
#[expect(dead_code, reason = "other tests look at more")]
#[path = "../keeping/world.rs"]
mod world;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");

/// Returns how much of something is tried: as much as a variable says, or so much if it says nothing.
fn count(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |said| said.parse().unwrap())
}
