//! The doors, attacked from the front: whoever may not is turned away, what makes no sense is refused, and
//! neither leaves anything behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod agents;
mod bodies;
mod crowds;
mod dashboard;
mod deliveries;
mod forbidden;
mod heads;
mod health;
mod house;
mod knock;
mod links;
mod mail;
mod projects;
mod remote;
mod roles;
mod tenure;
mod trust;
mod vitals;

/// The real program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cmux");
