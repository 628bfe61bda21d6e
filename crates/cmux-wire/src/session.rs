//! Browsers that were let in, as clients see them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::ULID;
use crate::time::Time;

/// Returns how an id looks.
pub fn id() -> String {
    format!("^ses_{ULID}$")
}

/// Returns how a session is named to be closed: by its id, or as the one that asks.
pub fn id_or_current() -> String {
    format!("^(current|ses_{ULID})$")
}

/// A browser that was let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Session {
    #[schemars(regex(pattern = id()))]
    pub id: String,
    pub how: SessionHow,
    pub opened_at: Time,
    pub expires_at: Time,
    /// Whether it is the one that asks.
    pub current: bool,
}

/// By what a browser was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SessionHow {
    Link,
    Password,
}

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sessions {
    pub sessions: Vec<Session>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// Asks to be let in by password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}
