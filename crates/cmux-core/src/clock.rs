//! The clock that cmux lives by: it never goes back.
//!
//! It starts no earlier than the newest thing that is remembered, and from then on advances with the
//! time since boot, sleep included. The wall clock may be set back and forth meanwhile; that is told,
//! and no stored wait grows by it.

use std::time::Duration;

use crate::time::Timestamp;

/// The least jump of the wall clock that is worth telling.
pub const JUMP_MIN: Duration = Duration::from_secs(5);

/// What the machine's two clocks say at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What a watch on the wall would show.
    pub wall: Timestamp,
    /// The time since boot, sleep included. Nobody can set it.
    pub since_boot: Duration,
}

/// The clock of one life of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start: Timestamp,
    last: Timestamp,
    boot_at_start: Duration,
    /// How far the wall clock is from where it was at the start, by the last jump told.
    offset_ms: i64,
    wall_at_start: Timestamp,
}

/// How far the wall clock jumped, in milliseconds: forward is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    pub by_ms: i64,
}

impl Clock {
    /// Starts the clock at `reading`, but no earlier than `newest`, the newest remembered moment.
    pub fn start(newest: Option<Timestamp>, reading: Reading) -> Clock {
        let start = newest.map_or(reading.wall, |newest| newest.max(reading.wall));
        Clock {
            start,
            last: start,
            boot_at_start: reading.since_boot,
            offset_ms: 0,
            wall_at_start: reading.wall,
        }
    }

    /// Returns the time at `reading`, and the jump of the wall clock since the last reading if there
    /// was one.
    pub fn read(&mut self, reading: Reading) -> (Timestamp, Option<Jump>) {
        let elapsed = reading.since_boot.saturating_sub(self.boot_at_start);
        self.last = self.last.max(self.start + elapsed);
        let expected = self.wall_at_start + elapsed;
        let offset_ms = reading.wall.0.saturating_sub(expected.0);
        let by_ms = offset_ms.saturating_sub(self.offset_ms);
        if u128::from(by_ms.unsigned_abs()) < JUMP_MIN.as_millis() {
            return (self.last, None);
        }
        self.offset_ms = offset_ms;
        (self.last, Some(Jump { by_ms }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_starts_no_earlier_than_what_is_remembered() {
        let mut clock = Clock::start(Some(Timestamp(9_000)), reading(1_000, 5));
        assert_eq!(clock.read(reading(1_100, 5)).0, Timestamp(9_000));
        assert_eq!(clock.read(reading(2_000, 6)).0, Timestamp(10_000));
    }

    #[test]
    fn a_jump_of_the_wall_clock_is_told_once_and_changes_nothing() {
        let mut clock = Clock::start(None, reading(100_000, 5));
        let back = clock.read(reading(41_000, 6));
        assert_eq!(back, (Timestamp(101_000), Some(Jump { by_ms: -60_000 })));
        assert_eq!(clock.read(reading(42_000, 7)), (Timestamp(102_000), None));
    }

    #[test]
    fn a_small_drift_is_no_jump() {
        let mut clock = Clock::start(None, reading(100_000, 5));
        assert_eq!(clock.read(reading(105_999, 6)).1, None);
        assert!(clock.read(reading(106_000, 6)).1.is_some());
    }

    proptest! {
        #[test]
        fn it_never_goes_back(walls in prop::collection::vec(0..1_000_000_i64, 1..20)) {
            let mut clock = Clock::start(Some(Timestamp(500_000)), reading(walls[0], 0));
            let mut last = Timestamp(0);
            for (second, wall) in (0..).zip(walls) {
                let (now, _) = clock.read(reading(wall, second));
                prop_assert!(now >= last);
                last = now;
            }
        }
    }

    fn reading(wall_ms: i64, since_boot_s: u64) -> Reading {
        Reading { wall: Timestamp(wall_ms), since_boot: Duration::from_secs(since_boot_s) }
    }
}
