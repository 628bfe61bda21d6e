//! Drops raw payloads that have had their time, a little at a time.

use std::time::Duration;

use crate::plan::{Plan, Record};
use crate::time::Timestamp;

/// How many payloads are dropped in one turn. Each may be large.
pub const PRUNE_MAX: u32 = 50;

/// How long one is left that has had its time, so that a day's go at once.
const LAG: Duration = Duration::from_hours(24);

/// What the plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// When the payload that was not in use for the longest was last kept.
    pub oldest: Option<Timestamp>,
    pub keep: Duration,
}

/// Returns what is due at `now`.
pub fn plan(world: World, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    plan.clear(world.oldest, world.keep, LAG, now, |before| Record::PayloadsPruned { before });
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const NOW: Timestamp = Timestamp(100 * HOUR);

    #[test]
    fn payloads_go_once_a_day_and_until_none_is_left_that_has_had_its_time() {
        check(None, None, None);
        check(Some(NOW), None, Some(Timestamp(134 * HOUR)));
        check(Some(Timestamp(66 * HOUR + 1)), None, Some(Timestamp(100 * HOUR + 1)));
        check(Some(Timestamp(66 * HOUR)), Some(Timestamp(90 * HOUR)), Some(NOW));
    }

    /// Checks before when payloads must be from to go, if they are kept for ten hours.
    #[track_caller]
    fn check(oldest: Option<Timestamp>, before: Option<Timestamp>, wake_at: Option<Timestamp>) {
        let plan = plan(World { oldest, keep: Duration::from_hours(10) }, NOW);
        let record = before.map(|before| Record::PayloadsPruned { before });
        assert_eq!(plan.steps.first().and_then(|step| step.record.clone()), record);
        assert_eq!((plan.steps.len(), plan.wake_at), (usize::from(before.is_some()), wake_at));
    }
}
