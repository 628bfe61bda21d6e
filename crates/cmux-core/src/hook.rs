//! Hooks: what an agent's CLI tells of itself as it works, what that says of the agent, and what may be
//! answered.
//!
//! A hook's own id makes it known again, so that it is stored once however often it is handed over. What
//! belongs together is linked by ids: the session, the turn, the call of a tool. A subagent has its agent's
//! hooks, too; what it tells never changes what its agent is seen doing.

mod redact;
mod turn;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{Agent, Doing};
use crate::digest::Digest;
use crate::event::What;
use crate::id::{AgentId, DeliveryId, HookId, RunId, TurnId};
use crate::project::ProjectId;
use crate::time::Timestamp;

pub use self::redact::{cut, redact};
pub use self::turn::{Talk, Turns};

/// How long a hook is remembered, so as to be known again. What lay in the spool for longer is not taken.
pub const HOOK_KEEP: Duration = Duration::from_hours(24 * 30);

/// How much of a payload is kept, in bytes.
pub const PAYLOAD_MAX: usize = 64 << 10;

/// The longest name or id that is taken from a payload, in characters.
pub const TEXT_MAX: usize = 200;

/// What was told by a hook.
#[derive(Clone, PartialEq, Eq)]
pub struct Hook {
    pub id: HookId,
    /// What the CLI calls it, such as `PreToolUse`.
    pub name: String,
    pub means: Meaning,
    pub ids: Ids,
    /// When it was called, by the wall.
    pub at: Timestamp,
    /// How long ago that was when it was reported, whatever the wall says.
    pub age: Duration,
    /// What it was told, without secrets, as far as it is kept.
    pub payload: String,
    pub claim: Option<HookClaim>,
}

/// What a hook did about a delivery that was in the prompt it was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookClaim {
    pub delivery: DeliveryId,
    pub outcome: ClaimOutcome,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The prompt goes on to the model.
    Claimed,
    /// It was claimed before, and goes on nevertheless: the same event was told twice, or its CLI cannot be
    /// held back.
    Again,
    /// It is a second copy of what was claimed or read before, and goes no further.
    Second,
    /// It goes no further for another reason: it was taken back, or is not the whole of the prompt, or its
    /// ticket cannot be taken.
    Blocked,
}

impl ClaimOutcome {
    pub fn name(self) -> &'static str {
        match self {
            ClaimOutcome::Claimed => "claimed",
            ClaimOutcome::Again => "again",
            ClaimOutcome::Second => "second",
            ClaimOutcome::Blocked => "blocked",
        }
    }

    /// Returns whether the prompt does not reach the model.
    pub fn is_held_back(self) -> bool {
        match self {
            ClaimOutcome::Second | ClaimOutcome::Blocked => true,
            ClaimOutcome::Claimed | ClaimOutcome::Again => false,
        }
    }
}

/// Shows how long the payload is, and not what it says: there are prompts in it.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hook { id, name, means, ids, at, age, payload, claim } = self;
        f.debug_struct("Hook")
            .field("id", id)
            .field("name", name)
            .field("means", means)
            .field("ids", ids)
            .field("at", at)
            .field("age", age)
            .field("bytes", &payload.len())
            .field("claim", claim)
            .finish()
    }
}

/// What the log tells of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub hook: HookId,
    pub name: String,
    pub means: &'static str,
    pub ids: Ids,
    pub turn: Option<TurnId>,
    pub tool: Option<String>,
    /// Whether the tool did well, once it has ended.
    pub ok: Option<bool>,
    /// When it was called, which may be long before it was heard of.
    pub at: Timestamp,
    /// The digest of what it was told, as far as that is kept.
    pub payload: Digest,
    pub claim: Option<HookClaim>,
}

/// Who called a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A run of an agent that was known at the door.
    Run { agent: AgentId, run: RunId, project: ProjectId },
    /// Whoever has what this is the digest of: a run's token.
    Bearer(Digest),
}

