//! Time as a value: it is passed in, never looked up.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment, in milliseconds since 1970. Signed, as SQLite stores it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns how long ago `earlier` was, or zero if it lies ahead.
    pub fn since(self, earlier: Timestamp) -> Duration {
        let span_ms = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(span_ms).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, span: Duration) -> Timestamp {
        let span_ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(span_ms))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;

    fn sub(self, span: Duration) -> Timestamp {
        let span_ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(span_ms))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}
