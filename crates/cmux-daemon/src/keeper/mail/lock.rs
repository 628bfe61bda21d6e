//! The pane's lock, held while something is typed: whoever is about to ask a person waits for it, and for so
//! long only. So it is held for less, and what is typed under it is done by then or not at all.

use std::path::Path;
use std::time::{Duration, SystemTime};

use cmux_drivers::typing_lock::{self, Held};
use tokio::time::Instant;
use tracing::debug;

/// How long it is held in one go, and how long it is left to others then. They look for it more often.
const HELD_FOR: Duration = Duration::from_millis(700);
pub(super) const GAP: Duration = Duration::from_millis(60);

/// When to try again if somebody else has it, or it cannot be had.
pub(super) const BUSY: Duration = Duration::from_millis(100);

/// How much sooner than others give up waiting all that was typed must be done. tmux counts whole seconds.
const MARGIN: Duration = Duration::from_millis(200);

/// A lock that is held.
#[derive(Debug)]
pub(in super::super) struct Lock {
    _held: Held,
    since: Instant,
    until: SystemTime,
}

impl Lock {
    /// Takes the lock, unless somebody has it.
    pub(in super::super) fn take(path: &Path) -> Option<Lock> {
        let (since, now) = (Instant::now(), SystemTime::now());
        match typing_lock::hold(path) {
            Ok(held) => {
                Some(Lock { _held: held, since, until: now + typing_lock::WAIT_MAX - MARGIN })
            }
            Err(error) => {
                debug!(%error, "a pane's lock cannot be had now");
                None
            }
        }
    }

    /// Returns whether it was held for long enough. While what was typed under it is on its way, that is as long as
    /// others wait for it.
    pub(super) fn is_old(&self, is_on_its_way: bool) -> bool {
        let held_for = if is_on_its_way { typing_lock::WAIT_MAX } else { HELD_FOR };
        self.since.elapsed() > held_for
    }

    /// Returns until when what is typed under it may be done.
    pub(super) fn until(&self) -> SystemTime {
        self.until
    }
}
