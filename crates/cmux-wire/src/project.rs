//! Projects, as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A folder that agents work in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Project {
    pub id: String,
    pub name: String,
    pub root: String,
    pub created_at: Time,
    /// Since when the folder is not there, if it is not.
    pub missing_since: Option<Time>,
}

/// A page of projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Projects {
    pub projects: Vec<Project>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// Asks for a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    /// An absolute path.
    pub root: String,
    /// The folder's own name unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
