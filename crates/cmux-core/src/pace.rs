//! How fast something may be done: so often at once, and so often a minute in the long run.

use std::time::Duration;

use crate::time::Timestamp;

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub per_min: u64,
    /// How many may come at once, after a pause.
    pub burst: u32,
}

/// What one request counts.
const ONE: u64 = 60_000;

impl Pace {
    /// Returns the pace of so many a second.
    pub fn per_s(per_s: u32, burst: u32) -> Pace {
        Pace { per_min: u64::from(per_s) * 60, burst }
    }
}

/// How much of it somebody has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// In parts of a request, so that a millisecond at one a minute is one of them.
    level: u64,
    at: Timestamp,
}

impl Used {
    /// Somebody who has not asked yet.
    pub fn nothing(now: Timestamp) -> Used {
        Used { level: 0, at: now }
    }

    /// Counts one more request, or returns how long to wait before the next is taken.
    pub fn another(&mut self, pace: Pace, now: Timestamp) -> Result<(), Duration> {
        self.others(1, pace, now)
    }

    /// Counts so many more at once, or returns how long to wait before they are taken.
    pub fn others(&mut self, count: u32, pace: Pace, now: Timestamp) -> Result<(), Duration> {
        self.drain(pace, now);
        let (most, more) = (u64::from(pace.burst) * ONE, u64::from(count) * ONE);
        if self.level + more > most {
            let surplus = self.level + more - most;
            return Err(Duration::from_millis(surplus.div_ceil(pace.per_min.max(1))));
        }
        self.level += more;
        Ok(())
    }

    /// Takes back so many that were counted, and came to nothing.
    pub fn take_back(&mut self, count: u32) {
        self.level = self.level.saturating_sub(u64::from(count) * ONE);
    }

    /// Returns whether it is as if they had never asked.
    pub fn is_over(&self, pace: Pace, now: Timestamp) -> bool {
        let mut later = *self;
        later.drain(pace, now);
        later.level == 0
    }

    fn drain(&mut self, pace: Pace, now: Timestamp) {
        let passed_ms = u64::try_from(now.since(self.at).as_millis()).unwrap_or(u64::MAX);
        self.level = self.level.saturating_sub(passed_ms.saturating_mul(pace.per_min));
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PACE: Pace = Pace { per_min: 600, burst: 3 };

    #[test]
    fn a_burst_is_taken_and_then_one_at_a_time() {
        let mut used = Used::nothing(Timestamp(0));
        for _ in 0..3 {
            assert_eq!(used.another(PACE, Timestamp(0)), Ok(()));
        }
        assert_eq!(used.another(PACE, Timestamp(0)), Err(Duration::from_millis(100)));
        assert_eq!(used.another(PACE, Timestamp(99)), Err(Duration::from_millis(1)));
        assert_eq!(used.another(PACE, Timestamp(100)), Ok(()));
        assert!(!used.is_over(PACE, Timestamp(399)));
        assert!(used.is_over(PACE, Timestamp(400)));
    }

    #[test]
    fn many_at_once_count_as_many_by_themselves() {
        let mut used = Used::nothing(Timestamp(0));
        assert_eq!(used.others(2, PACE, Timestamp(0)), Ok(()));
        assert_eq!(used.others(2, PACE, Timestamp(0)), Err(Duration::from_millis(100)));
        assert_eq!(used.others(1, PACE, Timestamp(0)), Ok(()));
        assert_eq!(used.others(3, PACE, Timestamp(299)), Err(Duration::from_millis(1)));
        assert_eq!(used.others(3, PACE, Timestamp(300)), Ok(()));
    }

    #[test]
    fn what_came_to_nothing_does_not_count() {
        let mut used = Used::nothing(Timestamp(0));
        assert_eq!(used.others(3, PACE, Timestamp(0)), Ok(()));
        used.take_back(2);
        assert_eq!(used.others(2, PACE, Timestamp(0)), Ok(()));
        assert!(used.another(PACE, Timestamp(0)).is_err());
        used.take_back(9);
        assert!(used.is_over(PACE, Timestamp(0)));
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing_away() {
        let mut used = Used::nothing(Timestamp(1000));
        for _ in 0..3 {
            used.another(PACE, Timestamp(1000)).unwrap();
        }
        assert!(used.another(PACE, Timestamp(0)).is_err());
        assert!(used.another(PACE, Timestamp(1000)).is_err());
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_pace_together(gaps in prop::collection::vec(0_i64..500, 1..200)) {
            let mut used = Used::nothing(Timestamp(0));
            let (mut now, mut taken) = (0, 0_i64);
            for gap in gaps {
                now += gap;
                taken += i64::from(used.another(PACE, Timestamp(now)).is_ok());
                prop_assert!(taken <= 3 + now * 10 / 1000);
            }
        }

        #[test]
        fn whoever_waits_as_long_as_told_is_taken(at in 0_i64..10_000, per_s in 1_u32..5000) {
            let pace = Pace::per_s(per_s, 2);
            let mut used = Used::nothing(Timestamp(at));
            let now = Timestamp(at);
            while used.another(pace, now).is_ok() {}
            let wait = used.another(pace, now).unwrap_err();
            prop_assert!(used.another(pace, now + wait).is_ok());
        }
    }
}
