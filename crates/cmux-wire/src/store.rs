//! The store, as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::whole;

/// What a check of the store found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Check {
    pub ok: bool,
    pub problems: Vec<String>,
    pub events: u64,
    pub bytes: u64,
}

/// Asks for a copy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewBackup {
    /// An absolute path, at which there must be nothing.
    #[schemars(regex(pattern = "^/"))]
    pub file: String,
}

/// A copy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Backup {
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
    /// The newest event in it.
    pub head: i64,
}

/// A backup that was put in the store's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Restored {
    pub file: String,
    /// The id of the log that has begun.
    pub log: String,
    pub head: i64,
    /// Where what was there before has been moved.
    pub replaced: Option<String>,
}

/// What a walk along the log's hashes found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Audit {
    pub ok: bool,
    pub log: Option<String>,
    pub events: u64,
    pub head: i64,
    /// How many backups' notes were held against it.
    pub anchors: usize,
    /// The first event that does not fit.
    pub misfit: Option<Misfit>,
}

/// An event that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Misfit {
    pub id: i64,
    pub why: String,
}

/// Asks for old events to be written to a file and taken out of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewArchive {
    /// An absolute path, at which there must be nothing.
    #[schemars(regex(pattern = "^/"))]
    pub file: String,
    /// Events of the last so many days stay.
    #[serde(deserialize_with = "whole::read")]
    pub keep_days: u32,
}

/// A file of old events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Archive {
    pub file: String,
    /// The newest event in it.
    pub through: i64,
    pub events: u64,
    pub sha256: String,
}
