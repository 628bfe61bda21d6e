//! How each event is called and what it says, in JSON. Only here are core's events serialised.

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, MessageTold, StopReason, What};
use cmux_core::hook::Told;
use cmux_core::id::{AgentId, MessageId};
use cmux_core::mail::Waiting;
use cmux_core::message::{Evidence, MessageState};
use cmux_core::repair::{Repair, RepairSource};
use cmux_core::session::{OverWhy, SessionHow};
use cmux_core::snapshot::{Copied, SnapshotKind};
use cmux_core::time::Timestamp;
use cmux_core::trust::ProjectFile;
use cmux_core::turn::Turned;
use cmux_core::usage::{Money, Tokens, Usage};
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
        What::ProjectTrusted { .. } => "project.trusted",
        What::ProjectUntrusted { .. } => "project.untrusted",
        What::SnapshotTaken { .. } => "snapshot.taken",
        What::SnapshotFailed { .. } => "snapshot.failed",
        What::AgentSpawned { .. } => "agent.spawned",
        What::AgentAsked { .. } => "agent.asked",
        What::AgentPhase { .. } => "agent.phase",
        What::AgentHeld { .. } => "agent.held",
        What::AgentExited { .. } => "agent.exited",
        What::AgentAdopted { .. } => "agent.adopted",
        What::AgentFound { .. } => "agent.found",
        What::TmuxLost { .. } => "tmux.lost",
        What::AgentRemoved { .. } => "agent.removed",
        What::HookReceived(_) => "hook.received",
        What::Turned(turned) => turned_name(turned),
        What::MessageIs { state, .. } => message_is(*state),
        What::MessageRead { .. } => "message.read",
        What::MessageRetried { .. } => "message.retried",
        What::LogArchived { .. } => "log.archived",
        What::PayloadsPruned { .. } => "payload.pruned",
        What::StoreMigrated { .. } => "store.migrated",
        What::StoreRestored { .. } => "store.restored",
        What::StoreRepaired(_) => "store.repaired",
        What::StoreFull { .. } => "store.full",
        What::StoreRoomAgain { .. } => "store.room_again",
        What::TokenCreated { .. } => "token.created",
        What::TokenRevoked { .. } => "token.revoked",
        What::LinkMade { .. } => "link.made",
        What::LinkReused { .. } => "link.reused",
        What::SessionOpened { .. } => "session.opened",
        What::SessionOver { .. } => "session.over",
        What::PasswordChanged { .. } => "password.changed",
        What::WebhookReceived { .. } => "webhook.received",
        What::DoorRefused { .. } => "door.refused",
    }
}

/// Returns what an event is about, if it is about one thing.
pub(crate) fn subject(event: &Event) -> Option<String> {
    match &event.what {
        What::TokenCreated { token, .. } | What::TokenRevoked { token, .. } => {
            Some(format!("token:{token}"))
        }
        What::MessageIs { told: MessageTold { message, .. }, .. }
        | What::MessageRead { message }
        | What::MessageRetried { message, .. } => Some(format!("message:{message}")),
        What::Turned(
            Turned::Started { turn, .. }
            | Turned::Ended { turn, .. }
            | Turned::ToolUsed { turn, .. },
        ) => Some(format!("turn:{turn}")),
        What::LinkReused { session }
        | What::SessionOpened { session, .. }
        | What::SessionOver { session, .. } => Some(format!("session:{session}")),
        What::AgentSpawned { .. }
        | What::AgentAsked { .. }
        | What::AgentPhase { .. }
        | What::AgentHeld { .. }
        | What::AgentExited { .. }
        | What::AgentAdopted { .. }
        | What::AgentFound { .. }
        | What::HookReceived(_)
        | What::Turned(Turned::Used { .. })
        | What::AgentRemoved { .. } => event.agent.map(|id| format!("agent:{id}")),
        What::DaemonStarted { .. }
        | What::TmuxLost { .. }
        | What::PasswordChanged { .. }
        | What::DaemonStopping { .. }
        | What::ClockJumped { .. }
        | What::ProjectAdded { .. }
        | What::ProjectRemoved { .. }
        | What::ProjectMissing { .. }
        | What::ProjectFound { .. }
        | What::ProjectTrusted { .. }
        | What::ProjectUntrusted { .. }
        | What::SnapshotTaken { .. }
        | What::SnapshotFailed { .. }
        | What::LogArchived { .. }
        | What::PayloadsPruned { .. }
        | What::StoreMigrated { .. }
        | What::StoreRestored { .. }
        | What::StoreRepaired(_)
        | What::StoreFull { .. }
        | What::StoreRoomAgain { .. }
        | What::LinkMade { .. }
        | What::WebhookReceived { .. }
        | What::DoorRefused { .. } => event.project.as_ref().map(|id| format!("project:{id}")),
    }
}

