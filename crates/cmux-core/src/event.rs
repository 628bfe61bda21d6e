//! What happened, as the log tells it.

use crate::digest::Digest;
use crate::hook::Told;
use crate::id::{AgentId, DeliveryId, EventId, MessageId, RunId, SessionId, TokenId};
use crate::mail::Waiting;
use crate::message::{Evidence, Message, MessageKind, MessageState};
use crate::project::ProjectId;
use crate::repair::Repair;
use crate::session::{OverWhy, SessionHow};
use crate::snapshot::{Copied, SnapshotKind};
use crate::time::Timestamp;
use crate::token::TokenScope;
use crate::trust::ProjectFile;
use crate::turn::Turned;

/// Something that happened, before it has its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub what: What,
    pub actor: Actor,
    pub project: Option<ProjectId>,
    pub agent: Option<AgentId>,
    pub run: Option<RunId>,
    /// The event that it follows from.
    pub cause: Option<EventId>,
}

impl Event {
    /// Returns an event of cmux's own, of no project.
    pub fn own(what: What) -> Event {
        Event { what, actor: Actor::Cmux, project: None, agent: None, run: None, cause: None }
    }

    /// Returns an event of cmux's own, in `project`.
    pub fn own_in(project: &ProjectId, what: What) -> Event {
        Event { project: Some(project.clone()), ..Event::own(what) }
    }
}

/// Who brought something about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The person.
    Operator,
    /// cmux itself.
    Cmux,
    /// A script that showed this token.
    Token(TokenId),
    Agent(AgentId),
    /// Somebody outside, by the name of the source.
    Webhook(String),
}

/// What happened. The store gives each its name, `noun.verb`, and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    DaemonStarted {
        version: String,
        pid: u32,
        guarded: bool,
        upgraded_from: Option<String>,
    },
    DaemonStopping {
        why: StopReason,
    },
    ClockJumped {
        by_ms: i64,
    },
    ProjectAdded {
        name: String,
        root: String,
    },
    ProjectRemoved {
        name: String,
        root: String,
    },
    ProjectMissing {
        root: String,
    },
    ProjectFound {
        root: String,
    },
    /// The person approved of these files as they are, or of the folder.
    ProjectTrusted {
        files: Vec<(ProjectFile, Digest)>,
        folder: bool,
    },
    /// The person took back all that they had approved.
    ProjectUntrusted {
        files: Vec<ProjectFile>,
        folder: bool,
    },
    SnapshotTaken {
        kind: SnapshotKind,
        copied: Copied,
    },
    SnapshotFailed {
        kind: SnapshotKind,
        why: String,
    },
    /// An agent is to be.
    AgentSpawned {
        name: String,
        role: String,
        kind: String,
        parent: Option<AgentId>,
    },
    /// Somebody wants something else of an agent.
    AgentAsked {
        intent: &'static str,
    },
    /// An agent is seen doing something else, or it is known now until when it does it.
    AgentPhase {
        from: &'static str,
        to: &'static str,
        reason: Option<String>,
        until: Option<Timestamp>,
    },
    /// This keeps mail from an agent that is at its prompt, or nothing does any more.
    AgentHeld {
        held: Option<Waiting>,
    },
    /// A life of an agent ended.
    AgentExited {
        how: String,
    },
    /// A pane that a person started is an agent from now on.
    AgentAdopted {
        name: String,
        kind: String,
        pane: String,
    },
    /// An agent runs that the store did not know, or knew elsewhere.
    AgentFound {
        name: String,
        kind: String,
        pane: String,
    },
    /// A tmux server is gone, and with it the homes of these agents.
    TmuxLost {
        server: String,
        agents: Vec<AgentId>,
    },
    /// An agent is forgotten.
    AgentRemoved {
        name: String,
    },
    /// A hook of an agent's was called. What it was told lies beside the log.
    HookReceived(Told),
    /// A turn has come further.
    Turned(Turned),
    /// A message is in this state from now on.
    MessageIs {
        state: MessageState,
        told: MessageTold,
    },
    /// The person has read a message to them.
    MessageRead {
        message: MessageId,
    },
    /// A message that had come to its end is to be read after all.
    MessageRetried {
        message: MessageId,
        state: MessageState,
    },
    /// Old rows were written to a file and taken out of the store.
    LogArchived {
        through: EventId,
        rows: u64,
        file: String,
        sha256: String,
    },
    PayloadsPruned {
        rows: u64,
    },
    /// The store was brought to a later version.
    StoreMigrated {
        from: u32,
        to: u32,
        snapshot: Option<String>,
    },
    /// A person put a backup in the store's place.
    StoreRestored {
        from: String,
        replaced: Option<String>,
    },
    /// The store was damaged, and this is what was done about it.
    StoreRepaired(Repair),
    /// There was no room to write, or there is again.
    StoreFull {
        free_bytes: u64,
    },
    StoreRoomAgain {
        free_bytes: u64,
    },
    TokenCreated {
        token: TokenId,
        name: String,
        scope: TokenScope,
        expires_at: Option<Timestamp>,
    },
    TokenRevoked {
        token: TokenId,
        name: String,
    },
    LinkMade {
        expires_at: Timestamp,
    },
    /// A link that had opened this session was followed by somebody else.
    LinkReused {
        session: SessionId,
    },
    SessionOpened {
        session: SessionId,
        how: SessionHow,
    },
    /// The password was set, or taken away.
    PasswordChanged {
        set: bool,
    },
    SessionOver {
        session: SessionId,
        why: OverWhy,
    },
    /// Something was delivered from outside. What it says lies beside the log.
    WebhookReceived {
        source: String,
        delivery: String,
        event: Option<String>,
        content_type: Option<String>,
        bytes: u64,
    },
    /// Somebody asked for what they may not have, so many times since it was last told.
    DoorRefused {
        reason: String,
        /// Where they asked: `socket` or `port`.
        door: String,
        method: String,
        path: String,
        from: String,
        count: u64,
    },
}

/// What the log tells of a message. What it says is not for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTold {
    pub message: MessageId,
    pub thread: MessageId,
    pub from: String,
    pub to: String,
    pub kind: MessageKind,
    pub bytes: u64,
    pub delivery: Option<DeliveryId>,
    pub attempts: u32,
    pub reason: Option<String>,
    pub evidence: Option<Evidence>,
    /// How long it took from being accepted to being delivered, in milliseconds.
    pub took_ms: Option<u64>,
}

impl MessageTold {
    pub fn of(message: &Message) -> MessageTold {
        let took = message.delivered_at.map(|at| at.since(message.created_at).as_millis());
        MessageTold {
            message: message.id,
            thread: message.thread,
            from: message.from.name.clone(),
            to: message.to.name().to_owned(),
            kind: message.kind,
            bytes: message.body.bytes,
            delivery: message.delivery,
            attempts: message.attempts,
            reason: message.reason.clone(),
            evidence: message.evidence,
            took_ms: took.and_then(|took| u64::try_from(took).ok()),
        }
    }
}

/// Why the daemon stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A client asked for it.
    Asked,
    /// A signal asked for it.
    Signal,
}
