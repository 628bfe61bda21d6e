//! Agents, as clients see them.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::project;
use crate::schema::{ULID, UNPRINTED};
use crate::time::Time;
use crate::usage::Usage;

/// How a role or kind looks.
const WORD: &str = "^[A-Za-z][A-Za-z0-9_.-]{0,31}$";

/// How what is handed to a program looks.
const NO_ZERO: &str = r"^[^\u0000]*$";

/// Returns how an id looks.
pub fn id() -> String {
    format!("^agt_{ULID}$")
}

/// Returns how an agent is named in a path: by its id, or by its name.
pub fn id_or_name() -> String {
    format!("^(agt_{ULID}|{})$", name_within())
}

/// How a name looks. Some mean somebody else, whichever letters are capitals.
fn name() -> String {
    format!("^{}$", name_within())
}

fn name_within() -> String {
    let either = |c: char| format!("[{}{c}]", c.to_ascii_uppercase());
    let reserved = ["user", "operator", "cmux", "all", "register"];
    let reserved: Vec<String> =
        reserved.iter().map(|word| word.chars().map(either).collect()).collect();
    format!("(?!({}|agt_{ULID})$)[A-Za-z][A-Za-z0-9_-]{{0,47}}", reserved.join("|"))
}

/// How a folder looks: absolute, and without `.`, `..`, `//` or a slash at its end.
fn folder() -> String {
    format!(r"^(/|(/(?!\.\.?(/|$))[^/{UNPRINTED}]+)+)$")
}

/// How a pane looks, at a server's socket or without one.
fn pane() -> String {
    format!("^(/[^{UNPRINTED}]*:)?%[0-9]{{1,9}}$")
}

/// How the name of a variable looks. Those that tell an agent who it is are cmux's own.
fn variable() -> Value {
    json!({
        "pattern": "^(?!CMUX_(AGENT|AGENT_NAME|RUN|PROJECT|SOCKET|TOKEN)$)[A-Za-z_][A-Za-z0-9_]{0,127}$",
    })
}

/// How what a variable holds looks.
fn value() -> Value {
    json!({ "type": "string", "maxLength": 8192, "pattern": NO_ZERO })
}

/// An AI coding session that cmux keeps alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Agent {
    #[schemars(regex(pattern = id()))]
    pub id: String,
    pub name: String,
    #[schemars(regex(pattern = project::ID))]
    pub project: String,
    pub role: String,
    /// Which program it is.
    pub kind: String,
    /// The agent that launched it, if one did.
    pub parent: Option<String>,
    pub intent: Intent,
    pub phase: Phase,
    /// Since when it is in that phase.
    pub since: Time,
    /// Until when, where that is known: its provider's limit, or the wait before it is started again.
    #[serde(default)]
    pub until: Option<Time>,
    /// Why, if there is more to say.
    pub reason: Option<String>,
    /// Whether it is kept when its task is done.
    pub permanent: bool,
    pub pid: Option<u32>,
    /// Where it is in tmux.
    pub pane: Option<String>,
    /// Its present life, if it has one.
    pub run: Option<String>,
    /// The provider's own name for the conversation.
    pub session_id: Option<String>,
    pub cwd: String,
    /// When its present life began.
    pub started_at: Option<Time>,
    pub last_seen_at: Option<Time>,
    /// How many messages wait for it.
    pub queue: u64,
    /// What it has used in all.
    #[serde(default)]
    pub usage: Usage,
}

/// What people want of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    Run,
    /// The process stays, nothing is delivered, and it is not brought back.
    Pause,
    Stop,
}

/// What an agent was last seen doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// No process, and none on its way.
    Offline,
    /// Launched, and not yet at its prompt.
    Starting,
    /// At its prompt.
    Idle,
    /// In the middle of a turn.
    Busy,
    /// A question is on its screen that somebody must answer.
    Asking,
    /// Its provider lets it do no more for now.
    Limited,
    /// Ended unasked. It is launched again.
    Down,
    /// Ended too often. Left alone until somebody asks for it again.
    Failed,
}