/// How far an agent's hooks are believed, by its kind: the rank of theirs among its witnesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks(Arc<BTreeMap<String, u8>>);

impl FromIterator<(String, u8)> for Ranks {
    fn from_iter<T: IntoIterator<Item = (String, u8)>>(ranks: T) -> Ranks {
        Ranks(Arc::new(ranks.into_iter().collect()))
    }
}

impl Ranks {
    /// Returns the rank that hooks have for agents of `kind`. For most of them, something else is better.
    pub fn of(&self, kind: &str) -> u8 {
        self.0.get(kind).copied().unwrap_or(1)
    }
}

/// What the CLI calls the things that a hook is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    pub session: Option<String>,
    /// The subagent that it comes from, if it comes from one.
    pub subagent: Option<String>,
    /// The provider's own name for the turn or its prompt.
    pub prompt: Option<String>,
    /// The call of a tool.
    pub call: Option<String>,
}

/// What a hook means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    SessionBegan {
        how: Beginning,
    },
    SessionEnded,
    /// A prompt is on its way to the model.
    Prompted,
    ToolBegan {
        tool: String,
    },
    ToolEnded {
        tool: String,
        ok: bool,
    },
    /// Somebody must answer something.
    Asking {
        what: String,
    },
    /// The turn is over, unless something that it began still runs in the background.
    TurnEnded {
        in_background: bool,
    },
    TurnFailed,
    /// The provider lets it do no more.
    Limited {
        until: Option<Timestamp>,
    },
    SubagentBegan,
    SubagentEnded,
    /// The conversation is being made shorter.
    Compacting,
    /// It tells a person something that changes nothing.
    Notice,
    /// Nothing that cmux understands.
    Other,
}

/// How a session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    New,
    /// It goes on from before, or as a copy of one from before.
    Resumed,
    /// The one before was left for it.
    Cleared,
    /// It is the same, made shorter.
    Compacted,
}

/// What is answered to a hook. Each CLI is told in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing stands against it, and nothing is decided.
    Pass,
    /// It must not go on.
    Block { why: String },
    /// It may be done without asking anybody.
    Allow,
    /// It may not be done.
    Deny { why: String },
    /// A person is to be asked.
    Ask,
    /// The model is to know this besides.
    Context { text: String },
}

/// What becomes of an event while it waits for a reply that does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// How long the reply is waited for.
    pub within: Duration,
    /// Whether it goes on without one.
    pub fails_open: bool,
}

impl Gate {
    /// What holds for events that gate nothing: they are told in passing.
    pub const ORDINARY: Gate = Gate { within: Duration::from_millis(300), fails_open: true };

    /// Returns what is answered if no reply came, and why not.
    pub fn without_reply(self, why: &str) -> Reply {
        match self.fails_open {
            true => Reply::Pass,
            false => Reply::Block { why: format!("cmux could not be asked: {why}") },
        }
    }
}

/// Whose session a hook comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The agent's, as it is known.
    Own,
    /// The agent's, which has this id from now on.
    Becomes(String),
    /// Somebody's that the agent started.
    Another,
}

