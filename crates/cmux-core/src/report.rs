//! News from outside, and what is answered. With [`Action`](crate::plan::Action), this is all that
//! mind and hands exchange.

use std::time::Duration;

use crate::agent::{
    AGENTS_MAX, Agent, AgentName, BadName, BadSetup, Intent, Setup, Sighting, Tagged,
};
use crate::archive::{Archive, BadArchive};
use crate::delivery::{Delivery, Sighted};
use crate::digest::Digest;
use crate::event::{Actor, Event, StopReason, What};
use crate::hook::{Caller, Hook, Ranks, Reply};
use crate::id::{AgentId, DeliveryId, EventId, MessageId, RunId, SessionId, SnapshotId, TokenId};
use crate::mail::{Full, Waiting, commanded};
use crate::message::{BadMessage, Message, MessageState, NewMessage};
use crate::project::{BadProject, Found, Project, ProjectId};
use crate::run::RunToken;
use crate::session::{Link, OverWhy, Session};
use crate::setup::check_word;
use crate::snapshot::Copied;
use crate::token::{BadToken, Token, TokenScope};
use crate::trust::{BadTrust, ProjectFile, Trust};
use crate::usage::Read;
use crate::webhook::{BadWebhook, Webhook};

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
    /// This is the digest of the password's hash now, if there is a password.
    PasswordIs {
        digest: Option<Digest>,
    },
    /// Something was seen of one life of an agent.
    AgentSeen {
        agent: AgentId,
        run: RunId,
        sighting: Sighting,
    },
    /// A hook was called by a run of an agent.
    Hooked {
        by: Caller,
        hook: Box<Hook>,
        ranks: Ranks,
    },
    /// This is what a life of an agent shows, from before it is launched.
    RunNamed {
        token: RunToken,
        /// The provider's name for the conversation, if cmux chose it.
        session: Option<String>,
    },
    /// The tmux server at this socket is gone, and whoever lived in it.
    ServerLost {
        server: String,
    },
    /// A pane with an agent's tags was found that is not where the store has that agent.
    PaneFound {
        tagged: Tagged,
        /// What it shows to be known, if that was seen.
        secret: Option<Digest>,
        name: String,
        kind: String,
        project: ProjectId,
    },
    /// An agent is at its prompt with nothing in it, and can take its mail. Its transcript is so long.
    MailWanted {
        agent: AgentId,
        run: RunId,
        mark: u64,
    },
    /// Something was seen of an attempt at a delivery.
    DeliverySeen {
        delivery: DeliveryId,
        attempt: u32,
        seen: Sighted,
    },
    /// This keeps mail from an agent that is at its prompt, or nothing does any more.
    MailHeld {
        agent: AgentId,
        run: RunId,
        held: Option<Waiting>,
    },
    /// These were read in a life of the store that was lost.
    MailRead {
        messages: Vec<MessageId>,
    },
    /// This was new in the files in which an agent's CLI writes down what it uses. After a life that is over,
    /// nothing more comes.
    UsageRead {
        agent: AgentId,
        read: Vec<Read>,
        last_of: Option<RunId>,
    },
    /// Whether agents of this kind run what they are told as a command.
    KindIs {
        kind: String,
        commanded: bool,
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
    /// Somebody wants to know whether what is written reaches the disk.
    Probe,
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
    /// Approve of a project's files as they were shown, and of the folder if it is to be.
    TrustProject {
        project: ProjectId,
        files: Vec<(ProjectFile, Digest)>,
        folder: bool,
    },
    /// Take back all that was approved of a project.
    DistrustProject {
        project: ProjectId,
    },
    SpawnAgent {
        new: NewAgent,
    },
    /// Have an agent run, pause or stop from now on.
    WantAgent {
        id: AgentId,
        intent: Intent,
    },
    /// End an agent's life, and begin another.
    RestartAgent {
        id: AgentId,
    },
    /// Have an agent stop in what it does now.
    InterruptAgent {
        id: AgentId,
    },
    /// Watch over an agent that a person started in this pane, which carries its tags from then on.
    AdoptAgent {
        new: NewAgent,
        tagged: Tagged,
    },
    /// Forget an agent that does not run, or that is a person's own.
    RemoveAgent {
        id: AgentId,
    },
    /// Take what lies in this archive out of the store.
    ArchiveLog {
        archive: Archive,
    },
    CreateToken {
        secret: Digest,
        name: String,
        scope: TokenScope,
        /// For how long it is good, if not for ever.
        lasts: Option<Duration>,
    },
    RevokeToken {
        id: TokenId,
    },
    /// Make a link that lets one browser in.
    MakeLink {
        secret: Digest,
    },
    /// Let a browser in that followed this link, by this secret of its own from now on.
    FollowLink {
        link: Digest,
        session: Digest,
    },
    /// Let a browser in that knew the password, by this secret of its own from now on.
    OpenSession {
        secret: Digest,
    },
    CloseSession {
        id: SessionId,
        why: OverWhy,
    },
    SendMessage {
        new: Box<NewMessage>,
    },
    /// Take a message back, if it was not read.
    CancelMessage {
        id: MessageId,
    },
    /// Have a message read after all that had come to its end without that.
    RetryMessage {
        id: MessageId,
    },
    /// The person has read a message to them.
    ReadMessage {
        id: MessageId,
    },
    TakeWebhook {
        webhook: Webhook,
    },
}

