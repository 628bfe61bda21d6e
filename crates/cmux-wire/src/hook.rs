//! Hooks, as `cmux hook` hands them over.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::ULID;
use crate::time::Time;
use crate::whole;

/// How an event is called.
const EVENT: &str = "^[A-Za-z0-9_]{1,64}$";

/// Whose hooks there are.
const KIND: &str = "^(claude|codex|gemini|demo)$";

/// The longest that a machine can be said to run: every number up to it is told apart.
const SINCE_BOOT_MS_MAX: u64 = (1 << 53) - 1;

/// How an id looks.
fn id() -> String {
    format!("^hk_{ULID}$")
}

/// How a delivery's id looks.
fn delivery() -> String {
    format!("^dlv_{ULID}$")
}

/// What an agent's hook was told.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewHook {
    /// Made by whoever was called. To hand over the same one again changes nothing.
    #[schemars(regex(pattern = id()))]
    pub hook: String,
    /// Whose hook it is: `claude`, `codex`, `gemini` or `demo`.
    #[schemars(regex(pattern = KIND))]
    pub kind: String,
    /// What the CLI calls the event, such as `PreToolUse`.
    #[schemars(regex(pattern = EVENT))]
    pub event: String,
    /// When it was called.
    pub at: Time,
    /// How long the machine had run by then, in milliseconds. It tells how old the hook is, whatever
    /// becomes of the clock.
    #[serde(deserialize_with = "whole::read")]
    #[schemars(range(max = SINCE_BOOT_MS_MAX))]
    pub since_boot_ms: u64,
    /// What the CLI sent, as it came. Secrets in it are not kept.
    pub payload: String,
    /// What was done about a message of cmux's that was in a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<HookClaim>,
}

/// What a hook did about a delivery that was in the prompt it was told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct HookClaim {
    #[schemars(regex(pattern = delivery()))]
    pub delivery: String,
    pub outcome: ClaimOutcome,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// The prompt goes on to the model.
    Claimed,
    /// It was claimed before, and goes on nevertheless.
    Again,
    /// It is a second copy, and goes no further.
    Second,
    /// It goes no further for another reason.
    Blocked,
}

/// A hook that was stored, and what to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct HookTaken {
    /// The event that it became.
    pub event: i64,
    /// Whether it had been taken before, so that nothing new has come of it.
    pub duplicate: bool,
    pub reply: HookReply,
}

/// What is answered to the CLI, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookReply {
    /// Nothing is decided.
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

/// Shows how long the payload is, and not what it says: there may be secrets in it.
impl fmt::Debug for NewHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NewHook { hook, kind, event, at, since_boot_ms, payload, claim } = self;
        f.debug_struct("NewHook")
            .field("hook", hook)
            .field("kind", kind)
            .field("event", event)
            .field("at", at)
            .field("since_boot_ms", since_boot_ms)
            .field("bytes", &payload.len())
            .field("claim", claim)
            .finish()
    }
}
