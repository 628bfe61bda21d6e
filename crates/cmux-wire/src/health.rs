//! Health, as checkers see it.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// How cmux is. Degraded is answered with 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `healthy` or `degraded`.
    pub status: String,
    pub api: String,
    pub kernel: Part,
    pub store: Part,
    pub version: String,
    pub timestamp: Time,
}

/// How a part of cmux is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// `healthy` or `degraded`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
