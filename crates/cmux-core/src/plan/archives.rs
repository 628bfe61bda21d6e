//! Takes what is archived out of the store, a little at a time.

use crate::archive::TRIM_MAX;
use crate::id::EventId;
use crate::plan::{Plan, Record, Step};
use crate::time::Timestamp;

/// What the plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// The newest event that is archived.
    pub archived: Option<EventId>,
    /// The oldest event that is in the store.
    pub oldest: Option<EventId>,
}

/// Returns what is due at `now`.
pub fn plan(world: World, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let (Some(archived), Some(oldest)) = (world.archived, world.oldest) else { return plan };
    if oldest > archived {
        return plan;
    }
    let through = EventId(oldest.0.saturating_add(TRIM_MAX - 1).min(archived.0));
    let record = Some(Record::LogTrimmed { through });
    plan.steps.push(Step { record, ..Step::default() });
    if through < archived {
        plan.wake(now);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(7);

    #[test]
    fn what_is_archived_goes_in_small_parts() {
        check(None, Some(1), None, false);
        check(Some(9), None, None, false);
        check(Some(9), Some(10), None, false);
        check(Some(9), Some(1), Some(9), false);
        check(Some(20_000), Some(1), Some(TRIM_MAX), true);
        check(Some(20_000), Some(15_001), Some(20_000), false);
    }

    #[track_caller]
    fn check(archived: Option<i64>, oldest: Option<i64>, through: Option<i64>, again: bool) {
        let world = World { archived: archived.map(EventId), oldest: oldest.map(EventId) };
        let plan = plan(world, NOW);
        let record = through.map(|id| Record::LogTrimmed { through: EventId(id) });
        assert_eq!(plan.steps.first().and_then(|step| step.record.clone()), record);
        assert_eq!(plan.wake_at, again.then_some(NOW));
    }
}
