//! Agents kept alive, with the real daemon, real tmux and the scripted agent.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adopted;
mod chaos;
mod conversations;
mod crowds;
mod deaths;
mod launches;
mod lost;
mod made_up;
mod numbers;
mod terminals;
mod used;
mod world;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
