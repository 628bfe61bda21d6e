//! Snapshots: whole copies of the store, taken once a day and before each migration.

use std::time::Duration;

use crate::event::What;
use crate::id::{EventId, SnapshotId};
use crate::time::Timestamp;

/// How long a copy may take before it counts as lost.
pub const COPY_WITHIN: Duration = Duration::from_mins(30);

/// How long to wait after a copy that failed.
pub const RETRY_AFTER: Duration = Duration::from_mins(10);

/// Why a copy is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotKind {
    Daily,
    Migration,
}

/// A copy of the store: wanted, under way, or over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub id: SnapshotId,
    pub kind: SnapshotKind,
    pub state: SnapshotState,
}

/// How far a copy has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotState {
    /// Asked for, and not answered. Counts as lost at `deadline`.
    Underway {
        deadline: Timestamp,
    },
    Taken {
        at: Timestamp,
        copied: Copied,
    },
    Failed {
        at: Timestamp,
        why: String,
    },
}

/// A copy that was made and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
    /// The newest event in it.
    pub head: EventId,
}

/// Why news of a copy changed nothing. It is not an error: the world reports late and twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that copy is over already")]
pub struct Over;

impl Snapshot {
    /// Returns the copy as it is once it was made or could not be, and what there is to tell of it.
    pub fn after(
        &self,
        outcome: Result<Copied, String>,
        now: Timestamp,
    ) -> Result<(Snapshot, What), Over> {
        match self.state {
            SnapshotState::Underway { .. } => {}
            SnapshotState::Taken { .. } | SnapshotState::Failed { .. } => return Err(Over),
        }
        let (state, what) = match outcome {
            Ok(copied) => {
                let what = What::SnapshotTaken { kind: self.kind, copied: copied.clone() };
                (SnapshotState::Taken { at: now, copied }, what)
            }
            Err(why) => {
                let what = What::SnapshotFailed { kind: self.kind, why: why.clone() };
                (SnapshotState::Failed { at: now, why }, what)
            }
        };
        Ok((Snapshot { state, ..self.clone() }, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    const NOW: Timestamp = Timestamp(7);

    #[test]
    fn what_is_heard_of_a_copy_counts_once_and_in_time() {
        let copied =
            Copied { file: "f".to_owned(), bytes: 1, sha256: "s".to_owned(), head: EventId(1) };
        let underway = Snapshot {
            id: SnapshotId::new(Ulid::from(1_u128)),
            kind: SnapshotKind::Daily,
            state: SnapshotState::Underway { deadline: NOW },
        };
        for outcome in [Ok(copied.clone()), Err("full".to_owned())] {
            let (over, _) = underway.after(outcome, NOW).unwrap();
            assert_eq!(over.after(Ok(copied.clone()), NOW), Err(Over));
            assert_eq!(over.after(Err("late".to_owned()), NOW), Err(Over));
        }
    }
}
