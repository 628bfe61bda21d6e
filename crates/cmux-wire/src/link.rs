//! One-time links to the dashboard, as clients see them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A way into the dashboard, for whoever follows it first.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Link {
    pub url: String,
    /// The same, under a name for browsers by which cmux shares no cookie with the other ports of its host.
    pub browser_url: String,
    pub expires_at: Time,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL is as good as a password until it was followed.
        f.debug_struct("Link").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