/// An agent that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAgent {
    pub project: ProjectId,
    pub name: AgentName,
    pub role: String,
    pub kind: String,
    pub parent: Option<AgentId>,
    pub setup: Setup,
}

impl NewAgent {
    /// Returns why it cannot be launched so, if it cannot.
    pub fn check(&self) -> Result<(), BadSetup> {
        check_word("role", &self.role)?;
        check_word("kind", &self.kind)?;
        self.setup.check()
    }
}

/// What is said to whoever reported, once it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Heard. There is nothing more to say.
    Heard,
    /// The project as it is stored, and whether it is new.
    Project {
        project: Project,
        created: bool,
    },
    /// All that is approved of a project.
    Trust(Trust),
    /// The agent as it is stored, and whether it is new.
    Agent {
        agent: Box<Agent>,
        created: bool,
    },
    /// The message as it is stored, and whether it is new.
    Message {
        message: Box<Message>,
        created: bool,
    },
    /// The delivery as it is stored, if there is one.
    Delivery(Option<Box<Delivery>>),
    Token(Token),
    Link(Link),
    Session(Session),
    /// The link was followed before. The session that it opened then is over.
    LinkReused {
        session: SessionId,
    },
    /// The event that tells of the hook, whether it was there before, and what to answer.
    Hooked {
        event: EventId,
        duplicate: bool,
        reply: Reply,
    },
    /// The event that tells of the delivery, and whether it was there before.
    Webhook {
        event: EventId,
        duplicate: bool,
    },
}

/// Why something that was asked for was not done. Nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no project `{0}`")]
    NoProject(ProjectId),
    #[error(transparent)]
    BadProject(#[from] BadProject),
    #[error(transparent)]
    BadTrust(#[from] BadTrust),
    #[error("there is no agent `{0}`")]
    NoAgent(AgentId),
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error(
        "there is an agent `{0}` in this project already; `cmux agent list` shows it, `cmux agent rm` \
         forgets it"
    )]
    NameTaken(AgentName),
    #[error(transparent)]
    BadSetup(#[from] BadSetup),
    #[error(
        "`{0}` still runs, or something of it is left: `cmux agent stop {0}` ends it; try again when it \
         is offline"
    )]
    AgentRuns(AgentName),
    #[error(
        "the project has {AGENTS_MAX} agents, and may have no more: `cmux agent rm` forgets those that are \
         not needed"
    )]
    TooManyAgents,
    #[error("`{name}` is {phase}: there is nothing to interrupt")]
    NotBusy { name: AgentName, phase: &'static str },
    #[error(
        "`{0}` was started by a person and only adopted, so cmux does not start it: start it yourself, and \
         adopt its pane"
    )]
    Adopted(AgentName),
    #[error("the pane {pane} is the agent `{agent}` already")]
    PaneTaken { pane: String, agent: AgentId },
    #[error(
        "the project `{project}` still has agents ({agents}): stop each with `cmux agent stop` and forget \
         it with `cmux agent rm` first"
    )]
    HasAgents { project: ProjectId, agents: u64 },
    #[error(transparent)]
    BadArchive(#[from] BadArchive),
    #[error("there is no token `{0}`; `cmux token list` shows those there are")]
    NoToken(TokenId),
    #[error(transparent)]
    BadToken(#[from] BadToken),
    #[error("this link is not known here, or its time is over; `cmux open` makes another")]
    NoLink,
    #[error("there is no such session; `cmux open` makes a link that opens one")]
    NoSession,
    #[error("no run of an agent shows this token, so nothing that it tells is taken")]
    NoRun,
    #[error("there is no message `{0}`")]
    NoMessage(MessageId),
    #[error(transparent)]
    BadMessage(#[from] BadMessage),
    #[error("{}", commanded(.to))]
    Commanded { to: String },
    #[error(transparent)]
    MailFull(#[from] Full),
    #[error(
        "a message with this key and another body was sent before; a new one needs a key of its own"
    )]
    KeyConflict,
    #[error("the message `{id}` is {}: {}", .state.name(), is_over(*.state))]
    MessageOver { id: MessageId, state: MessageState },
    #[error(transparent)]
    BadWebhook(#[from] BadWebhook),
    #[error(
        "a delivery with this id and another body was received before; a new one needs an id of its own"
    )]
    WebhookConflict,
}

/// Returns why nothing can be done about a message in `state`.
fn is_over(state: MessageState) -> &'static str {
    match state {
        MessageState::Delivered => "its reader has read it",
        MessageState::Failed | MessageState::Cancelled | MessageState::Expired => {
            "`cmux message retry` has it sent after all"
        }
        MessageState::Queued
        | MessageState::Typing
        | MessageState::Submitted
        | MessageState::Claimed
        | MessageState::InDoubt => "it is still on its way: `cmux message cancel` takes it back",
    }
}
