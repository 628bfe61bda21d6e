//! Webhooks, as those who call them see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A delivery that was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WebhookTaken {
    /// The event that it became.
    pub event: i64,
    /// Whether it had been taken before, so that nothing new has come of it.
    pub duplicate: bool,
}
