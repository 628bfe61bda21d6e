//! Messages: what somebody has to say to an agent, or to the person.
//!
//! A message is *accepted* once it is stored, and *delivered* once its reader has read it. Who speaks is
//! decided by whoever takes it in, never by what it says.

use std::time::Duration;

use crate::digest::Digest;
use crate::event::Actor;
use crate::id::{AgentId, DeliveryId, MessageId};
use crate::project::ProjectId;
use crate::time::Timestamp;

/// The longest body, in bytes.
pub const BODY_MAX: usize = 10 << 20;

/// The longest body that is typed, in bytes. A longer one is left in a file, and its name typed.
pub const TYPED_MAX: usize = 8 << 10;

/// The longest key, in bytes.
pub const KEY_MAX: usize = 200;

/// The longest and the shortest time that a message may be given.
pub const TTL_MAX: Duration = Duration::from_hours(24 * 365);
pub const TTL_MIN: Duration = Duration::from_secs(1);

/// How long a message is remembered for which nobody waits any more.
pub const MESSAGE_KEEP: Duration = Duration::from_hours(24 * 90);

/// Something that somebody has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: MessageId,
    /// Its place among all mail: what was accepted later has a higher one.
    pub seq: i64,
    /// The project that it is read in.
    pub project: ProjectId,
    pub from: Sender,
    pub to: Recipient,
    pub kind: MessageKind,
    pub body: Body,
    pub reply_to: Option<MessageId>,
    /// The first message of the conversation that it belongs to.
    pub thread: MessageId,
    /// Whether its reader is to be interrupted for it.
    pub interrupt: bool,
    pub key: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub state: MessageState,
    /// How often it was typed.
    pub attempts: u32,
    /// Why it is in that state, if there is more to say.
    pub reason: Option<String>,
    pub evidence: Option<Evidence>,
    pub delivered_at: Option<Timestamp>,
    pub read_at: Option<Timestamp>,
    /// The delivery that it is typed in, or was last.
    pub delivery: Option<DeliveryId>,
    /// Why it is to be taken back if that can still be done.
    pub recall: Option<Recall>,
}

/// What a message says, as far as it is at hand.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    pub bytes: u64,
    pub sha256: Digest,
    /// The text, unless it is long and was not asked for.
    pub text: Option<String>,
}

impl Body {
    pub fn new(text: String) -> Body {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Body { bytes, sha256: Digest::of(text.as_bytes()), text: Some(text) }
    }

    /// Returns whether it is too long to be typed.
    pub fn is_long(&self) -> bool {
        self.bytes > TYPED_MAX as u64
    }
}

/// Shows how long it is, and not what it says.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes {:?}", self.bytes, self.sha256)
    }
}

/// Who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub actor: Actor,
    /// How its reader is told of them: an agent by name, the person as `user`.
    pub name: String,
}

/// Who reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    Agent {
        id: AgentId,
        name: String,
    },
    /// The person, whose mail is delivered once it is stored.
    User,
}

impl Recipient {
    /// Returns the agent that reads it, if one does.
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Recipient::Agent { id, .. } => Some(*id),
            Recipient::User => None,
        }
    }

    /// Returns how it is called.
    pub fn name(&self) -> &str {
        match self {
            Recipient::Agent { name, .. } => name,
            Recipient::User => USER,
        }
    }
}

/// How the person is called.
pub const USER: &str = "user";

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Task,
    Status,
    Response,
    Question,
    Error,
    /// The person said it.
    User,
    /// cmux itself did.
    System,
}

impl MessageKind {
    pub const ALL: [MessageKind; 7] = [
        MessageKind::Task,
        MessageKind::Status,
        MessageKind::Response,
        MessageKind::Question,
        MessageKind::Error,
        MessageKind::User,
        MessageKind::System,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Task => "task",
            MessageKind::Status => "status",
            MessageKind::Response => "response",
            MessageKind::Question => "question",
            MessageKind::Error => "error",
            MessageKind::User => "user",
            MessageKind::System => "system",
        }
    }
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Stored, and not yet typed.
    Queued,
    /// Its delivery is recorded, and may be at its reader's prompt.
    Typing,
    /// It has left the prompt.
    Submitted,
    /// Its reader's hook has taken it.
    Claimed,
    /// Its reader has read it.
    Delivered,
    Failed,
    Cancelled,
    Expired,
    /// It is being found out how far it came.
    InDoubt,
}

impl MessageState {
    pub const ALL: [MessageState; 9] = [
        MessageState::Queued,
        MessageState::Typing,
        MessageState::Submitted,
        MessageState::Claimed,
        MessageState::Delivered,
        MessageState::Failed,
        MessageState::Cancelled,
        MessageState::Expired,
        MessageState::InDoubt,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MessageState::Queued => "queued",
            MessageState::Typing => "typing",
            MessageState::Submitted => "submitted",
            MessageState::Claimed => "claimed",
            MessageState::Delivered => "delivered",
            MessageState::Failed => "failed",
            MessageState::Cancelled => "cancelled",
            MessageState::Expired => "expired",
            MessageState::InDoubt => "in_doubt",
        }
    }

    /// Returns whether it stays so unless somebody asks for something else.
    pub fn is_over(self) -> bool {
        match self {
            MessageState::Delivered
            | MessageState::Failed
            | MessageState::Cancelled
            | MessageState::Expired => true,
            MessageState::Queued
            | MessageState::Typing
            | MessageState::Submitted
            | MessageState::Claimed
            | MessageState::InDoubt => false,
        }
    }
}

