//! How a damaged store is mended.

use crate::id::{EventId, LogId};

/// How a damaged store was mended, and what is missing since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub what_was_wrong: String,
    /// Where the damaged file lies, untouched.
    pub kept_at: String,
    pub source: RepairSource,
    /// The newest event that is known to have been there, if it is known.
    pub newest_known: Option<EventId>,
    pub events_kept: u64,
    /// Events known to have been there that are not there any more.
    pub events_missing: u64,
    pub projects_kept: u64,
}

/// Where a mended store's rows came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairSource {
    /// The rows of the damaged file that could still be read.
    Salvage,
    /// The last good snapshot.
    Snapshot { file: String },
    /// Neither was to be had.
    Nothing,
}

/// Returns where a mended store's rows should come from: the damaged file if it still gives at least as
/// much as the last good snapshot, which may be a day old.
pub fn choose(salvaged: Option<u64>, snapshot: Option<(u64, String)>) -> RepairSource {
    match (salvaged, snapshot) {
        (Some(rows), Some((copied, file))) if rows < copied => RepairSource::Snapshot { file },
        (Some(1..), _) => RepairSource::Salvage,
        (None | Some(0), Some((_, file))) => RepairSource::Snapshot { file },
        (None | Some(0), None) => RepairSource::Nothing,
    }
}

/// Returns whether a snapshot of the log `copied` may be preferred to the `saved` events of the log
/// `log`: not if it is of another log, since that may have been given up for this one.
pub fn may_stand_in(copied: LogId, saved: u64, log: Option<LogId>) -> bool {
    match (saved, log) {
        (1.., Some(log)) => copied == log,
        (0, _) | (1.., None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn a_snapshot_of_another_log_does_not_stand_in_for_what_was_saved() {
        let log = |n: u128| LogId::new(Ulid::from(n));
        for (saved, of, expected) in [
            (5, Some(log(1)), true),
            (5, Some(log(2)), false),
            (5, None, true),
            (0, Some(log(2)), true),
            (0, None, true),
        ] {
            assert_eq!(may_stand_in(log(1), saved, of), expected, "{saved} of {of:?}");
        }
    }

    #[test]
    fn the_fuller_source_wins() {
        let snapshot = |rows| Some((rows, "f".to_owned()));
        let from_snapshot = RepairSource::Snapshot { file: "f".to_owned() };
        assert_eq!(choose(Some(9), snapshot(9)), RepairSource::Salvage);
        assert_eq!(choose(Some(8), snapshot(9)), from_snapshot);
        assert_eq!(choose(None, snapshot(0)), from_snapshot);
        assert_eq!(choose(Some(3), None), RepairSource::Salvage);
        assert_eq!(choose(Some(0), None), RepairSource::Nothing);
        assert_eq!(choose(None, None), RepairSource::Nothing);
    }
}
