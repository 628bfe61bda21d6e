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
    /// Whether the log has yet to tell that there was no room.
    untold: bool,
    /// Why the last turn was not stored, if it was not.
    failure: Option<String>,
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
            untold: false,
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
            Turned::Full => {
                self.untold |= !self.refusing;
                self.refusing = true;
            }
            Turned::Failed => self.failure = Some(why.to_owned()),
        }
    }

    /// Does what the room there is calls for, and returns what there is to tell of it.
    pub fn tend(&mut self) -> Vec<What> {
        let room = self.room();
        self.failure = None;
        let mut news = Vec::new();
        match room.tend() {
            Tend::Nothing => {}
            Tend::Release => self.clean_up(),
            Tend::Resume => {
                self.refusing = false;
                news.push(What::StoreRoomAgain { free_bytes: room.free_bytes });
                self.lay_in();
            }
            Tend::LayIn => self.lay_in(),
        }
        if self.untold && !self.ballast.exists() {
            self.untold = false;
            news.insert(0, What::StoreFull { free_bytes: room.free_bytes });
        }
        news
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

    fn lay_in(&self) {
        if self.ballast_bytes == 0 {
            return;
        }
        match disk::lay_in(&self.ballast, self.ballast_bytes) {
            Ok(()) => info!(bytes = self.ballast_bytes, "laid in ballast"),
            Err(error) => warn!(%error, "no ballast could be laid in"),
        }
    }
}
