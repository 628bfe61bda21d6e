//! The contract: what is said between cmux and its clients, and nothing of how it is thought.

pub mod agent;
pub mod client;
pub mod conversation;
pub mod daemon;
pub mod event;
pub mod health;
pub mod hook;
pub mod kind;
pub mod link;
pub mod message;
pub mod problem;
pub mod project;
pub mod schema;
pub mod session;
mod shapes;
pub mod store;
pub mod stream;
pub mod terminal;
pub mod time;
pub mod token;
pub mod trust;
pub mod turn;
#[cfg(feature = "typescript")]
pub mod typescript;
pub mod usage;
pub mod vitals;
pub mod webhook;
pub mod who;
mod whole;
pub mod why;