/// Returns who brought it about, as the log says it.
pub(crate) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Operator => "operator".to_owned(),
        Actor::Cmux => "cmux".to_owned(),
        Actor::Token(id) => id.to_string(),
        Actor::Agent(id) => id.to_string(),
        Actor::Webhook(source) => format!("webhook:{source}"),
    }
}

/// Returns who is meant by what the log says.
pub(crate) fn actor_of(text: &str) -> Option<Actor> {
    match text.split_once(':') {
        Some(("webhook", source)) => Some(Actor::Webhook(source.to_owned())),
        Some(_) => None,
        None if text == "operator" => Some(Actor::Operator),
        None if text == "cmux" => Some(Actor::Cmux),
        None => {
            let agent = text.parse().map(Actor::Agent).ok();
            agent.or_else(|| text.parse().map(Actor::Token).ok())
        }
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
        What::PasswordChanged { set } => json!({"set": set}),
        What::ProjectAdded { name, root } | What::ProjectRemoved { name, root } => {
            json!({"name": name, "root": root})
        }
        What::ProjectMissing { root } | What::ProjectFound { root } => json!({"root": root}),
        What::ProjectTrusted { files, folder } => trusted(files, *folder),
        What::ProjectUntrusted { files, folder } => untrusted(files, *folder),
        What::SnapshotTaken { kind, copied } => taken(*kind, copied),
        What::SnapshotFailed { kind, why } => json!({"kind": snapshot_kind(*kind), "why": why}),
        What::AgentSpawned { name, role, kind, parent } => {
            let parent = parent.map(|id| id.to_string());
            json!({"name": name, "role": role, "kind": kind, "parent": parent})
        }
        What::AgentAsked { intent } => json!({"intent": intent}),
        What::AgentHeld { held } => json!({"for": held.map(Waiting::name)}),
        What::AgentPhase { from, to, reason, until } => phase(from, to, reason.as_deref(), *until),
        What::AgentExited { how } => json!({"how": how}),
        What::AgentAdopted { name, kind, pane } | What::AgentFound { name, kind, pane } => {
            json!({"name": name, "kind": kind, "pane": pane})
        }
        What::TmuxLost { server, agents } => json!({"server": server, "agents": ids(agents)}),
        What::AgentRemoved { name } => json!({"name": name}),
        What::HookReceived(told) => hooked(told),
        What::Turned(turned) => turn(turned),
        What::MessageIs { told, .. } => message(told),
        What::MessageRead { message } => json!({"message": message.to_string()}),
        What::MessageRetried { message, state } => retried(*message, *state),
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
        What::TokenCreated { token, name, scope, expires_at } => {
            let (token, scope) = (token.to_string(), scope.to_string());
            json!({"token": token, "name": name, "scope": scope, "expires_at": expires_at.map(time)})
        }
        What::TokenRevoked { token, name } => json!({"token": token.to_string(), "name": name}),
        What::LinkMade { expires_at } => json!({"expires_at": time(*expires_at)}),
        What::LinkReused { session } => json!({"session": session.to_string()}),
        What::SessionOpened { session, how } => {
            json!({"session": session.to_string(), "how": session_how(*how)})
        }
        What::SessionOver { session, why } => {
            json!({"session": session.to_string(), "why": over_why(*why)})
        }
        What::WebhookReceived { source, delivery, event, content_type, bytes } => json!({
            "source": source, "delivery": delivery, "event": event,
            "content_type": content_type, "bytes": bytes,
        }),
        What::DoorRefused { reason, door, method, path, from, count } => json!({
            "reason": reason, "door": door, "method": method, "path": path,
            "from": from, "count": count,
        }),
    }
}

fn phase(from: &str, to: &str, reason: Option<&str>, until: Option<Timestamp>) -> Value {
    json!({"from": from, "to": to, "reason": reason, "until": until.map(time)})
}

fn ids(agents: &[AgentId]) -> Vec<String> {
    agents.iter().map(ToString::to_string).collect()
}

fn hooked(told: &Told) -> Value {
    let claim = told.claim.map(
        |claim| json!({"delivery": claim.delivery.to_string(), "outcome": claim.outcome.name()}),
    );
    json!({
        "hook": told.hook.to_string(),
        "name": told.name,
        "means": told.means,
        "session": told.ids.session,
        "subagent": told.ids.subagent,
        "prompt": told.ids.prompt,
        "turn": told.turn.map(|id| id.to_string()),
        "tool": told.tool,
        "call": told.ids.call,
        "ok": told.ok,
        "at": time(told.at),
        "payload": told.payload.hex(),
        "claim": claim,
    })
}

