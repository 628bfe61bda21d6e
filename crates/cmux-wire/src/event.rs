//! The log, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Time;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Event {
    pub id: i64,
    pub v: u32,
    pub at: Time,
    /// `noun.verb`.
    pub kind: String,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub run: Option<String>,
    pub subject: Option<String>,
    pub cause: Option<String>,
    pub actor: String,
    #[cfg_attr(feature = "typescript", ts(type = "unknown"))]
    pub data: Value,
}

/// A stretch of the log, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Events {
    pub log: String,
    pub events: Vec<Event>,
    /// The newest event there is.
    pub head: i64,
}

/// What a client of the stream is told besides events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// The first word: which log this is, and how far it has come.
    Hello { log: String, head: i64 },
    /// The client's place is in a log that is over: begin again.
    Reset,
    /// The client is too slow. Resume after this event.
    Lagged { resume: i64 },
    /// The daemon stops. Come back after so long.
    Goodbye { retry_ms: u64 },
}
