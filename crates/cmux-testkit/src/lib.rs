//! A world that misbehaves on request, for tests: homes of their own, daemons that can be killed, disks
//! that fill up, and waiting for what should be so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod daemon;
pub mod dice;
pub mod disk;
pub mod home;
pub mod platter;
pub mod store;
pub mod trace;
pub mod wait;
