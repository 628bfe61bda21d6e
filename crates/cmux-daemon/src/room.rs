//! The disk under the store: whether there is room, and what is done when there is not.

use std::path::PathBuf;

use cmux_core::disk::{Room, Tend};
use cmux_core::event::What;
use cmux_core::snapshot::SnapshotKind;
use cmux_drivers::disk;
use cmux_drivers::home::Home;
use cmux_store::backup;
use tracing::{info, warn};

/// The disk under one home.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    ballast: PathBuf,
    backups: PathBuf,
    ballast_bytes: u64,
    refusing: bool,
    untold: Untold,
    /// Why the last turn was not stored, if it was not.
    failure: Option<String>,
}

/// What the log has yet to tell, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Untold {
    /// That there was no room.
    full: bool,
    /// That there is room again.
    room_again: bool,
}

/// How a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// For want of room.
    Full,
    /// For another reason.
    Failed,
}

impl Disk {
    pub fn under(home: &Home, ballast_bytes: u64) -> Disk {
        Disk {
            root: home.root().to_owned(),
            ballast: home.ballast(),
            backups: home.backups(),
            ballast_bytes,
            refusing: false,
            untold: Untold::default(),
            failure: None,
        }
    }

    fn room(&self) -> Room {
        Room {
            free_bytes: self.free_bytes(),
            ballast_bytes: self.ballast_bytes,
            has_ballast: self.ballast.exists(),
            refusing: self.refusing,
        }
    }

    /// Returns the room there is. A look that fails says nothing, and is taken for plenty.
    pub fn free_bytes(&self) -> u64 {
        disk::free_bytes(&self.root).unwrap_or(u64::MAX)
    }

    /// Returns whether what people ask for may be written.
    pub fn admits(&self) -> bool {
        self.room().admits()
    }

    /// Returns why nothing can be written, if that is so.
    pub fn trouble(&self) -> Option<String> {
        let full = || format!("there is no room left on the disk under {}", self.root.display());
        if self.admits() { self.failure.clone() } else { Some(full()) }
    }

    /// Notes that a turn was not stored.
    pub fn failed(&mut self, turned: Turned, why: &str) {
        match turned {
            Turned::Full if self.refusing => {}
            Turned::Full => {
                self.refusing = true;
                // If that there is room again was not told yet, it is not to be told at all.
                self.untold.full |= !std::mem::take(&mut self.untold.room_again);
            }
            Turned::Failed => self.failure = Some(why.to_owned()),
        }
    }

    /// Notes that a turn was stored, and with it what there was to tell.
    pub fn stored(&mut self) {
        self.untold = Untold::default();
    }

    /// Does `work`, and once more without the ballast if there is no room for it otherwise.
    pub fn make_way<T, E>(
        &mut self,
        is_full: impl Fn(&E) -> bool,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        match work() {
            Err(error) if is_full(&error) && self.ballast.exists() => {
                self.failed(Turned::Full, "");
                self.clean_up();
                work()
            }
            done => done,
        }
    }

    /// Does what the room there is calls for, and returns what there is to tell of it until it is
    /// stored.
    pub fn tend(&mut self) -> Vec<What> {
        let room = self.room();
        self.failure = None;
        match room.tend() {
            Tend::Nothing => {}
            Tend::Release => self.clean_up(),
            Tend::Resume => {
                self.refusing = false;
                self.untold.room_again = true;
                self.lay_in();
            }
            Tend::LayIn => self.lay_in(),
        }
        let free_bytes = room.free_bytes;
        let full = self.untold.full.then_some(What::StoreFull { free_bytes });
        let room_again = self.untold.room_again.then_some(What::StoreRoomAgain { free_bytes });
        full.into_iter().chain(room_again).collect()
    }

    /// Gives up the ballast and all snapshots but the newest.
    fn clean_up(&self) {
        warn!(root = %self.root.display(), "the disk is full: giving up ballast and old snapshots");
        if let Err(error) = disk::release(&self.ballast) {
            warn!(%error, "the ballast could not be given up");
        }
        for kind in [SnapshotKind::Daily, SnapshotKind::Migration] {
            if let Err(error) = backup::prune(&self.backups, kind, 1) {
                warn!(%error, "old snapshots could not be removed");
            }
        }
    }

    fn lay_in(&mut self) {
        if self.ballast_bytes == 0 {
            return;
        }
        match disk::lay_in(&self.ballast, self.ballast_bytes) {
            Ok(()) => info!(bytes = self.ballast_bytes, "laid in ballast"),
            Err(error) => {
                warn!(%error, "no ballast could be laid in: doing without");
                self.ballast_bytes = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn that_there_was_no_room_is_told_until_it_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = full_disk(folder.path());
        assert!(matches!(disk.tend()[..], [What::StoreFull { .. }, What::StoreRoomAgain { .. }]));
        // Whoever filled the disk was quicker.
        disk.failed(Turned::Full, "");
        assert!(matches!(disk.tend()[..], [What::StoreFull { .. }, What::StoreRoomAgain { .. }]));
        disk.stored();
        assert_eq!(disk.tend(), []);
        assert!(disk.admits());
    }

    #[test]
    fn what_cannot_wait_for_a_turn_gets_the_ballast() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = full_disk(folder.path());
        fs::write(&disk.ballast, "").unwrap();
        let (ballast, mut tries) = (disk.ballast.clone(), 0);
        let done = disk.make_way(
            |&_full: &()| true,
            || {
                tries += 1;
                if ballast.exists() { Err(()) } else { Ok(tries) }
            },
        );
        assert_eq!(done, Ok(2));
        assert!(!disk.admits());
        assert_eq!(disk.make_way(|&_full: &()| true, || Err::<(), ()>(())), Err(()));
    }

    /// Returns a disk without ballast on which a turn found no room.
    fn full_disk(root: &Path) -> Disk {
        let mut disk = Disk::under(&Home::at(root.to_owned()), 0);
        disk.failed(Turned::Full, "");
        disk
    }
}
