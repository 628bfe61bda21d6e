//! Keeps a copy of the store that is no older than a day.

use std::time::Duration;

use crate::event::{Event, What};
use crate::id::{NewIds, SnapshotId};
use crate::plan::{Action, Plan, Record, Step};
use crate::snapshot::{COPY_WITHIN, RETRY_AFTER, Snapshot, SnapshotKind, SnapshotState};
use crate::time::Timestamp;

/// What the plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The newest daily copy, made or not.
    pub last: Option<&'a Snapshot>,
    /// When the store began: a new one is not worth a copy yet.
    pub store_since: Timestamp,
    pub every: Duration,
}

/// Returns what is due at `now`.
pub fn plan(world: World<'_>, now: Timestamp, ids: &mut dyn NewIds) -> Plan {
    let mut plan = Plan::default();
    let due = match world.last.map(|last| &last.state) {
        None => world.store_since + world.every,
        Some(SnapshotState::Taken { at, .. }) => *at + world.every,
        Some(SnapshotState::Failed { at, .. }) => *at + world.every.min(RETRY_AFTER),
        Some(SnapshotState::Underway { deadline }) => *deadline,
    };
    if now < due {
        plan.wake(due);
        return plan;
    }
    if let Some(lost) = world.last.filter(|last| is_underway(last)) {
        plan.steps.push(lose(lost, now));
    }
    plan.steps.push(take(SnapshotId::new(ids.ulid()), now));
    plan.wake(now + COPY_WITHIN);
    plan
}

fn is_underway(snapshot: &Snapshot) -> bool {
    matches!(snapshot.state, SnapshotState::Underway { .. })
}

/// Gives up a copy of which nothing was heard in time.
fn lose(snapshot: &Snapshot, now: Timestamp) -> Step {
    let why = "nothing was heard of it in time".to_owned();
    let state = SnapshotState::Failed { at: now, why: why.clone() };
    Step {
        record: Some(Record::Snapshot(Snapshot { state, ..snapshot.clone() })),
        event: Some(Event::own(What::SnapshotFailed { kind: snapshot.kind, why })),
        action: None,
    }
}

fn take(id: SnapshotId, now: Timestamp) -> Step {
    let kind = SnapshotKind::Daily;
    let state = SnapshotState::Underway { deadline: now + COPY_WITHIN };
    Step {
        record: Some(Record::Snapshot(Snapshot { id, kind, state })),
        event: None,
        action: Some(Action::TakeSnapshot { snapshot: id, kind, at: now }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EventId;
    use crate::snapshot::Copied;
    use ulid::Ulid;

    const HOUR: i64 = 3_600_000;
    const NOW: Timestamp = Timestamp(100 * HOUR);

    #[test]
    fn a_copy_is_taken_once_a_day() {
        check(None, Timestamp(76 * HOUR + 1), None, Some(Timestamp(100 * HOUR + 1)));
        check(None, Timestamp(76 * HOUR), Some(1), Some(NOW + COPY_WITHIN));
        check(Some(taken(Timestamp(77 * HOUR))), Timestamp(0), None, Some(Timestamp(101 * HOUR)));
        check(Some(taken(Timestamp(76 * HOUR))), Timestamp(0), Some(1), Some(NOW + COPY_WITHIN));
    }

    #[test]
    fn a_copy_that_failed_is_tried_again_soon() {
        let failed = |at| SnapshotState::Failed { at, why: "full".to_owned() };
        check(
            Some(failed(Timestamp(100 * HOUR - 600_000 + 1))),
            Timestamp(0),
            None,
            Some(Timestamp(100 * HOUR + 1)),
        );
        check(
            Some(failed(Timestamp(100 * HOUR - 600_000))),
            Timestamp(0),
            Some(1),
            Some(NOW + COPY_WITHIN),
        );
    }

    #[test]
    fn a_copy_that_was_never_heard_of_is_given_up_and_taken_again() {
        let underway = |deadline| SnapshotState::Underway { deadline };
        check(Some(underway(NOW + COPY_WITHIN)), Timestamp(0), None, Some(NOW + COPY_WITHIN));
        check(Some(underway(NOW)), Timestamp(0), Some(2), Some(NOW + COPY_WITHIN));
    }

    /// Checks how many steps are due at `NOW`, if any, and when to look again.
    #[track_caller]
    fn check(
        last: Option<SnapshotState>,
        store_since: Timestamp,
        steps: Option<usize>,
        wake_at: Option<Timestamp>,
    ) {
        let id = SnapshotId::new(Ulid::from(1_u128));
        let last = last.map(|state| Snapshot { id, kind: SnapshotKind::Daily, state });
        let every = Duration::from_hours(24);
        let world = World { last: last.as_ref(), store_since, every };
        let plan = plan(world, NOW, &mut Two);
        assert_eq!((plan.steps.len(), plan.wake_at), (steps.unwrap_or(0), wake_at));
    }

    fn taken(at: Timestamp) -> SnapshotState {
        let copied =
            Copied { file: "f".to_owned(), bytes: 1, sha256: "s".to_owned(), head: EventId(1) };
        SnapshotState::Taken { at, copied }
    }

    struct Two;

    impl NewIds for Two {
        fn ulid(&mut self) -> Ulid {
            Ulid::from(2_u128)
        }
    }
}
