//! Messages, as clients see them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::project;
use crate::schema::{BLANK, ULID};
use crate::time::Time;
use crate::turn::Turn;
use crate::whole;

/// How long a body may be, in bytes.
pub const BODY_MAX: usize = 10 << 20;

/// How much of a body is told in a list, in bytes.
pub const BODY_LISTED: usize = 8 << 10;

/// For how long a message may be given to be read, in seconds: a year.
pub const TTL_S_MAX: u64 = 365 * 24 * 60 * 60;

/// How a key looks.
pub const KEY: &str = "^[!-~]{1,200}$";

/// How the place looks at which a page begins.
pub const CURSOR: &str = "^[0-9]{1,18}$";

/// How a reader is called.
const TO: &str = "^[A-Za-z][A-Za-z0-9_-]{0,47}(@[^@]{1,200})?$";

/// Returns how an id looks.
pub fn id() -> String {
    format!("^msg_{ULID}$")
}

/// How a body looks: something is in it.
fn body() -> String {
    format!("^[{BLANK}]*[^{BLANK}]")
}

/// Something that somebody has to say to an agent, or to the person.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Message {
    #[schemars(regex(pattern = id()))]
    pub id: String,
    /// The project that it is read in.
    #[schemars(regex(pattern = project::ID))]
    pub project: String,
    /// Who says it: an agent's name, with `@` and its project if that is another; `user`, `cmux`, or
    /// `script:` and the name of a token.
    pub from: String,
    /// Who reads it: an agent's name, or `user`.
    pub to: String,
    pub kind: MessageKind,
    /// What it says. In a list, no more than its beginning.
    pub body: String,
    /// How long what it says is.
    pub body_bytes: u64,
    /// Whether only the beginning of what it says is here.
    #[serde(default)]
    pub body_cut: bool,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// The first message of the conversation that it belongs to.
    pub thread: String,
    /// The task that it is about, if it is about one.
    pub task: Option<String>,
    /// What goes with it for programs, if something does.
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub data: Option<Value>,
    pub state: MessageState,
    /// What it waits for, in a word, if it waits.
    pub waiting_for: Option<String>,
    /// How often it was typed.
    pub attempts: u32,
    /// Why it is in that state, if there is more to say.
    pub reason: Option<String>,
    /// By what it is known that it was read.
    pub evidence: Option<String>,
    pub created_at: Time,
    /// When it is given up if it was not read.
    pub expires_at: Option<Time>,
    pub delivered_at: Option<Time>,
    /// When the person has read it, if it is to them.
    pub read_at: Option<Time>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
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

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Stored, and not yet typed.
    Queued,
    /// It is being typed.
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

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Messages {
    pub messages: Vec<Message>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// Has something to say to somebody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// An agent by its id, by its name, or as `name@project`; or `user`, the person. It may be left out
    /// of an answer, which goes to whoever sent what it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = TO))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub to: Option<String>,
    /// What it says, of at most 10 MiB.
    #[schemars(regex(pattern = body()))]
    pub body: String,
    /// What it is: unless it is said, an answer is a `response`, what the person says `user`, and all else
    /// a `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub kind: Option<MessageKind>,
    /// The project in which the reader has that name. An agent's is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = project::ID))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub project: Option<String>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = id()))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub reply_to: Option<String>,
    /// To send the same again with the same key sends nothing. `Idempotency-Key` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = KEY))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub key: Option<String>,
    /// After how many seconds it is given up if it was not read.
    #[serde(
        default,
        deserialize_with = "whole::read_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1, max = TTL_S_MAX))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub ttl_s: Option<u64>,
    /// Whether its reader is to be interrupted for it.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(as = "Option<bool>", optional))]
    pub interrupt: bool,
}

/// How mail is: how much of it nobody has read, and what became of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MailStatus {
    /// How many messages wait for agents.
    pub waiting: u64,
    /// When the one of them was sent that has waited longest.
    pub oldest_at: Option<Time>,
    /// How many the person has not read.
    pub unread: u64,
    pub counted: MailCounts,
}

/// What became of mail since the daemon started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MailCounts {
    /// How often something was typed.
    pub attempts: u64,
    /// How many second copies were kept from agents.
    pub duplicates_blocked: u64,
    /// How many messages were delivered, by what that is known.
    pub delivered: Vec<EvidenceCount>,
    /// How long it took on average until agents had read what was sent to them.
    pub mean_ms: Option<u64>,
}

/// How many messages are known to be delivered by one kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EvidenceCount {
    pub evidence: String,
    pub messages: u64,
}

/// What an agent was told and what it did, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct History {
    pub history: Vec<Moment>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// One entry of an agent's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Moment {
    /// A message to it, or from it.
    Message(Box<Message>),
    /// A turn of it, as its hooks told.
    Turn(Box<Turn>),
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
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MessageKind::Task => "task",
            MessageKind::Status => "status",
            MessageKind::Response => "response",
            MessageKind::Question => "question",
            MessageKind::Error => "error",
            MessageKind::User => "user",
            MessageKind::System => "system",
        })
    }
}

impl fmt::Display for MessageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MessageState::Queued => "queued",
            MessageState::Typing => "typing",
            MessageState::Submitted => "submitted",
            MessageState::Claimed => "claimed",
            MessageState::Delivered => "delivered",
            MessageState::Failed => "failed",
            MessageState::Cancelled => "cancelled",
            MessageState::Expired => "expired",
            MessageState::InDoubt => "in_doubt",
        })
    }
}

/// Shows how long it is, and not what it says.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("from", &self.from)
            .field("to", &self.to)
            .field("kind", &self.kind)
            .field("state", &self.state)
            .field("bytes", &self.body_bytes)
            .finish_non_exhaustive()
    }
}

/// Shows how long it is, and not what it says.
impl fmt::Debug for NewMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMessage")
            .field("to", &self.to)
            .field("kind", &self.kind)
            .field("reply_to", &self.reply_to)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_need_not_be_said_is_left_to_the_daemon() {
        let new: NewMessage = serde_json::from_str(r#"{"to":"api","body":"hush"}"#).unwrap();
        assert_eq!((new.kind, new.ttl_s, new.interrupt), (None, None, false));
        let wire = r#"{"to":"api","body":"hush","interrupt":false}"#;
        assert_eq!(serde_json::to_string(&new).unwrap(), wire);
        assert!(!format!("{new:?}").contains("hush"), "{new:?}");
    }

    #[test]
    fn a_kind_and_a_state_are_said_as_they_are_written() {
        for kind in MessageKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        for state in MessageState::ALL {
            assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{state}\""));
        }
    }

    #[test]
    fn what_a_message_may_not_say_is_refused() {
        for wire in [
            r#"{"to":"api"}"#,
            r#"{"to":"api","body":7}"#,
            r#"{"to":"api","body":"b","kind":"shout"}"#,
            r#"{"to":"api","body":"b","ttl":60}"#,
            r#"{"to":"api","body":"b","ttl_s":"10m"}"#,
            r#"{"to":"api","body":"b","from":"user"}"#,
        ] {
            assert!(serde_json::from_str::<NewMessage>(wire).is_err(), "{wire}");
        }
    }
}
