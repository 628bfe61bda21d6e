//! How many files and connections may be open at once, in this process.

use cmux_core::settings::Limits;
use rustix::process::{Resource, getrlimit, setrlimit};
use tracing::warn;

/// Returns how many files this process may have open at once, before it is given more.
pub(crate) fn allowed() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Raises what the process may have open as far as it is allowed to, and returns the limits that fit.
pub(crate) fn make_room(limits: Limits) -> Limits {
    let mut allowed = getrlimit(Resource::Nofile);
    if allowed.current != allowed.maximum {
        allowed.current = allowed.maximum;
        // If it may not be, it is as it was.
        let _ = setrlimit(Resource::Nofile, allowed);
    }
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let fitting = limits.within(most);
    if fitting != limits {
        warn!(
            connections = fitting.connections,
            websockets = fitting.websockets,
            "only {most} files may be open at once (ulimit -n): fewer connections are taken than set"
        );
    }
    fitting
}
