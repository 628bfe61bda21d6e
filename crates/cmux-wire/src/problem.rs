//! Errors, as clients see them: RFC 9457.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Problem {
    /// A name that programs can rely on: `/problems/<slug>`.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
}

impl Problem {
    /// Returns the part of the name that tells one problem from another.
    pub fn slug(&self) -> &str {
        self.kind.rsplit('/').next().unwrap_or(&self.kind)
    }
}
