//! Projects, as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{BLANK, UNPRINTED};
use crate::time::Time;

/// How an id looks.
pub const ID: &str = "^[a-z0-9-]{1,64}$";

/// How a root looks: absolute, and without `.`, `..`, `//` or a slash at its end.
fn root() -> String {
    format!(r"^(/|(/(?!\.\.?(/|$))[^/{UNPRINTED}]+)+)$")
}

/// How a name looks. Blanks around it do not count.
fn name() -> String {
    let edge = format!("[^{BLANK}{UNPRINTED}]");
    format!("^[{BLANK}]*{edge}([^{UNPRINTED}]{{0,98}}{edge})?[{BLANK}]*$")
}

/// A folder that agents work in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Project {
    #[schemars(regex(pattern = ID))]
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
    /// An absolute path, of at most 4096 bytes.
    #[schemars(length(max = 4096), regex(pattern = root()))]
    pub root: String,
    /// The folder's own name unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = name()))]
    pub name: Option<String>,
}