/// By what it is known that a message was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The agent's own record of the conversation has it.
    Transcript,
    /// The turn that it began is under way, or over.
    Turn,
    /// It stands above an empty prompt, and the agent works.
    Screen,
    /// The agent's own door answered that it has it.
    Answer,
    /// It is for the person, and in their inbox.
    Stored,
    /// It was claimed in a life of the store that was lost.
    Ledger,
}

impl Evidence {
    pub const ALL: [Evidence; 6] = [
        Evidence::Transcript,
        Evidence::Turn,
        Evidence::Screen,
        Evidence::Answer,
        Evidence::Stored,
        Evidence::Ledger,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Evidence::Transcript => "transcript",
            Evidence::Turn => "turn",
            Evidence::Screen => "screen",
            Evidence::Answer => "answer",
            Evidence::Stored => "stored",
            Evidence::Ledger => "ledger",
        }
    }
}

/// Why a message is taken back before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    Cancelled,
    Expired,
}

impl Recall {
    pub const ALL: [Recall; 2] = [Recall::Cancelled, Recall::Expired];

    pub fn name(self) -> &'static str {
        match self {
            Recall::Cancelled => "cancelled",
            Recall::Expired => "expired",
        }
    }

    /// Returns what it makes of a message.
    pub fn state(self) -> MessageState {
        match self {
            Recall::Cancelled => MessageState::Cancelled,
            Recall::Expired => MessageState::Expired,
        }
    }
}

/// A message that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    pub project: ProjectId,
    pub from: Sender,
    pub to: Recipient,
    pub kind: MessageKind,
    pub body: Body,
    pub reply_to: Option<MessageId>,
    pub interrupt: bool,
    pub key: Option<String>,
    pub ttl: Option<Duration>,
}

/// Why a message cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    #[error("there is nothing in the message")]
    Empty,
    #[error(
        "the message has {0} bytes, and may have {BODY_MAX} at most: put it into a file, and send its name"
    )]
    TooLong(u64),
    #[error("a key has 1 to {KEY_MAX} characters of ASCII that can be seen")]
    BadKey,
    #[error("a message may live from {} second to {} days", TTL_MIN.as_secs(), TTL_MAX.as_secs() / 86_400)]
    BadTtl,
}

impl NewMessage {
    /// Returns why it cannot be taken so, if it cannot.
    pub fn check(&self) -> Result<(), BadMessage> {
        let is_empty = self.body.text.as_deref().is_some_and(|text| text.trim().is_empty());
        if is_empty || self.body.bytes == 0 {
            return Err(BadMessage::Empty);
        }
        if self.body.bytes > BODY_MAX as u64 {
            return Err(BadMessage::TooLong(self.body.bytes));
        }
        let is_key = |key: &String| {
            (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_graphic())
        };
        if !self.key.as_ref().is_none_or(is_key) {
            return Err(BadMessage::BadKey);
        }
        match self.ttl {
            Some(ttl) if !(TTL_MIN..=TTL_MAX).contains(&ttl) => Err(BadMessage::BadTtl),
            Some(_) | None => Ok(()),
        }
    }
}

impl Message {
    /// Returns a new message as it is when it is stored. That to the person is delivered by that.
    pub fn new(
        id: MessageId,
        seq: i64,
        new: NewMessage,
        thread: Option<MessageId>,
        now: Timestamp,
    ) -> Message {
        let NewMessage { project, from, to, kind, body, reply_to, interrupt, key, ttl } = new;
        let stored = to.agent().is_none();
        Message {
            id,
            seq,
            project,
            from,
            to,
            kind,
            body,
            reply_to,
            thread: thread.unwrap_or(id),
            interrupt: interrupt && !stored,
            key,
            created_at: now,
            expires_at: ttl.map(|ttl| now + ttl).filter(|_| !stored),
            state: if stored { MessageState::Delivered } else { MessageState::Queued },
            attempts: 0,
            reason: None,
            evidence: stored.then_some(Evidence::Stored),
            delivered_at: stored.then_some(now),
            read_at: None,
            delivery: None,
            recall: None,
        }
    }

    /// Returns whether this is the message that whoever sends `new` with the same key means.
    pub fn is_as(&self, new: &NewMessage) -> bool {
        // Of an agent, the project follows; the person may be told the same of several.
        let is_there = self.to.agent().is_some() || self.project == new.project;
        self.to.agent() == new.to.agent()
            && is_there
            && self.kind == new.kind
            && self.body.sha256 == new.body.sha256
            && self.reply_to == new.reply_to
    }

    /// Returns the message as it is in `state`, for this reason if there is one.
    #[must_use]
    pub fn in_state(&self, state: MessageState, reason: Option<String>) -> Message {
        Message { state, reason, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
