//! How cmux does, over the last hour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::health::{Condition, Health};
use crate::time::Time;

/// The samples of the last hour, oldest first, and how cmux is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Vitals {
    /// How often a sample is taken.
    pub every_ms: u64,
    pub samples: Vec<Vital>,
    pub health: Health,
}

/// How cmux did at a time, and what happened since the sample before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Vital {
    pub at: Time,
    pub status: Condition,
    /// How many agents have a process.
    pub agents: u64,
    /// How many messages to agents are not over, and for how long the oldest of them has waited.
    pub waiting: u64,
    pub oldest_waiting_ms: Option<u64>,
    /// How many messages were delivered since, and how long half and nineteen in twenty of them took at most.
    pub delivered: u64,
    pub took_p50_ms: Option<u64>,
    pub took_p95_ms: Option<u64>,
    /// How many events there were since.
    pub events: u64,
    /// How many agents were brought back since.
    pub restarts: u64,
    /// How much memory the daemon takes.
    pub rss_bytes: u64,
    /// How long the store is, and how much room is left on its disk.
    pub store_bytes: u64,
    pub free_bytes: u64,
    pub memory_available_bytes: u64,
    pub memory_total_bytes: u64,
}
