//! Waiting for a level, not for an edge.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Generous: machines are noisy and shared.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `look` finds something, and returns it.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it never came to be: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
