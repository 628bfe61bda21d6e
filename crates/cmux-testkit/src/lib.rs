//! A world that misbehaves on request, for tests: homes of their own, daemons that can be killed, and
//! waiting for what should be so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod daemon;
pub mod home;
pub mod wait;