/// A page of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Agents {
    pub agents: Vec<Agent>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// Asks for an agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    #[schemars(regex(pattern = project::ID))]
    pub project: String,
    #[schemars(regex(pattern = name()))]
    pub name: String,
    /// Which program it is, such as `claude`.
    #[schemars(regex(pattern = WORD))]
    pub kind: String,
    /// What it is in its team; a worker unless it is said.
    #[serde(default = "role")]
    #[schemars(regex(pattern = WORD))]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>", optional))]
    pub role: String,
    /// What it is to do first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536), regex(pattern = NO_ZERO))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub task: Option<String>,
    /// Where it works; the project's root unless it is said. An absolute path, of at most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096), regex(pattern = folder()))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub cwd: Option<String>,
    /// Added to the program's own arguments.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(max = 8192), regex(pattern = NO_ZERO)))]
    #[cfg_attr(feature = "typescript", ts(as = "Option<Vec<String>>", optional))]
    pub args: Vec<String>,
    /// Variables that are set besides those that cmux sets. What they hold is told to nobody.
    #[serde(default)]
    #[schemars(extend(
        "propertyNames" = variable(),
        "additionalProperties" = value(),
        "maxProperties" = 64
    ))]
    #[cfg_attr(feature = "typescript", ts(as = "Option<BTreeMap<String, String>>", optional))]
    pub env: BTreeMap<String, String>,
    /// Whether it is kept when its task is done.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(as = "Option<bool>", optional))]
    pub permanent: bool,
}

/// Asks for a pane that a person started to be an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// The pane, as tmux numbers it, after its server's socket and a colon: `/tmp/tmux-1000/default:%7`.
    /// Without a socket, it is at the server that tmux asks by itself.
    #[schemars(length(max = 4096), regex(pattern = pane()))]
    pub pane: String,
    #[schemars(regex(pattern = name()))]
    pub name: String,
    /// Which program runs in it, such as `claude`.
    #[schemars(regex(pattern = WORD))]
    pub kind: String,
    #[schemars(regex(pattern = project::ID))]
    pub project: String,
}

/// Where an agent is in tmux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Place {
    /// The tmux server's socket.
    pub server: String,
    /// The pane, as tmux numbers it: `%7`.
    pub pane: String,
}

fn role() -> String {
    "worker".to_owned()
}

/// Shows the names of the variables and not what they hold.
impl fmt::Debug for NewAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewAgent")
            .field("project", &self.project)
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("role", &self.role)
            .field("task", &self.task)
            .field("cwd", &self.cwd)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("permanent", &self.permanent)
            .finish()
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Intent::Run => "run",
            Intent::Pause => "pause",
            Intent::Stop => "stop",
        })
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Offline => "offline",
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Busy => "busy",
            Phase::Asking => "asking",
            Phase::Limited => "limited",
            Phase::Down => "down",
            Phase::Failed => "failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_need_not_be_said_is_as_most_want_it() {
        let sent = r#"{"project":"p","name":"n","kind":"claude"}"#;
        let new: NewAgent = serde_json::from_str(sent).unwrap();
        assert_eq!((new.role.as_str(), new.permanent), ("worker", false));
        assert_eq!((new.task, new.cwd), (None, None));
        assert!(new.args.is_empty() && new.env.is_empty());
    }

    #[test]
    fn no_secret_of_the_environment_is_shown() {
        let sent = r#"{"project":"p","name":"n","kind":"k","env":{"KEY":"hush"}}"#;
        let new: NewAgent = serde_json::from_str(sent).unwrap();
        let shown = format!("{new:?}");
        assert!(shown.contains("KEY") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_phase_and_an_intent_are_said_as_they_are_written() {
        use Phase::{Asking, Busy, Down, Failed, Idle, Limited, Offline, Starting};
        for phase in [Offline, Starting, Idle, Busy, Asking, Limited, Down, Failed] {
            assert_eq!(serde_json::to_string(&phase).unwrap(), format!("\"{phase}\""));
        }
        for intent in [Intent::Run, Intent::Pause, Intent::Stop] {
            assert_eq!(serde_json::to_string(&intent).unwrap(), format!("\"{intent}\""));
        }
    }
}
