//! The contract: what is said between cmux and its clients, and nothing of how it is thought.

pub mod client;
pub mod daemon;
pub mod event;
pub mod health;
pub mod problem;
pub mod project;
pub mod store;
pub mod stream;
pub mod time;
