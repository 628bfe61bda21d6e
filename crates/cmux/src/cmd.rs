//! The commands, one file each.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod daemon;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod events;
pub(crate) mod hook;
pub(crate) mod inbox;
pub(crate) mod launch;
pub(crate) mod message;
pub(crate) mod open;
pub(crate) mod password;
pub(crate) mod project;
pub(crate) mod reply;
pub(crate) mod report;
pub(crate) mod send;
pub(crate) mod session;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod token;
pub(crate) mod up;
