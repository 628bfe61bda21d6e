//! The real agent CLIs, run by the real program in real tmux, with a model that has a script.
//!
//! `scripts/agents` installs the CLIs. One that is not there fails its tests: they are never left out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claude;
mod codex;
mod gemini;
mod hermes;
#[path = "../mail/kills.rs"]
mod kills;
mod opencode;
#[path = "../mail/post.rs"]
#[expect(dead_code, reason = "another test looks at more of it")]
mod post;
mod proof;
mod record;
mod stage;
mod story;
#[path = "../keeping/world.rs"]
#[expect(dead_code, reason = "another test looks at more of it")]
mod world;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
