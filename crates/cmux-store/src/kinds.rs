//! How each event is called and what it says, in JSON. Only here are core's events serialised.

use cmux_core::event::{Actor, Event, StopReason, What};
use cmux_core::repair::{Repair, RepairSource};
use cmux_core::snapshot::SnapshotKind;
use serde_json::{Value, json};

/// Returns the name of what happened, `noun.verb`.
pub(crate) fn name(what: &What) -> &'static str {
    match what {
        What::DaemonStarted { .. } => "daemon.started",
        What::DaemonStopping { .. } => "daemon.stopping",
        What::ClockJumped { .. } => "clock.jumped",
        What::ProjectAdded { .. } => "project.added",
        What::ProjectRemoved { .. } => "project.removed",
        What::ProjectMissing { .. } => "project.missing",
        What::ProjectFound { .. } => "project.found",
        What::SnapshotTaken { .. } => "snapshot.taken",
        What::SnapshotFailed { .. } => "snapshot.failed",
        What::LogArchived { .. } => "log.archived",
        What::PayloadsPruned { .. } => "payload.pruned",
        What::StoreMigrated { .. } => "store.migrated",
        What::StoreRestored { .. } => "store.restored",
        What::StoreRepaired(_) => "store.repaired",
        What::StoreFull { .. } => "store.full",
        What::StoreRoomAgain { .. } => "store.room_again",
    }
}

/// Returns what an event is about, if it is about one thing.
pub(crate) fn subject(event: &Event) -> Option<String> {
    event.project.as_ref().map(|id| format!("project:{id}"))
}

/// Returns who brought it about, as the log says it.
pub(crate) fn actor(actor: Actor) -> &'static str {
    match actor {
        Actor::Operator => "operator",
        Actor::Cmux => "cmux",
    }
}

/// Returns what an event says.
pub(crate) fn data(what: &What) -> Value {
    match what {
        What::DaemonStarted { version, pid, guarded, upgraded_from } => json!({
            "version": version,
            "pid": pid,
            "guarded": guarded,
            "upgraded_from": upgraded_from,
        }),
        What::DaemonStopping { why } => json!({"why": stop_reason(*why)}),
        What::ClockJumped { by_ms } => json!({"by_ms": by_ms}),
        What::ProjectAdded { name, root } | What::ProjectRemoved { name, root } => {
            json!({"name": name, "root": root})
        }
        What::ProjectMissing { root } | What::ProjectFound { root } => json!({"root": root}),
        What::SnapshotTaken { kind, copied } => json!({
            "kind": snapshot_kind(*kind),
            "file": copied.file,
            "bytes": copied.bytes,
            "sha256": copied.sha256,
            "head": copied.head.0,
        }),
        What::SnapshotFailed { kind, why } => json!({"kind": snapshot_kind(*kind), "why": why}),
        What::LogArchived { through, rows, file, sha256 } => {
            json!({"through": through.0, "rows": rows, "file": file, "sha256": sha256})
        }
        What::PayloadsPruned { rows } => json!({"rows": rows}),
        What::StoreMigrated { from, to, snapshot } => {
            json!({"from": from, "to": to, "snapshot": snapshot})
        }
        What::StoreRestored { from, replaced } => json!({"from": from, "replaced": replaced}),
        What::StoreRepaired(repair) => repaired(repair),
        What::StoreFull { free_bytes } | What::StoreRoomAgain { free_bytes } => {
            json!({"free_bytes": free_bytes})
        }
    }
}

fn repaired(repair: &Repair) -> Value {
    let (source, snapshot) = match &repair.source {
        RepairSource::Salvage => ("salvage", None),
        RepairSource::Snapshot { file } => ("snapshot", Some(file)),
        RepairSource::Nothing => ("nothing", None),
    };
    json!({
        "what_was_wrong": repair.what_was_wrong,
        "kept_at": repair.kept_at,
        "source": source,
        "snapshot": snapshot,
        "newest_known": repair.newest_known.map(|id| id.0),
        "events_kept": repair.events_kept,
        "events_missing": repair.events_missing,
        "projects_kept": repair.projects_kept,
    })
}

fn stop_reason(why: StopReason) -> &'static str {
    match why {
        StopReason::Asked => "asked",
        StopReason::Signal => "signal",
    }
}

pub(crate) fn snapshot_kind(kind: SnapshotKind) -> &'static str {
    match kind {
        SnapshotKind::Daily => "daily",
        SnapshotKind::Migration => "migration",
    }
}
