//! The log, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::health::Health;
use crate::time::Time;
use crate::vitals::Vital;

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
    /// The newest event that is missing here because it was archived, if that is after the one asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_through: Option<i64>,
    /// How far back it was looked, unless it was looked at all there is before: ask again with `before` this.
    #[serde(default)]
    pub scanned_from: Option<i64>,
    /// How far it was looked after `since`, unless it was looked at all there is: ask again with `since` this.
    #[serde(default)]
    pub scanned_through: Option<i64>,
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
    /// The events up to this one were archived and are no longer here. What follows comes after it.
    Archived { through: i64 },
    /// The client is too slow. Resume after this event.
    Lagged { resume: i64 },
    /// The daemon stops. Come back after so long.
    Goodbye { retry_ms: u64 },
    /// How cmux does, every few seconds, to one who asked for it.
    Vitals { sample: Box<Vital>, health: Box<Health> },
}