fn retried(message: MessageId, state: MessageState) -> Value {
    json!({"message": message.to_string(), "was": state.name()})
}

fn turned_name(turned: &Turned) -> &'static str {
    match turned {
        Turned::Started { .. } => "turn.started",
        Turned::Ended { .. } => "turn.ended",
        Turned::ToolUsed { .. } => "tool.used",
        Turned::Used { .. } => "agent.used",
    }
}

fn turn(turned: &Turned) -> Value {
    match turned {
        Turned::Started { turn, deliveries } => {
            let deliveries: Vec<String> = deliveries.iter().map(ToString::to_string).collect();
            json!({"turn": turn.to_string(), "deliveries": deliveries})
        }
        Turned::Ended { turn, how, calls, took_ms, usage } => json!({
            "turn": turn.to_string(), "how": how.name(), "calls": calls, "took_ms": took_ms,
            "usage": used(*usage),
        }),
        Turned::ToolUsed { turn, tool, call, subagent, ok } => json!({
            "turn": turn.to_string(), "tool": tool, "call": call, "subagent": subagent, "ok": ok,
        }),
        Turned::Used { turn, more, in_turn, in_all } => json!({
            "turn": turn.map(|turn| turn.to_string()), "more": used(*more),
            "in_turn": used(*in_turn), "in_all": used(*in_all),
        }),
    }
}

/// Returns what was used, in the words of the API.
fn used(usage: Usage) -> Value {
    let Tokens { input, output, cache_read, cache_write, .. } = usage.tokens;
    json!({
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_tokens": cache_read,
        "cache_write_tokens": cache_write,
        "tokens": usage.tokens.total(),
        "cost_usd": usage.known_cost().map(|Money(nanos)| nanos as f64 / 1e9),
        "unpriced_tokens": usage.unpriced,
    })
}

fn message_is(state: MessageState) -> &'static str {
    match state {
        MessageState::Queued => "message.queued",
        MessageState::Typing => "message.typing",
        MessageState::Submitted => "message.submitted",
        MessageState::Claimed => "message.claimed",
        MessageState::Delivered => "message.delivered",
        MessageState::Failed => "message.failed",
        MessageState::Cancelled => "message.cancelled",
        MessageState::Expired => "message.expired",
        MessageState::InDoubt => "message.in_doubt",
    }
}

fn message(told: &MessageTold) -> Value {
    json!({
        "message": told.message.to_string(),
        "thread": told.thread.to_string(),
        "from": told.from,
        "to": told.to,
        "kind": told.kind.name(),
        "bytes": told.bytes,
        "delivery": told.delivery.map(|id| id.to_string()),
        "attempts": told.attempts,
        "reason": told.reason,
        "evidence": told.evidence.map(Evidence::name),
        "took_ms": told.took_ms,
    })
}

fn trusted(files: &[(ProjectFile, Digest)], folder: bool) -> Value {
    let file = |(file, digest): &(ProjectFile, Digest)| json!({"path": file.to_string(), "digest": digest.hex()});
    json!({"files": files.iter().map(file).collect::<Vec<_>>(), "folder": folder})
}

fn untrusted(files: &[ProjectFile], folder: bool) -> Value {
    let files: Vec<_> = files.iter().map(ToString::to_string).collect();
    json!({"files": files, "folder": folder})
}

fn taken(kind: SnapshotKind, copied: &Copied) -> Value {
    json!({
        "kind": snapshot_kind(kind),
        "file": copied.file,
        "bytes": copied.bytes,
        "sha256": copied.sha256,
        "head": copied.head.0,
    })
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

pub(crate) fn session_how(how: SessionHow) -> &'static str {
    match how {
        SessionHow::Link => "link",
        SessionHow::Password => "password",
    }
}

pub(crate) fn over_why(why: OverWhy) -> &'static str {
    match why {
        OverWhy::Closed => "closed",
        OverWhy::LinkReused => "link_reused",
        OverWhy::Revoked => "revoked",
    }
}

/// Returns a moment as the log says it: RFC 3339 in UTC, with milliseconds.
fn time(at: Timestamp) -> String {
    let edge = if at.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
    format!("{:.3}", jiff::Timestamp::from_millisecond(at.0).unwrap_or(edge))
}

pub(crate) fn snapshot_kind(kind: SnapshotKind) -> &'static str {
    match kind {
        SnapshotKind::Daily => "daily",
        SnapshotKind::Migration => "migration",
    }
}
