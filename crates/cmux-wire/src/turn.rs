//! Turns, as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::usage::Usage;

/// One prompt's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Turn {
    pub id: String,
    /// The life of the agent that it belongs to.
    pub run: Option<String>,
    /// When the first of it was heard of.
    pub began_at: Time,
    /// When it was heard to be over.
    pub ended_at: Option<Time>,
    /// How it ended.
    pub how: Option<TurnEnd>,
    /// The messages that it was about, if they came from cmux.
    pub messages: Vec<String>,
    /// The tools that were used in it, each as often as it was, the first ones.
    pub tools: Vec<String>,
    /// How often a tool was used.
    pub calls: u64,
    /// What it took, as far as that was read.
    pub usage: Usage,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// All was said.
    Done,
    Failed,
    /// The provider let it do no more.
    Limited,
    /// Somebody stopped it, or nothing told of its end.
    Interrupted,
    /// Its conversation was left, or its program ended as it was told to.
    Left,
    /// Its program died.
    Died,
}
