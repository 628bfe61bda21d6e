//! The hands: they do what the kernel has planned, and report what came of it.
//!
//! What they drop or lose is planned again when it is missed, so they need remember nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cmux_core::agent::Sighting;
use cmux_core::plan::Action;
use cmux_core::report::Report;
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use cmux_drivers::folder;
use cmux_store::{StoreError, backup, repair};
use tokio::sync::mpsc;
use tracing::warn;

use crate::inbox::Inbox;
use crate::keeper::Orders;

/// How many actions may be under way at once. A folder on a dead disk can hold one up for good.
const UNDERWAY_MAX: usize = 32;

/// What the hands need to know.
#[derive(Clone, Debug)]
pub(crate) struct Hands {
    pub(crate) inbox: Inbox,
    pub(crate) database: PathBuf,
    pub(crate) backups: PathBuf,
    pub(crate) snapshots_keep: usize,
    /// Who tends agents, if anybody does.
    pub(crate) agents: Option<Orders>,
}

impl Hands {
    /// Does each action as it comes, until there are no more. Of two for one thing, only the first is
    /// done while it is under way: a folder on a dead disk holds up its own looks and no others.
    pub(crate) async fn work(self, mut actions: mpsc::Receiver<Action>) {
        let (done, mut over) = mpsc::unbounded_channel();
        let mut underway = BTreeSet::new();
        loop {
            let action = tokio::select! {
                Some(thing) = over.recv() => {
                    underway.remove(&thing);
                    continue;
                }
                action = actions.recv() => action,
            };
            let Some(action) = action else { return };
            let Some(action) = self.tend(action) else { continue };
            let thing = thing_of(&action);
            if underway.len() >= UNDERWAY_MAX || !underway.insert(thing.clone()) {
                warn!(?action, "too much is under way; it is planned again when it is missed");
                continue;
            }
            let (hands, done) = (self.clone(), done.clone());
            tokio::task::spawn_blocking(move || {
                if let Some(report) = hands.act(action) {
                    hands.inbox.tell(report);
                }
                // Nobody counts any more when the daemon ends.
                let _ = done.send(thing);
            });
        }
    }

    /// Hands over `action` if it is for an agent, and returns it if not.
    fn tend(&self, action: Action) -> Option<Action> {
        let told = match &action {
            Action::LookAtProject { .. } | Action::TakeSnapshot { .. } => return Some(action),
            Action::LaunchAgent { agent, run } => {
                let why = "agents cannot be launched by this build".to_owned();
                Some((agent.id, *run, Sighting::NotLaunched { why }))
            }
            // Nobody can say that it has ended, or was interrupted.
            Action::EndAgent { .. }
            | Action::InterruptAgent { .. }
            | Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. }
            | Action::ForgetAgent { .. } => None,
            Action::ClearRun { agent, run } => Some((agent.id, *run, Sighting::Cleared)),
        };
        match (&self.agents, told) {
            (Some(agents), _) => {
                if !agents.act(action) {
                    warn!("too much is asked for agents; it is planned again when it is missed");
                }
            }
            (None, Some((agent, run, sighting))) => {
                self.inbox.tell(Report::AgentSeen { agent, run, sighting });
            }
            (None, None) => {}
        }
        None
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
            Action::LaunchAgent { .. }
            | Action::EndAgent { .. }
            | Action::InterruptAgent { .. }
            | Action::ForgetAgent { .. }
            | Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. }
            | Action::ClearRun { .. } => None,
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

/// Returns what an action is for.
fn thing_of(action: &Action) -> String {
    match action {
        Action::LookAtProject { project, .. } => project.to_string(),
        Action::TakeSnapshot { .. } => "a copy of the store".to_owned(),
        Action::LaunchAgent { agent, .. }
        | Action::EndAgent { agent, .. }
        | Action::InterruptAgent { agent, .. }
        | Action::ForgetAgent { agent }
        | Action::SettleDelivery { agent, .. }
        | Action::ClearRun { agent, .. } => agent.id.to_string(),
        Action::OfferMail { agent, .. } | Action::Recall { agent, .. } => agent.to_string(),
        Action::Deliver { delivery, .. } => delivery.agent.to_string(),
    }
}
