//! Why cmux takes an agent to be in its phase, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{self, Phase};
use crate::time::Time;

/// An agent's phase, and who said what of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Why {
    #[schemars(regex(pattern = agent::id()))]
    pub agent: String,
    pub phase: Phase,
    /// Since when it is in that phase.
    pub since: Time,
    pub reason: Option<String>,
    /// What decided on the phase, if a witness did.
    pub decided: Option<Saying>,
    /// What each witness said last, in the order in which they are believed.
    pub sayings: Vec<Saying>,
}

/// What a witness says of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Saying {
    /// `status`, `hooks`, `transcript`, `title`, `screen` or `process`.
    pub witness: String,
    /// A phase, or a word like one.
    pub says: String,
    /// The rule of the manifest that matched, if one did.
    pub rule: Option<String>,
    /// The line that it matched.
    pub line: Option<String>,
    pub at: Time,
}
