//! An agent's conversation, as its CLI has written it down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Time;

/// How a place in a conversation looks.
pub const CURSOR: &str = "^[0-9a-f]{1,16}-[0-9]{1,18}-[0-9]{1,9}$";

/// A page of a conversation, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Conversation {
    pub entries: Vec<Entry>,
    /// Where the page before this one ends, if there may be one.
    pub next: Option<String>,
    /// Why there is no conversation, in words.
    pub missing: Option<String>,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Entry {
    /// What it is known by in this conversation.
    pub id: String,
    pub at: Option<Time>,
    /// Whether it was said to a subagent, or by one.
    pub subagent: bool,
    #[serde(flatten)]
    pub said: Said,
}

/// What was said. Of long texts, the beginning is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Said {
    /// To the agent, with the messages of cmux that it has in it.
    Prompt { text: String, text_cut: bool, messages: Vec<String> },
    /// By the agent.
    Answer { text: String, text_cut: bool },
    /// By the agent, to itself.
    Thinking { text: String, text_cut: bool },
    /// To a tool.
    Call {
        call: String,
        tool: String,
        #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
        input: Value,
        input_cut: bool,
    },
    /// By a tool, and whether it did what it was told, if that is known.
    Result { call: String, text: String, text_cut: bool, ok: Option<bool> },
    /// What befell the conversation.
    Note { text: String },
}
