//! What cmux decides, without doing any of it.
//!
//! Nothing here reads a clock, rolls a die, opens a file or waits. Every function takes what it needs
//! and returns what should follow, so that every rule can be tested as a table.

pub mod agent;
pub mod archive;
pub mod clock;
pub mod delivery;
pub mod descent;
pub mod digest;
pub mod disk;
pub mod doctor;
pub mod event;
pub mod guard;
pub mod hook;
pub mod id;
pub mod kind;
pub mod limit;
pub mod look;
pub mod mail;
pub mod message;
pub mod nearest;
pub mod notice;
pub mod pace;
pub mod phase;
pub mod plan;
pub mod price;
pub mod principal;
pub mod project;
pub mod repair;
pub mod report;
pub mod restart;
pub mod role;
pub mod run;
pub mod screen;
pub mod session;
pub mod settings;
pub mod setup;
pub mod signature;
pub mod snapshot;
pub mod time;
pub mod token;
pub mod trust;
pub mod turn;
pub mod usage;
pub mod visit;
pub mod webhook;
pub mod witness;