impl Meaning {
    /// Returns its name, as the log says it.
    pub fn name(&self) -> &'static str {
        match self {
            Meaning::SessionBegan { .. } => "session_began",
            Meaning::SessionEnded => "session_ended",
            Meaning::Prompted => "prompted",
            Meaning::ToolBegan { .. } => "tool_began",
            Meaning::ToolEnded { .. } => "tool_ended",
            Meaning::Asking { .. } => "asking",
            Meaning::TurnEnded { in_background: false } => "turn_ended",
            Meaning::TurnEnded { in_background: true } => "turn_in_background",
            Meaning::TurnFailed => "turn_failed",
            Meaning::Limited { .. } => "limited",
            Meaning::SubagentBegan => "subagent_began",
            Meaning::SubagentEnded => "subagent_ended",
            Meaning::Compacting => "compacting",
            Meaning::Notice => "notice",
            Meaning::Other => "other",
        }
    }

    /// Returns the tool that it is about, and whether that did well, if it has ended.
    pub fn tool(&self) -> Option<(&str, Option<bool>)> {
        match self {
            Meaning::ToolBegan { tool } => Some((tool, None)),
            Meaning::ToolEnded { tool, ok } => Some((tool, Some(*ok))),
            Meaning::SessionBegan { .. }
            | Meaning::SessionEnded
            | Meaning::Prompted
            | Meaning::Asking { .. }
            | Meaning::TurnEnded { .. }
            | Meaning::TurnFailed
            | Meaning::Limited { .. }
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => None,
        }
    }

    /// Returns what an agent does that tells this of itself, if it says so. A session begins before its
    /// prompt takes anything, so that alone does not make it idle.
    pub fn doing(&self) -> Option<Doing> {
        match self {
            Meaning::Prompted
            | Meaning::ToolBegan { .. }
            | Meaning::ToolEnded { .. }
            | Meaning::TurnEnded { in_background: true } => Some(Doing::Working),
            Meaning::Asking { what } => Some(Doing::Asking { what: what.clone() }),
            Meaning::TurnEnded { in_background: false } | Meaning::TurnFailed => {
                Some(Doing::AtPrompt)
            }
            Meaning::Limited { until } => Some(Doing::Limited { until: *until }),
            Meaning::SessionBegan { .. }
            | Meaning::SessionEnded
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => None,
        }
    }
}

impl Hook {
    /// Returns whose session it comes from, if the agent's is `known`, and has been `heard` of in this run.
    pub fn whose(&self, known: Option<&str>, heard: bool) -> Whose {
        if self.ids.subagent.is_some() {
            return Whose::Another;
        }
        // Whoever tells no session has only one.
        let Some(told) = &self.ids.session else { return Whose::Own };
        if known == Some(told) {
            return Whose::Own;
        }
        let (begins, goes_on) = match self.means {
            Meaning::SessionBegan { how: Beginning::Cleared | Beginning::Resumed } => (true, true),
            Meaning::SessionBegan { how: Beginning::New | Beginning::Compacted } => (true, false),
            Meaning::SessionEnded
            | Meaning::Prompted
            | Meaning::ToolBegan { .. }
            | Meaning::ToolEnded { .. }
            | Meaning::Asking { .. }
            | Meaning::TurnEnded { .. }
            | Meaning::TurnFailed
            | Meaning::Limited { .. }
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => (false, false),
        };
        // A run begins with the agent's own session; what is begun later by what it started is not it. The
        // hook that told of the beginning may be lost, and then any is the first.
        let is_first = (begins && !heard) || known.is_none();
        if goes_on || is_first { Whose::Becomes(told.clone()) } else { Whose::Another }
    }

    /// Returns what the log tells of it, if it belongs to `turn`.
    pub fn told(&self, turn: Option<TurnId>) -> What {
        let (tool, ok) = self.means.tool().unzip();
        What::HookReceived(Told {
            hook: self.id,
            name: self.name.clone(),
            means: self.means.name(),
            ids: self.ids.clone(),
            turn,
            tool: tool.map(ToOwned::to_owned),
            ok: ok.flatten(),
            at: self.at,
            payload: Digest::of(self.payload.as_bytes()),
            claim: self.claim,
        })
    }

    /// Returns when it was called, by the clock that says `now`.
    pub fn stamp(&self, now: Timestamp) -> Timestamp {
        now - self.age
    }

    /// Returns what it says that `agent` does, unless somebody said so later already. What another session
    /// tells says nothing.
    pub fn says(&self, agent: &Agent, whose: &Whose, now: Timestamp) -> Option<Doing> {
        let is_older = agent.word.is_some_and(|word| self.stamp(now) < word.at);
        match whose {
            Whose::Own | Whose::Becomes(_) if !is_older => self.means.doing(),
            Whose::Own | Whose::Becomes(_) | Whose::Another => None,
        }
    }
}

#[cfg(test)]
mod tests;
