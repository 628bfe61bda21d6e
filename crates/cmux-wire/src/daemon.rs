//! The daemon, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::message::MailStatus;
use crate::project::Project;
use crate::time::Time;
use crate::usage::Usage;

/// Whether a daemon runs, and which. Also what `cmux daemon status --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DaemonStatus {
    pub running: bool,
    /// Whether it is there, and does not answer for its store yet.
    #[serde(default)]
    pub starting: bool,
    pub ready: bool,
    pub pid: Option<u32>,
    pub guard_pid: Option<u32>,
    pub version: String,
    pub port: Option<u16>,
    /// Where browsers and scripts find it, if it runs: `http://127.0.0.1:8000`.
    #[serde(default)]
    pub address: Option<String>,
    pub home: String,
    pub started_at: Option<Time>,
    /// Why nothing but reading is possible, if that is so.
    pub safe_mode: Option<String>,
}

/// Everything at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Status {
    pub daemon: DaemonStatus,
    pub store: StoreStatus,
    pub projects: Vec<Project>,
    #[serde(default)]
    pub agents: Vec<Agent>,
    #[serde(default)]
    pub mail: MailStatus,
    /// What the agents that there are have used.
    #[serde(default)]
    pub usage: Usage,
}

/// How the store is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StoreStatus {
    /// `healthy` or `degraded`.
    pub status: String,
    pub why: Option<String>,
    pub log: Option<String>,
    pub head: i64,
    pub bytes: u64,
    pub free_bytes: u64,
    pub last_snapshot_at: Option<Time>,
    /// What a person should know, such as that the store was mended and what is missing since.
    pub notices: Vec<Notice>,
}

/// Something a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
// The stream has notices too, and clients' types are all in one place.
#[serde(rename = "StoreNotice")]
pub struct Notice {
    pub at: Time,
    pub kind: String,
    pub text: String,
}

/// The daemon was asked to stop, and does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stopping {
    pub pid: u32,
}
