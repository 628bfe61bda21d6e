//! Kinds of agents, as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of agent: a CLI that cmux knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Kind {
    pub name: String,
    /// What its makers call it.
    pub title: String,
    /// Where it is on the daemon's machine, if it is there.
    pub program: Option<String>,
    /// What it says of its version, if it has said so.
    pub version: Option<String>,
    /// The version that cmux was tested with.
    pub tested: Option<String>,
    /// How to get it.
    pub install: String,
    /// The user's manifest that it is from; without it, cmux came with it.
    pub file: Option<String>,
    /// Who tells how it is, in the order in which they are believed.
    pub witnesses: Vec<String>,
    /// What it may do without asking: `ask`, `edits` or `all`.
    pub permissions: String,
    /// What it can do, besides taking a prompt.
    pub can: Vec<String>,
    pub cannot: Vec<Cannot>,
}

/// Something that a kind of agent cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Cannot {
    pub what: String,
    pub why: String,
}

/// All kinds of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Kinds {
    pub kinds: Vec<Kind>,
    /// What is wrong with the user's manifests, each with its file and line.
    pub refused: Vec<String>,
    /// There is one page.
    pub next: Option<String>,
}
