//! A world that misbehaves on request, for tests: homes of their own, daemons that can be killed, disks
//! that fill up, models with a script, and waiting for what should be so. And an agent that does as its
//! script says, which a release has, too: there it is the `demo` kind.

#![cfg_attr(feature = "kit", expect(clippy::unwrap_used, reason = "a test fails by panicking"))]

#[cfg(feature = "kit")]
pub mod daemon;
#[cfg(feature = "demo")]
pub mod demo;
#[cfg(feature = "kit")]
pub mod dice;
#[cfg(feature = "kit")]
pub mod disk;
#[cfg(feature = "kit")]
pub mod home;
#[cfg(feature = "kit")]
pub mod hostile;
#[cfg(feature = "kit")]
pub mod model;
#[cfg(feature = "kit")]
pub mod person;
#[cfg(feature = "kit")]
pub mod platter;
#[cfg(feature = "kit")]
pub mod store;
#[cfg(feature = "kit")]
pub mod trace;
#[cfg(feature = "kit")]
pub mod wait;
