//! Archives: old stretches of the log, written to a file and taken out of the store.

use crate::event::What;
use crate::id::EventId;

/// How many events are taken out of the store in one turn.
pub const TRIM_MAX: i64 = 5_000;

/// A stretch of the log that lies in a file, whole and on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The newest event in it.
    pub through: EventId,
    /// That event's hash, from which the rest of the chain is checked.
    pub hash: [u8; 32],
    pub rows: u64,
    pub file: String,
    pub sha256: String,
}

/// Why a stretch is not taken out of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArchive {
    #[error("event {0} is not the one that was archived")]
    Another(EventId),
    /// The newest event tells what time it is.
    #[error("the newest event cannot be archived")]
    Newest,
}

impl Archive {
    /// Returns what there is to tell once the stretch may be taken out of a log whose event `through`
    /// has the hash `stored` and whose newest event is `head`.
    pub fn settle(&self, stored: Option<[u8; 32]>, head: EventId) -> Result<What, BadArchive> {
        if stored != Some(self.hash) {
            return Err(BadArchive::Another(self.through));
        }
        if self.through >= head {
            return Err(BadArchive::Newest);
        }
        Ok(What::LogArchived {
            through: self.through,
            rows: self.rows,
            file: self.file.clone(),
            sha256: self.sha256.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_file_is_taken_out() {
        let archive = Archive {
            through: EventId(5),
            hash: [1; 32],
            rows: 5,
            file: "f".to_owned(),
            sha256: "s".to_owned(),
        };
        assert!(archive.settle(Some([1; 32]), EventId(6)).is_ok());
        let another = Err(BadArchive::Another(EventId(5)));
        assert_eq!(archive.settle(Some([2; 32]), EventId(6)), another);
        assert_eq!(archive.settle(None, EventId(6)), another);
        assert_eq!(archive.settle(Some([1; 32]), EventId(5)), Err(BadArchive::Newest));
    }
}
