//! News from outside, and what is answered. With [`Action`](crate::plan::Action), this is all that
//! mind and hands exchange.

use crate::archive::{Archive, BadArchive};
use crate::event::{Actor, Event, StopReason, What};
use crate::id::SnapshotId;
use crate::project::{BadProject, Found, Project, ProjectId};
use crate::snapshot::Copied;

/// Something that happened, or that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The daemon began to live, having found this.
    Started {
        version: String,
        pid: u32,
        guarded: bool,
        news: Vec<What>,
    },
    Stopping {
        why: StopReason,
    },
    ClockJumped {
        by_ms: i64,
    },
    Asked {
        actor: Actor,
        ask: Ask,
    },
    ProjectLooked {
        project: ProjectId,
        found: Found,
    },
    SnapshotDone {
        snapshot: SnapshotId,
        outcome: Result<Copied, String>,
    },
    /// The hands did something that is worth telling.
    Told {
        event: Event,
    },
    /// Somebody wants to know whether the kernel is alive. Changes nothing.
    Ping,
}

/// Something that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    AddProject {
        root: String,
        name: Option<String>,
    },
    RemoveProject {
        id: ProjectId,
    },
    /// Take what lies in this archive out of the store.
    ArchiveLog {
        archive: Archive,
    },
}

/// What is said to whoever reported, once it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Heard. There is nothing more to say.
    Heard,
    /// The project as it is stored, and whether it is new.
    Project { project: Project, created: bool },
}

/// Why something that was asked for was not done. Nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no project `{0}`")]
    NoProject(ProjectId),
    #[error(transparent)]
    BadProject(#[from] BadProject),
    #[error(transparent)]
    BadArchive(#[from] BadArchive),
}
