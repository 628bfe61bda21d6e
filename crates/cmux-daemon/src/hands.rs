//! The hands: they do what the kernel has planned, and report what came of it.
//!
//! What they drop or lose is planned again when it is missed, so they need remember nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cmux_core::plan::Action;
use cmux_core::report::Report;
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use cmux_drivers::folder;
use cmux_store::{StoreError, backup, repair};
use tokio::sync::{Semaphore, mpsc};
use tracing::warn;

use crate::inbox::Inbox;

/// How many actions may be under way at once. A folder on a dead disk can hold one up for good.
const UNDERWAY_MAX: usize = 16;

/// What the hands need to know.
#[derive(Clone, Debug)]
pub(crate) struct Hands {
    pub(crate) inbox: Inbox,
    pub(crate) database: PathBuf,
    pub(crate) backups: PathBuf,
    pub(crate) snapshots_keep: usize,
}

impl Hands {
    /// Does each action as it comes, until there are no more.
    pub(crate) async fn work(self, mut actions: mpsc::Receiver<Action>) {
        let places = Arc::new(Semaphore::new(UNDERWAY_MAX));
        while let Some(action) = actions.recv().await {
            let Ok(place) = places.clone().try_acquire_owned() else {
                warn!(?action, "too much is under way; it is planned again when it is missed");
                continue;
            };
            let hands = self.clone();
            tokio::task::spawn_blocking(move || {
                if let Some(report) = hands.act(action) {
                    hands.inbox.tell(report);
                }
                drop(place);
            });
        }
    }

    /// Does `action`, and returns what there is to report.
    fn act(&self, action: Action) -> Option<Report> {
        match action {
            Action::LookAtProject { project, root } => {
                let found = folder::look(Path::new(&root))?;
                Some(Report::ProjectLooked { project, found })
            }
            Action::TakeSnapshot { snapshot, kind, at } => {
                let outcome = self.take_snapshot(kind, at);
                Some(Report::SnapshotDone { snapshot, outcome })
            }
        }
    }

    fn take_snapshot(&self, kind: SnapshotKind, at: Timestamp) -> Result<Copied, String> {
        let taken = backup::snapshot(&self.database, &self.backups, kind, at);
        if let Err(StoreError::Damaged { what }) = &taken {
            // The next start looks at the whole file, and mends it.
            let _ = repair::mark(&self.database, what);
        }
        let (_, copied) = taken.map_err(|error| error.to_string())?;
        if let Err(error) = backup::prune(&self.backups, kind, self.snapshots_keep) {
            warn!(%error, "old snapshots could not be removed");
        }
        Ok(copied)
    }
}
